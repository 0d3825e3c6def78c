import { useState } from "preact/hooks";
import { number } from "./scatter.js";

// A point that was picked: its values, and its reconstruction or pre-image.
export function Point({ point, onClose }) {
  const last = point.path.at(-1);
  const back = new Map(point.kind ? point.columns.map((name, j) => [name, last[j]]) : []);
  return (
    <section class="card" id="point" aria-live="polite">
      <h2>
        Row {point.row + 1}{" "}
        <button type="button" class="link" onClick={onClose}>
          close
        </button>
      </h2>
      <p class="soft">
        {point.kind === "pre-image" &&
          `Pre-image, ${point.converged ? "found in" : "not converged after"} ${point.steps} steps: the point whose image is closest to the projection on the components.`}
        {point.kind === "reconstruction" && "Its reconstruction from the components."}
        {!point.kind && "Pre-images are found for the gaussian kernel; PCA has reconstructions."}
      </p>
      <div class="wide short">
        <table>
          <thead>
            <tr>
              <th scope="col">column</th>
              <th scope="col">value</th>
              {point.kind && <th scope="col">{point.kind}</th>}
            </tr>
          </thead>
          <tbody>
            {point.cells.map(({ name, value }) => (
              <tr>
                <th scope="row">{name}</th>
                <td>{value}</td>
                {point.kind && <td>{back.has(name) ? number(back.get(name)) : ""}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

// The rows of a selection.
export function Rows({ table, total, onClear, onPick }) {
  return (
    <section class="card" id="rows">
      <h2>
        {total.toLocaleString("en")} selected{" "}
        <button type="button" class="link" onClick={onClear}>
          clear
        </button>
      </h2>
      {table.rows.length < total && <p class="soft">The first {table.rows.length} rows.</p>}
      <div class="wide short">
        <table>
          <thead>
            <tr>
              <th scope="col">row</th>
              {table.names.map((name) => (
                <th scope="col">{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map(({ row, cells }) => (
              <tr key={row}>
                <th scope="row">
                  <button type="button" class="link" onClick={() => onPick(row)}>
                    {row + 1}
                  </button>
                </th>
                {cells.map((cell) => (
                  <td>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

// Commands and code that give the same result.
export function Copy({ result }) {
  const texts = { Command: result.command, Python: result.python, Rust: result.rust };
  const [kind, setKind] = useState("Command");
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(texts[kind]);
      setSaid("copied");
    } catch {
      setSaid("the browser does not allow copying: select the text and copy it by hand");
    }
    setTimeout(() => setSaid(""), 4000);
  };
  return (
    <section class="card" id="copy">
      <h2>Copy as</h2>
      <div class="tabs" role="group" aria-label="Copy as">
        {Object.keys(texts).map((name) => (
          <button type="button" aria-pressed={name === kind} onClick={() => setKind(name)}>
            {name}
          </button>
        ))}
        <button type="button" class="primary" onClick={copy}>
          Copy
        </button>
        <span class="soft" role="status">
          {said}
        </span>
      </div>
      <pre tabIndex={0} aria-label={`${kind} for the same result`}>
        <code>{texts[kind]}</code>
      </pre>
    </section>
  );
}

// Files of the result. The server says which plots there are.
export function Downloads({ result, start, axes, onDownload }) {
  const at = `/api/results/${result.id}/files`;
  const files = [
    ["Scores (CSV)", "scores.csv"],
    ["Eigenvalues (CSV)", "eigenvalues.csv"],
    ["Model", "model"],
    ["Report (HTML)", "report.html"],
  ];
  return (
    <section class="card" id="downloads">
      <h2>Download</h2>
      <ul class="files">
        {files.map(([name, file]) => (
          <li>
            <button type="button" class="link" onClick={() => onDownload(`${at}/${file}`)}>
              {name}
            </button>
          </li>
        ))}
      </ul>
      <h3>Plots</h3>
      <ul class="plots">
        {result.plots.map((plot) => (
          <li title={plot.about}>
            {plot.title}{" "}
            {plot.unavailable ? (
              <span class="soft">{plot.unavailable}</span>
            ) : (
              start.image_formats.map((format) => (
                <PlotFile at={at} plot={plot} format={format} axes={axes} onDownload={onDownload} />
              ))
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function PlotFile({ at, plot, format, axes, onDownload }) {
  const query = plot.axes ? `?x=${axes.x}&y=${axes.y}` : "";
  const shown = format.toUpperCase();
  return (
    <>
      <button
        type="button"
        class="link"
        aria-label={`${plot.title} (${shown})`}
        onClick={() => onDownload(`${at}/${plot.name}.${format}${query}`)}
      >
        {shown}
      </button>{" "}
    </>
  );
}

// The fit in words.
export function FitSummary({ result }) {
  return (
    <section class="card">
      <h2>Fit</h2>
      <p>{result.model}.</p>
      {result.components < result.asked && (
        <p>
          {result.asked} components were asked for, of which {result.components} have variance.
        </p>
      )}
      {result.choices.map((c) => (
        <p>
          {c.kernel}: {c.parameter} = {number(c.value)} (rule: {c.rule}).
        </p>
      ))}
      {result.notes.length > 0 && (
        <ul class="notes">
          {result.notes.map((note) => (
            <li>{note}</li>
          ))}
        </ul>
      )}
      <details>
        <summary>Plan</summary>
        <pre>{result.plan}</pre>
      </details>
      <p class="soft">
        {result.n.toLocaleString("en")} points, {result.d} {result.d === 1 ? "column" : "columns"}; fitted in {result.seconds < 1 ? `${Math.round(1000 * result.seconds)} ms` : `${result.seconds.toFixed(1)} s`}.
      </p>
    </section>
  );
}
