// The state of the page, and every change of it. Requests to the server are in actions.js.
import { useEffect, useState } from "preact/hooks";

// Tables with more rows begin with PCA: kernel PCA of so many points takes its time, and is chosen knowingly.
const LARGE = 20_000;
const FIRST_AXES = { x: 0, y: 1 };

const INITIAL = {
  start: null, // what the server has: kernels, colours, tables, limits
  data: null, // the table that is open
  request: null, // what is asked for, sent to the server as it is: { choice of data, spec of the library }
  kernel: { method: "gaussian", params: {}, text: "gaussian(gamma=median) + linear" }, // the controls behind the spec
  hint: "",
  middles: {}, // the middle of each slider
  sweep: null, // how the plot depends on the width of the kernel
  shown: null, // the last result, its request and its points
  axes: FIRST_AXES,
  component: 0, // the component of the contours
  selection: null, // selected points: { mask, count }
  rows: null, // the rows of the selection
  point: null, // the point that was picked
  mode: "move", // what dragging does
  resets: 0, // how often the view was reset
  fitting: null, // progress of the fit under way
  reading: false, // a file is being read
  dropping: false, // a file is held over the page
  stopped: false, // the last fit was cancelled
  error: null,
};

const UNSELECTED = { selection: null, rows: null, point: null };

// Each action by name: returns the part of the state that changes.
const CHANGES = {
  // Values that are stored as they are.
  set: (_, change) => change,
  unselect: () => UNSELECTED,
  added: ({ start }, { data }) => ({ start: { ...start, data: [...start.data, data] } }),

  opened: ({ request, kernel }, { data }) => {
    const large = data.rows > LARGE;
    return {
      ...UNSELECTED,
      data,
      request: {
        choice: { table: data.id, columns: data.more_columns ? null : data.chosen, label: data.label, missing: data.missing },
        spec: { components: request?.spec.components ?? { up_to: 10 }, standardise: false },
      },
      kernel: { ...kernel, method: large ? "pca" : kernel.method, params: {} },
      hint: large ? "Large table: PCA is fitted first. Choose a kernel to fit it; the fit can be cancelled." : "",
      middles: {},
      shown: null,
      axes: FIRST_AXES,
      component: 0,
      stopped: false,
      error: null,
    };
  },

  // Another choice of columns, label or missing values.
  chosen: ({ data, request }, { change }) => {
    const { choice } = request;
    const next = { ...choice, ...change };
    // What was the label becomes a column, and the other way round, as long as all other numeric columns are chosen.
    if ("label" in change) {
      const usual = (label) => data.columns.filter((c) => c.numeric && c.name !== label).map((c) => c.name);
      if (choice.columns && String(choice.columns) === String(usual(choice.label))) next.columns = usual(change.label);
    }
    // Equal columns are the same array, so that comparing is cheap.
    if (JSON.stringify(choice.columns) === JSON.stringify(next.columns)) next.columns = choice.columns;
    return { ...UNSELECTED, request: { ...request, choice: next } };
  },
  components: ({ request }, { count }) => ({ request: withSpec(request, { components: { up_to: count } }) }),
  standardised: ({ request }, { standardise }) => ({ ...UNSELECTED, request: withSpec(request, { standardise }) }),
  method: ({ kernel }, { method }) => ({ kernel: { ...kernel, method, params: {} }, middles: {} }),
  parameter: ({ kernel }, { name, value }) => ({ kernel: { ...kernel, params: { ...kernel.params, [name]: value } } }),
  expression: ({ kernel }, { text }) => ({ kernel: { ...kernel, text } }),

  delivered: ({ shown, middles, component }, { next }) => {
    const { result, request } = next;
    const other = shown && (shown.result.n !== result.n || shown.request.choice.table !== request.choice.table);
    return {
      ...(other ? UNSELECTED : {}),
      shown: next,
      axes: next.axes,
      component: Math.min(component, Math.max(0, result.components - 1)),
      middles: { ...Object.fromEntries(result.choices.map((c) => [c.parameter, c.value])), ...middles },
      stopped: false,
      error: null,
    };
  },
  looked: ({ shown }, { views }) => ({ shown: { ...shown, ...views }, axes: views.axes }),
  swept: ({ middles }, { sweep }) => ({ sweep, middles: sweep ? { ...middles, [sweep.parameter]: sweep.middle } : middles }),
};

