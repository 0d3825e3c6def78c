import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getFloats, getJson, postJson, upload } from "./api.js";
import { SHAPES, classColour, classShape, ramp, shapes, tints } from "./colours.js";
import { Data } from "./Data.jsx";
import { useFits } from "./fits.js";
import { Kernel } from "./Kernel.jsx";
import { Plane } from "./Plane.jsx";
import { Plot, PlotKeys } from "./Plot.jsx";
import { Scree } from "./Scree.jsx";
import { Copy, Downloads, Point, Rows, Told } from "./Side.jsx";
import { number } from "./scatter.js";
import "./app.css";

// The token has done its work: it is a cookie now, and need not stand in the address.
history.replaceState(null, "", "/");


// From so many rows on a table is shown by PCA first.
const LARGE = 20_000;

function App() {
  const [start, setStart] = useState(null);
  const [data, setData] = useState(null);
  const [settings, setSettings] = useState(null);
  const [method, setMethod] = useState("gaussian");
  const [params, setParams] = useState({});
  const [text, setText] = useState("gaussian(gamma=median) + linear");
  const [components, setComponents] = useState(10);
  const [shown, setShown] = useState(null); // result and its points
  const [axes, setAxes] = useState({ x: 0, y: 1 });
  const [middles, setMiddles] = useState({});
  const [swept, setSwept] = useState(null);
  const [reading, setReading] = useState(false);
  const [stopped, setStopped] = useState(false);
  const [hint, setHint] = useState("");
  const [error, setError] = useState(null);
  const [mode, setMode] = useState("move");
  const [selection, setSelection] = useState(null);
  const [rows, setRows] = useState(null);
  const [point, setPoint] = useState(null);
  const [field, setField] = useState(0);
  const [dropping, setDropping] = useState(false);
  const [resets, setResets] = useState(0);

  const fail = (e) => e.name !== "AbortError" && setError({ error: e.message, help: e.help });

  const open = async (description) => {
    stop();
    setStopped(false);
    setShown(null);
    clear();
    setAxes({ x: 0, y: 1 });
    setField(0);
    setMiddles({});
    setSwept(null);
    setParams({});
    setError(null);
    // Kernel PCA of many points takes its time: they begin with PCA, and a kernel is chosen knowingly.
    if (description.rows > LARGE) setMethod("pca");
    setHint(description.rows > LARGE ? "Many rows: PCA comes first. Choose a kernel to fit it; that can be cancelled." : "");
    const { chosen, label, missing } = description;
    setSettings({ columns: description.more_columns ? null : chosen, label, scale: false, missing });
    setData(description);
  };
  const clear = () => {
    setSelection(null);
    setRows(null);
    setPoint(null);
  };

  useEffect(() => {
    getJson("/api/start")
      .then(async (s) => {
        setStart(s);
        await open(await getJson(`/api/data/${s.first}`));
      })
      .catch(fail);
  }, []);

  const kernelText = useMemo(() => {
    if (method === "pca") return null;
    if (method === "expression") return text;
    const kernel = start?.kernels.find((k) => k.name === method);
    const given = kernel?.parameters.filter((p) => (params[p.name] ?? p.default) !== p.default) ?? [];
    return given.length ? `${method}(${given.map((p) => `${p.name}=${params[p.name]}`).join(", ")})` : method;
  }, [start, method, text, params]);
  // The kernel but for its width, which is what a sweep is over.
  const anyWidth = useMemo(() => {
    const kernel = start?.kernels.find((k) => k.name === method);
    const fixed = kernel?.parameters.filter((p) => p.range.kind !== "around" && (params[p.name] ?? p.default) !== p.default) ?? [];
    return fixed.length ? `${method}(${fixed.map((p) => `${p.name}=${params[p.name]}`).join(", ")})` : method;
  }, [start, method, params]);

  const recipe = data && settings && {
    data: data.id,
    columns: settings.columns,
    label: settings.label,
    scale: settings.scale,
    missing: settings.missing,
    kernel: kernelText,
    components,
  };
  const latest = useRef(null);
  latest.current = recipe;
  const wanted = useRef(axes);
  wanted.current = axes;

  // The newest that is shown, for what comes back later.
  const seen = useRef({});
  seen.current = { shown, point };

  const deliver = async (result, now, signal) => {
    const [views, plane, colours] = await Promise.all([
      viewed(result, now, wanted.current, signal),
      result.d === 2 ? pairOf(result, "data", { x: 0, y: 1 }, signal, Float64Array) : null,
      getFloats(`/api/results/${result.id}/colours`, signal),
    ]);
    const { shown: before, point: looked } = seen.current;
    const other = before && (before.result.n !== result.n || before.recipe.data !== now.data);
    if (other) clear();
    setError(null);
    setAxes(views.axes);
    setField((j) => Math.min(j, Math.max(0, result.components - 1)));
    setStopped(false);
    setMiddles((m) => ({ ...Object.fromEntries(result.choices.map((c) => [c.parameter, c.value])), ...m }));
    setShown({ result, recipe: now, ...views, plane, colours });
    seen.current = { ...seen.current, shown: { result } };
    if (looked && !other) pick(looked.row, result);
  };
  const { progress: fitting, refit: ask, cancel: stop } = useFits(deliver, fail);
  const cancel = () => {
    stop();
    setStopped(true);
  };
  const progress = reading ? { stage: "reading" } : fitting;
  // Small data is fitted as fast as it goes; a fit of large data is stopped when something changes.
  const refit = () => latest.current && ask(latest.current, data.rows > start.limits.live);

  // Everything but a moving slider fits at once; a slider does so for small data, and else when it is let go.
  const live = data && start && data.rows <= start.limits.live;
  const moves = live && method !== "expression" ? kernelText : method;
  const asked = recipe && JSON.stringify({ ...recipe, kernel: moves });
  useEffect(() => {
    if (asked) refit();
  }, [asked]);
  const release = () => setTimeout(() => (!live || method === "expression") && refit());

  // A sweep comes after the first fit of its kernel, not beside it.
  const fits = shown?.recipe.data === data?.id && shown?.recipe.kernel?.startsWith(method);
  const sweepOf = recipe && method !== "pca" && method !== "expression" && fits
    ? JSON.stringify([recipe.data, recipe.columns, recipe.label, recipe.scale, recipe.missing, anyWidth])
    : null;
  useEffect(() => {
    setSwept(null);
    if (!sweepOf) return;
    const stop = new AbortController();
    const sweep = async () => {
      try {
        const found = await postJson("/api/sweep", { ...latest.current, kernel: anyWidth }, stop.signal);
        setSwept(found);
        if (found) setMiddles((m) => ({ ...m, [found.parameter]: found.middle }));
      } catch {
        // the slider works without a mark
      }
    };
    const soon = setTimeout(sweep, 200);
    return () => {
      clearTimeout(soon);
      stop.abort();
    };
  }, [sweepOf]);

  const drop = async (file) => {
    if (!file) return;
    setReading(true);
    try {
      if (file.size > start.limits.upload) {
        throw Object.assign(new Error(`${file.name}: more than ${Math.floor(start.limits.upload / 1e6)} MB`), {
          help: "use the command for tables of this size: mercer fit",
        });
      }
      const description = await upload(file);
      setStart((s) => ({ ...s, data: [...s.data, description] }));
      await open(description);
    } catch (e) {
      fail(e);
    } finally {
      setReading(false);
    }
  };
  useEffect(() => {
    if (!start) return;
    const over = (event) => {
      event.preventDefault();
      setDropping(event.type === "dragover");
    };
    const dropped = (event) => {
      event.preventDefault();
      setDropping(false);
      drop(event.dataTransfer.files[0]);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", over);
    addEventListener("drop", dropped);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", over);
      removeEventListener("drop", dropped);
    };
  }, [start]);

  // Whether what comes back is of the result that is shown.
  const sameTable = (id) => seen.current.shown?.result.id === id;

  const select = async (found) => {
    if (!found || found.length === 0) {
      clear();
      return;
    }
    const mask = new Uint8Array(shown.result.n);
    for (const row of found) mask[row] = 1;
    setSelection({ mask, count: found.length });
    const { id } = shown.result;
    try {
      const table = await postJson(`/api/results/${id}/rows`, { rows: found.slice(0, 500) });
      if (sameTable(id)) setRows(table);
    } catch (e) {
      fail(e);
    }
  };
  const pick = async (row, result = shown?.result) => {
    try {
      const found = await getJson(`/api/results/${result.id}/points/${row}`);
      if (sameTable(result.id)) setPoint(found);
    } catch (e) {
      fail(e);
    }
  };
  const rowText = async (row) => {
    try {
      const { names, rows: found } = await postJson(`/api/results/${shown.result.id}/rows`, { rows: [row] });
      const pairs = names.map((name, i) => [name, found[0].cells[i]]);
      const label = pairs.find(([name]) => name === shown.recipe.label);
      return [["row", row + 1], ...(label ? [label] : []), ...pairs.filter(([n]) => n !== label?.[0]).slice(0, 8)];
    } catch {
      return null; // the result is gone: a newer one is drawn
    }
  };
  const look = async (next) => {
    const { result, recipe: of } = shown;
    try {
      const views = await viewed(result, of, next);
      if (seen.current.shown?.result !== result) return;
      setAxes(views.axes);
      setShown((s) => ({ ...s, ...views }));
    } catch (e) {
      fail(e);
    }
  };

  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const themes = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setTheme((t) => t + 1);
    themes.addEventListener("change", changed);
    return () => themes.removeEventListener("change", changed);
  }, []);
  const colours = useMemo(
    () => (shown ? tints(shown.result.n, shown.result.colour, shown.colours, start, selection) : new Uint8Array()),
    [shown?.result, shown?.colours, selection, theme],
  );

  const forms = useMemo(
    () => (shown ? shapes(shown.result.n, shown.result.colour, shown.colours, start) : new Uint8Array()),
    [shown?.result, shown?.colours],
  );

  if (!start || !data) return error ? <Alert {...error} /> : <p class="waiting">…</p>;
  const result = shown?.result;
  const view = shown && JSON.stringify([shown.recipe.data, shown.recipe.kernel?.split("(")[0], shown.recipe.columns, shown.recipe.scale]);
  const common = { tints: colours, shapes: forms, view, mode, picked: point?.row ?? -1, resets, rowText, onPick: pick, onSelect: select };
  const share = (of, j) => (of?.length === 1 && j === 1 ? "row" : of?.[j] === undefined ? `PC${j + 1}` : `PC${j + 1} (${(100 * of[j]).toFixed(1)} %)`);
  return (
    <>
      <header>
        <h1>mercer explore</h1>
        <p class="soft">PCA and kernel PCA, exact, on this machine alone</p>
      </header>
      <main>
        <aside class="card">
          <form onSubmit={(event) => event.preventDefault()}>
            <Data
              start={start}
              data={data}
              settings={settings}
              onData={(id) => getJson(`/api/data/${id}`).then(open).catch(fail)}
              onFile={drop}
              onSettings={(change) => {
                clear();
                setSettings((s) => {
                  const next = { ...s, ...change };
                  // What was the label becomes a column, and the other way round, as long as the choice is the usual one.
                  if ("label" in change) {
                    const usual = (label) => data.columns.filter((c) => c.numeric && c.name !== label).map((c) => c.name);
                    if (s.columns && String(s.columns) === String(usual(s.label))) next.columns = usual(change.label);
                  }
                  return next;
                });
              }}
            />
            <Kernel
              start={start}
              method={method}
              params={params}
              text={text}
              middles={middles}
              sweep={swept}
              onMethod={(name) => {
                setMethod(name);
                setParams({});
                setMiddles({});
              }}
              onParam={(name, value) => setParams((p) => ({ ...p, [name]: value }))}
              hint={hint}
              onText={setText}
              onRelease={release}
            />
            <label>
              Components <span class="soft">1 to 100</span>
              <input
                id="components"
                type="number"
                min="1"
                max="100"
                value={components}
                onChange={(event) => {
                  const count = Math.min(100, Math.max(1, Math.round(Number(event.target.value)) || 1));
                  event.target.value = count;
                  setComponents(count);
                }}
              />
            </label>
          </form>
        </aside>
        <div class="views">
          {error && <Alert {...error} onClose={() => setError(null)} />}
          <div class={progress ? "card progress" : "hidden"} role="status" id="progress">
            {progress && <Progress {...progress} onCancel={cancel} />}
          </div>
          {stopped && !progress && (
            <div class="card progress" id="stopped" role="status">
              <span>The fit was cancelled; what is shown is of the settings before.</span>
              <button type="button" onClick={refit}>
                Fit again
              </button>
            </div>
          )}
          {shown && result.components === 0 && (
            <section class="card">
              <h2>No component has variance</h2>
              <p>All points are alike to this model. Choose other columns, another kernel or another width.</p>
            </section>
          )}
          {shown && result.components > 0 && (
            <>
              <div class="tools">
                <span role="group" aria-label="What dragging does">
                  <button type="button" aria-pressed={mode === "move"} onClick={() => setMode("move")}>
                    Move
                  </button>
                  <button type="button" id="lasso" aria-pressed={mode === "lasso"} onClick={() => setMode("lasso")}>
                    Lasso
                  </button>
                  <button type="button" id="reset" onClick={() => setResets((r) => r + 1)}>
                    Whole view
                  </button>
                </span>
                {["x", "y"].map((axis) => (
                  <label>
                    {axis === "x" ? "across" : "up"}{" "}
                    <select id={`axis-${axis}`} value={axes[axis]} onChange={(event) => look({ ...axes, [axis]: Number(event.target.value) })}>
                      {Array.from({ length: result.components }, (_, j) => (
                        <option value={j}>PC{j + 1}</option>
                      ))}
                    </select>
                  </label>
                ))}
                <Legend colour={result.colour} start={start} />
              </div>
              <div class="pair">
                <Plot
                  id="scores"
                  title={shown.recipe.kernel ? "Kernel PCA" : "PCA"}
                  note={agreed(result.agreement)}
                  {...shown.scores}
                  names={[share(result.shares, shown.axes.x), share(result.shares, shown.axes.y)]}
                  {...common}
                />
                {shown.pca && (
                  <Plot
                    id="pca"
                    title="PCA beside it"
                    note={agreed(result.pca.agreement)}
                    {...shown.pca}
                    names={[share(result.pca.shares, shown.pcaAxes.x), share(result.pca.shares, shown.pcaAxes.y)]}
                    {...common}
                  />
                )}
              </div>
              <PlotKeys />
              <div class="stack">
                {point && <Point point={point} onClose={() => setPoint(null)} />}
                {rows && selection && <Rows table={rows} total={selection.count} onClear={() => select(null)} onPick={pick} />}
                {shown.plane && (
                  <Plane
                    result={result}
                    points={shown.plane}
                    tints={colours}
                    path={point?.kind ? point.path : null}
                    component={field}
                    onComponent={setField}
                  />
                )}
                {result.shares?.length > 0 && <Scree result={result} start={start} theme={theme} />}
                <Told result={result} />
                <Copy result={result} />
                <Downloads result={result} axes={axes} />
              </div>
            </>
          )}
        </div>
      </main>
      {dropping && <div class="dropping">Drop a table here</div>}
    </>
  );
}

