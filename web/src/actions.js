// Requests to the server, and when they are made. An answer is used only if it still fits the state when it arrives.
import { getFile, getFloats, getJson, postJson, upload } from "./api.js";
import { createFits } from "./fits.js";
import { fitOf, isLive, kernelOfAnyWidth, same, sweepOf, withSpec } from "./store.js";

// A sweep waits so long for further changes.
const SWEEP_DELAY = 200;
// Rows of a selection that are asked for.
const MOST_ROWS = 500;
// How long a file that is saved is kept for the browser.
const KEPT_FILE = 60_000;

export function createActions(store) {
  const { dispatch } = store;
  const set = (change) => dispatch("set", change);
  const fail = (e) => e.name !== "AbortError" && set({ error: { error: e.message, help: e.help } });
  const isShown = (result) => store.state.shown?.result.id === result.id;

  const fits = createFits({ deliver, fail, onProgress: (fitting) => set({ fitting }) });

  async function deliver(result, request, signal) {
    const next = await collected(result, request, store.state, signal);
    dispatch("delivered", { next });
    if (store.state.point) pick(store.state.point.row);
  }

  // Small data is fitted as fast as it goes; a fit of large data is stopped when something changes.
  const refit = () => store.state.request && fits.request(store.state.request, !isLive(store.state));

  let pendingSweep = null;
  function sweep() {
    pendingSweep?.abort();
    pendingSweep = new AbortController();
    if (!sweepOf(store.state)) return;
    const { signal } = pendingSweep;
    setTimeout(async () => {
      if (signal.aborted) return;
      try {
        const request = withSpec(store.state.request, { kernel: kernelOfAnyWidth(store.state) });
        const found = await postJson("/api/sweep", request, signal);
        if (!signal.aborted) dispatch("swept", { sweep: found });
      } catch {
        // the slider works without a mark
      }
    }, SWEEP_DELAY);
  }

  store.subscribe((before) => {
    const [fit, swept] = [fitOf(store.state), sweepOf(store.state)];
    if (fit && !same(fit, fitOf(before))) refit();
    if (!same(swept, sweepOf(before))) sweep();
  });

  function open(data) {
    fits.cancel();
    dispatch("opened", { data });
  }

  async function pick(row) {
    const { result } = store.state.shown;
    try {
      const point = await getJson(`/api/results/${result.id}/points/${row}`);
      if (isShown(result)) set({ point });
    } catch (e) {
      fail(e);
    }
  }

  return {
    set,
    refit,
    pick,
    begin: async () => {
      try {
        const start = await getJson("/api/start");
        set({ start });
        open(await getJson(`/api/data/${start.first}`));
      } catch (e) {
        fail(e);
      }
    },
    openTable: (id) => getJson(`/api/data/${id}`).then(open).catch(fail),
    openFile: async (file) => {
      if (!file) return;
      const { limits } = store.state.start;
      set({ reading: true });
      try {
        if (file.size > limits.upload) {
          const error = new Error(`${file.name}: larger than ${Math.floor(limits.upload / 1e6)} MB`);
          throw Object.assign(error, { help: "use the command for tables of this size: mercer fit" });
        }
        const data = await upload(file);
        dispatch("added", { data });
        open(data);
      } catch (e) {
        fail(e);
      } finally {
        set({ reading: false });
      }
    },
    choose: (change) => dispatch("chosen", { change }),
    standardise: (standardise) => dispatch("standardised", { standardise }),
    setComponents: (count) => dispatch("components", { count }),
    setMethod: (method) => dispatch("method", { method }),
    setParameter: (name, value) => dispatch("parameter", { name, value }),
    setExpression: (text) => dispatch("expression", { text }),
    // A slider that was let go, or an expression that is complete: fitted now, unless that was done while it moved.
    release: () => (!isLive(store.state) || store.state.kernel.method === "expression") && refit(),
    cancel: () => {
      fits.cancel();
      set({ stopped: true });
    },
    unselect: () => dispatch("unselect"),
    select: async (found) => {
      if (!found?.length) return dispatch("unselect");
      const { result } = store.state.shown;
      const mask = new Uint8Array(result.n);
      for (const row of found) mask[row] = 1;
      set({ selection: { mask, count: found.length } });
      try {
        const rows = await postJson(`/api/results/${result.id}/rows`, { rows: found.slice(0, MOST_ROWS) });
        if (isShown(result)) set({ rows });
      } catch (e) {
        fail(e);
      }
    },
    // The values of a row, label first, as pairs of name and value.
    rowText: async (row) => {
      const { result, request } = store.state.shown;
      try {
        const { names, rows } = await postJson(`/api/results/${result.id}/rows`, { rows: [row] });
        const pairs = names.map((name, i) => [name, rows[0].cells[i]]);
        const label = pairs.find(([name]) => name === request.choice.label);
        return [["row", row + 1], ...(label ? [label] : []), ...pairs.filter(([n]) => n !== label?.[0]).slice(0, 8)];
      } catch {
        return null; // the result is gone: a newer one is drawn
      }
    },
    // Saves a file of the server. A plain link could not send the token.
    download: async (path) => {
      try {
        const { name, blob } = await getFile(path);
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = name;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), KEPT_FILE);
      } catch (e) {
        fail(e);
      }
    },
    setAxes: async (axes) => {
      const { result, request } = store.state.shown;
      try {
        const views = await viewed(result, request, axes, store.state.shown);
        if (isShown(result)) dispatch("looked", { views });
      } catch (e) {
        fail(e);
      }
    },
  };
}

// Two columns of a result.
async function pairOf(result, of, { x, y }, signal, kind) {
  const both = await getFloats(`/api/results/${result.id}/columns?of=${of}&x=${x}&y=${y}`, signal, kind);
  return { x: both.subarray(0, result.n), y: both.subarray(result.n) };
}

// The scores, and those of PCA for comparison with a kernel's, on these axes where there are so many components. PCA is
// fetched again only when it changed.
async function viewed(result, { spec }, wanted, last, signal) {
  const among = (k) => (k > wanted.x && k > wanted.y ? wanted : { x: 0, y: 1 });
  const [axes, pcaAxes] = [among(result.components), among(result.pca.components)];
  const kept = last?.pca && last.result.pca.id === result.pca.id && last.pcaAxes.x === pcaAxes.x && last.pcaAxes.y === pcaAxes.y;
  const pcaScores = () => (kept ? last.pca : pairOf(result, "pca", pcaAxes, signal));
  const [scores, pca] = await Promise.all([pairOf(result, "scores", axes, signal), spec.kernel ? pcaScores() : null]);
  return { axes, pcaAxes, scores, pca };
}

// A result with everything that its plots need. Points and colours are fetched again only when another selection of the
// table was fitted.
async function collected(result, request, { shown: last, axes }, signal) {
  const kept = last?.result.selection === result.selection;
  const dataOf = () => (result.d === 2 ? pairOf(result, "data", { x: 0, y: 1 }, signal, Float64Array) : null);
  const coloursOf = async () => ({
    meaning: result.colour,
    n: result.n,
    values: await getFloats(`/api/results/${result.id}/colours`, signal),
  });
  const [views, plane, colours] = await Promise.all([
    viewed(result, request, axes, last, signal),
    kept ? last.plane : dataOf(),
    kept ? last.colours : coloursOf(),
  ]);
  return { result, request, ...views, plane, colours };
}
