import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

const percent = (v) => `${(100 * v).toFixed(2)} %`;

// Explained variance as bars with error bars, the cumulative sum as a line; and the same as a table.
export function Scree({ result, start, theme }) {
  const host = useRef(null);
  const shares = result.shares.slice(0, 30);

  useEffect(() => {
    const place = host.current;
    const style = getComputedStyle(place);
    const [soft, rule] = ["--soft", "--rule"].map((name) => style.getPropertyValue(name));
    const at = shares.map((_, i) => i + 1);
    const errors = (u) => {
      const { ctx } = u;
      ctx.strokeStyle = style.getPropertyValue("--ink");
      ctx.lineWidth = devicePixelRatio;
      result.errors.slice(0, shares.length).forEach(([below, above], i) => {
        const x = u.valToPos(i + 1, "x", true);
        const low = u.valToPos(100 * (shares[i] - below), "y", true);
        const high = u.valToPos(100 * (shares[i] + above), "y", true);
        if (low - high < 1) return; // too small to be seen
        ctx.beginPath();
        ctx.moveTo(x, low);
        ctx.lineTo(x, high);
        ctx.stroke();
      });
    };
    const axis = { stroke: soft, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 }, font: "11px system-ui" };
    const plot = new uPlot(
      {
        width: place.clientWidth,
        height: 240,
        padding: [12, 8, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false, range: [0.4, shares.length + 0.6] }, y: { range: [0, 100] } },
        axes: [
          { ...axis, grid: { show: false }, splits: at.filter((_, i) => i % Math.ceil(at.length / 10) === 0), values: (_, v) => v.map((i) => `PC${i}`) },
          { ...axis, size: 50, values: (_, v) => v.map((p) => `${p} %`) },
        ],
        series: [
          {},
          { fill: start.palette[4], stroke: start.palette[0], width: 1, paths: uPlot.paths.bars({ size: [0.7, 60] }), points: { show: false } },
          { stroke: start.palette[5], width: 2, points: { show: true, size: 6, fill: start.palette[5] } },
        ],
        hooks: { draw: [errors] },
      },
      [at, shares.map((v) => 100 * v), result.cumulative.slice(0, shares.length).map((v) => 100 * v)],
      place,
    );
    const resizes = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: 240 }));
    resizes.observe(place);
    return () => {
      resizes.disconnect();
      plot.destroy();
    };
  }, [result, theme]);

  return (
    <section class="card">
      <h2>Explained variance</h2>
      <p class="soft">
        <span class="key bar" /> explained <span class="key sum" /> cumulative; error bars bound the numerical error, where large enough to see
      </p>
      <div class="scree" ref={host} role="img" aria-label={`PC1 explains ${percent(shares[0] ?? 0)}; the table below has the others`} />
      <details>
        <summary>As a table</summary>
        <div class="wide">
          <table>
            <thead>
              <tr>{["component", "eigenvalue", "explained", "cumulative", "error bound"].map((name) => <th scope="col">{name}</th>)}</tr>
            </thead>
            <tbody>
              {shares.map((share, i) => (
                <tr>
                  <th scope="row">PC{i + 1}</th>
                  <td>{result.eigenvalues[i].toPrecision(6)}</td>
                  <td>{percent(share)}</td>
                  <td>{percent(result.cumulative[i])}</td>
                  <td>{Math.max(...result.errors[i]).toExponential(0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <p class="soft">Eigenvalue: {result.eigenvalue_meaning}.</p>
      </details>
      <p class="certificate">{result.certificate}.</p>
    </section>
  );
}