export const withSpec = (request, change) => ({ ...request, spec: { ...request.spec, ...change } });

// The state after an action. The spec follows the controls of the kernel, and a sweep is of one kernel and one selection.
export function reduce(state, { type, ...brought }) {
  const next = { ...state, ...CHANGES[type](state, brought) };
  if (next.request && (next.request !== state.request || next.kernel !== state.kernel)) {
    const { spec, choice } = next.request;
    const kernel = kernelText(next);
    if (!spec.method || kernel !== spec.kernel) next.request = { choice, spec: specOf(kernel, spec) };
  }
  if (!same(sweepOf(next), sweepOf(state))) next.sweep = null;
  return next;
}

// What is fitted, as the library writes it: PCA without a kernel, or kernel PCA, approximate where exact is not feasible.
const specOf = (kernel, { components, standardise }) =>
  kernel === undefined
    ? { method: "pca", components, standardise }
    : { method: "kernel_pca", kernel, components, standardise, approx: "auto" };

// A kernel as text, with the parameters that pass `counts` and are not their defaults.
function spelled({ start, kernel: { method, params } }, counts) {
  const kernel = start?.kernels.find((k) => k.name === method);
  const given = kernel?.parameters.filter((p) => counts(p) && (params[p.name] ?? p.default) !== p.default) ?? [];
  return given.length ? `${method}(${given.map((p) => `${p.name}=${params[p.name]}`).join(", ")})` : method;
}

function kernelText(state) {
  const { method, text } = state.kernel;
  if (method === "pca") return undefined;
  return method === "expression" ? text : spelled(state, () => true);
}

// The kernel without its width, which is what a sweep varies.
export const kernelOfAnyWidth = (state) => spelled(state, (p) => p.range.kind !== "around");

// Small data is fitted while a slider moves.
export const isLive = ({ data, start }) => data.rows <= start.limits.live;

// What triggers a new fit: everything, except a slider that moves over large data, and an expression being typed.
export function fitOf(state) {
  if (!state.request) return null;
  const { data, request: { choice, spec }, kernel } = state;
  const moves = isLive(state) && kernel.method !== "expression" ? spec.kernel : kernel.method;
  return [...selectionOf(data, choice, spec), spec.components.up_to, moves];
}

// The name of a kernel that is written as a name with parameters.
const nameOf = (kernel) => kernel?.split("(")[0];

// What a sweep depends on; none before the first fit of the kernel is done.
export function sweepOf(state) {
  const { request, kernel: { method }, shown, data } = state;
  if (!request || method === "pca" || method === "expression") return null;
  if (shown?.request.choice.table !== data.id || nameOf(shown.request.spec.kernel) !== method) return null;
  return [...selectionOf(data, request.choice, request.spec), kernelOfAnyWidth(state)];
}

const selectionOf = (data, { columns, label, missing }, { standardise }) => [data, columns, label, missing, standardise];

export const same = (a, b) => a === b || (a !== null && b !== null && a.every((value, i) => value === b[i]));

export function createStore() {
  let state = INITIAL;
  const listeners = new Set();
  return {
    get state() {
      return state;
    },
    dispatch(type, brought) {
      const before = state;
      state = reduce(state, { type, ...brought });
      for (const listener of listeners) listener(before);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore(store) {
  const [state, setState] = useState(store.state);
  useEffect(() => {
    const update = () => setState(store.state);
    update();
    return store.subscribe(update);
  }, [store]);
  return state;
}