// Two columns of a result.
async function pairOf(result, of, { x, y }, signal, kind) {
  const both = await getFloats(`/api/results/${result.id}/columns?of=${of}&x=${x}&y=${y}`, signal, kind);
  return { x: both.subarray(0, result.n), y: both.subarray(result.n) };
}

// The scores, and those of PCA beside a kernel's, on these axes where there are so many components.
async function viewed(result, recipe, wanted, signal) {
  const among = (k) => (k > wanted.x && k > wanted.y ? wanted : { x: 0, y: 1 });
  const [axes, pcaAxes] = [among(result.components), among(result.pca.components)];
  const [scores, pca] = await Promise.all([
    pairOf(result, "scores", axes, signal),
    recipe.kernel ? pairOf(result, "pca", pcaAxes, signal) : null,
  ]);
  return { axes, pcaAxes, scores, pca };
}

function agreed(found) {
  if (!found) return "";
  const one = ({ correct, n }) => `${correct} of ${n}`;
  return `k-means finds the labels of ${one(found.first)} points by PC1${found.both ? `, ${one(found.both)} by PC1 and PC2` : ""}`;
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

function Progress({ stage, number: pass, exact, share, reached, wanted, onCancel }) {
  const words = {
    working: "Fitting…",
    reading: "Reading the table…",
    landmarks: "Choosing landmarks…",
    pass: `Pass ${pass} over the Gram matrix, in ${exact ? "f64" : "f32"}${reached ? `; residual ${reached.toExponential(0)} of ${wanted?.toExponential(0)} wanted` : ""}`,
  };
  return (
    <>
      <span>{words[stage]}</span>
      <progress aria-label="This pass" value={share} max="1" />
      {stage !== "reading" && (
        <button type="button" id="cancel" onClick={onCancel}>
          Cancel
        </button>
      )}
    </>
  );
}

function Alert({ error, help, onClose }) {
  return (
    <div class="card alert" role="alert">
      <p>
        <strong>{error}</strong>
      </p>
      {help && <p>{help}</p>}
      {onClose && (
        <button type="button" class="link" onClick={onClose}>
          close
        </button>
      )}
    </div>
  );
}

render(<App />, document.getElementById("app"));
