import { useEffect, useMemo, useState } from "preact/hooks";
import { SHAPES, classColour, classShape, ramp, shapes, tints } from "./colours.js";
import { Plane } from "./Plane.jsx";
import { Plot, PlotKeys } from "./Plot.jsx";
import { Scree } from "./Scree.jsx";
import { Copy, Downloads, FitSummary, Point, Rows } from "./Side.jsx";
import { number } from "./scatter.js";

// The result of the last fit: plots, tables, texts to copy and files.
export function Results({ state, actions }) {
  const { start, shown, axes, selection, rows, point } = state;
  const { result, colours } = shown;
  const theme = useTheme();
  const colourBytes = useMemo(
    () => tints(colours.n, colours.meaning, colours.values, start, selection),
    [colours, selection, theme],
  );
  if (result.components === 0) return <NoVariance />;
  return (
    <>
      <PlotTools state={state} actions={actions} />
      <ScorePlots state={state} actions={actions} tints={colourBytes} />
      <PlotKeys />
      <div class="stack">
        {point && <Point point={point} onClose={() => actions.set({ point: null })} />}
        {rows && selection && (
          <Rows table={rows} total={selection.count} onClear={actions.unselect} onPick={actions.pick} />
        )}
        {shown.plane && (
          <Plane
            result={result}
            points={shown.plane}
            tints={colourBytes}
            path={point?.kind ? point.path : null}
            component={state.component}
            onComponent={(component) => actions.set({ component })}
          />
        )}
        {result.shares?.length > 0 && <Scree result={result} start={start} theme={theme} />}
        <FitSummary result={result} />
        <Copy result={result} />
        <Downloads result={result} start={start} axes={axes} onDownload={actions.download} />
      </div>
    </>
  );
}

// A number that changes when the browser turns dark or light.
function useTheme() {
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const themes = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setTheme((t) => t + 1);
    themes.addEventListener("change", changed);
    return () => themes.removeEventListener("change", changed);
  }, []);
  return theme;
}

function NoVariance() {
  return (
    <section class="card">
      <h2>No component has variance</h2>
      <p>All points are equal for this model. Choose other columns, another kernel or another width.</p>
    </section>
  );
}

// What dragging does, which components are shown, and what the colours mean.
function PlotTools({ state: { start, shown, axes, mode, resets }, actions }) {
  const { result } = shown;
  return (
    <div class="tools">
      <span role="group" aria-label="Drag mode">
        <button type="button" aria-pressed={mode === "move"} onClick={() => actions.set({ mode: "move" })}>
          Move
        </button>
        <button type="button" id="lasso" aria-pressed={mode === "lasso"} onClick={() => actions.set({ mode: "lasso" })}>
          Lasso
        </button>
        <button type="button" id="reset" onClick={() => actions.set({ resets: resets + 1 })}>
          Reset view
        </button>
      </span>
      {["x", "y"].map((axis) => (
        <label>
          {axis} axis{" "}
          <select
            id={`axis-${axis}`}
            value={axes[axis]}
            onChange={(event) => actions.setAxes({ ...axes, [axis]: Number(event.target.value) })}
          >
            {Array.from({ length: result.components }, (_, j) => (
              <option value={j}>PC{j + 1}</option>
            ))}
          </select>
        </label>
      ))}
      <Legend colour={result.colour} start={start} />
    </div>
  );
}

function Legend({ colour, start }) {
  if (!colour) return null;
  if (colour.kind === "number") {
    const [low, high] = colour.range;
    return (
      <span class="legend">
        {colour.name} {number(low)}
        {[0, 0.25, 0.5, 0.75, 1].map((s) => (
          <span class="key disc" style={{ "--tint": `rgb(${ramp(start.ramp, s)})` }} />
        ))}
        {number(high)}
      </span>
    );
  }
  return (
    <span class="legend">
      {colour.names.map((name, i) => (
        <span>
          <span class={`key ${SHAPES[classShape(start.palette, i)]}`} style={{ "--tint": classColour(start.palette, i) }} />
          {name}
        </span>
      ))}
    </span>
  );
}

// The scores, and those of PCA beside a kernel's.
function ScorePlots({ state: { start, shown, mode, resets, point }, actions, tints }) {
  const { result, request: { choice, spec }, colours } = shown;
  const forms = useMemo(() => shapes(colours.n, colours.meaning, colours.values, start), [colours]);
  const common = {
    tints,
    shapes: forms,
    // The view is kept as long as these stay the same.
    view: JSON.stringify([choice.table, spec.kernel?.split("(")[0], choice.columns, spec.standardise]),
    mode,
    picked: point?.row ?? -1,
    resets,
    rowText: actions.rowText,
    onPick: actions.pick,
    onSelect: actions.select,
  };
  return (
    <div class="pair">
      <Plot
        id="scores"
        title={spec.kernel ? "Kernel PCA" : "PCA"}
        note={agreementText(result.agreement)}
        {...shown.scores}
        names={axisNames(result.shares, shown.axes)}
        {...common}
      />
      {shown.pca && (
        <Plot
          id="pca"
          title="PCA for comparison"
          note={agreementText(result.pca.agreement)}
          {...shown.pca}
          names={axisNames(result.pca.shares, shown.pcaAxes)}
          {...common}
        />
      )}
    </div>
  );
}

// Names of two components with their shares of the variance; a single component is drawn against the row number.
function axisNames(shares, { x, y }) {
  const name = (j) => {
    if (shares?.length === 1 && j === 1) return "row";
    return shares?.[j] === undefined ? `PC${j + 1}` : `PC${j + 1} (${(100 * shares[j]).toFixed(1)} %)`;
  };
  return [name(x), name(y)];
}

function agreementText(found) {
  if (!found) return "";
  const one = ({ correct, n }) => `${correct} of ${n}`;
  return `k-means recovers the labels of ${one(found.first)} points by PC1${found.both ? `, ${one(found.both)} by PC1 and PC2` : ""}`;
}
