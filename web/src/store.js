// The state of the page, and every change of it. Requests to the server are in actions.js.
import { useEffect, useState } from "preact/hooks";

// Tables with more rows begin with PCA: kernel PCA of so many points takes its time, and is chosen knowingly.
const LARGE = 20_000;
const FIRST_AXES = { x: 0, y: 1 };

const INITIAL = {
  start: null, // what the server has: kernels, colours, tables, limits
  data: null, // the table that is open
  recipe: null, // what is asked for, sent to the server as it is
  kernel: { method: "gaussian", params: {}, text: "gaussian(gamma=median) + linear" }, // the controls behind recipe.kernel
  hint: "",
  middles: {}, // the middle of each slider
  sweep: null, // how the plot depends on the width of the kernel
  shown: null, // the last result, its recipe and its points
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

  opened: ({ recipe, kernel }, { data }) => {
    const large = data.rows > LARGE;
    return {
      ...UNSELECTED,
      data,
      recipe: {
        data: data.id,
        columns: data.more_columns ? null : data.chosen,
        label: data.label,
        scale: false,
        missing: data.missing,
        kernel: null,
        components: recipe?.components ?? 10,
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

  // Another choice of columns, label, scale or missing values.
  chosen: ({ data, recipe }, { change }) => {
    const next = { ...recipe, ...change };
    // What was the label becomes a column, and the other way round, as long as all other numeric columns are chosen.
    if ("label" in change) {
      const usual = (label) => data.columns.filter((c) => c.numeric && c.name !== label).map((c) => c.name);
      if (recipe.columns && String(recipe.columns) === String(usual(recipe.label))) next.columns = usual(change.label);
    }
    return { ...UNSELECTED, recipe: next };
  },
  components: ({ recipe }, { count }) => ({ recipe: { ...recipe, components: count } }),
  method: ({ kernel }, { method }) => ({ kernel: { ...kernel, method, params: {} }, middles: {} }),
  parameter: ({ kernel }, { name, value }) => ({ kernel: { ...kernel, params: { ...kernel.params, [name]: value } } }),
  expression: ({ kernel }, { text }) => ({ kernel: { ...kernel, text } }),

  delivered: ({ shown, middles, component }, { next }) => {
    const { result, recipe } = next;
    const other = shown && (shown.result.n !== result.n || shown.recipe.data !== recipe.data);
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

// The state after an action. The kernel of the recipe follows its controls, and a sweep is of one kernel and one selection.
export function reduce(state, { type, ...brought }) {
  const next = { ...state, ...CHANGES[type](state, brought) };
  if (next.recipe && (next.recipe !== state.recipe || next.kernel !== state.kernel)) {
    const kernel = kernelText(next);
    // Equal columns are the same array, so that comparing is cheap.
    const before = state.recipe?.columns;
    const columns = JSON.stringify(before) === JSON.stringify(next.recipe.columns) ? before : next.recipe.columns;
    if (kernel !== next.recipe.kernel || columns !== next.recipe.columns) next.recipe = { ...next.recipe, kernel, columns };
  }
  if (!same(sweepOf(next), sweepOf(state))) next.sweep = null;
  return next;
}

// A kernel as text, with the parameters that pass `counts` and are not their defaults.
function spelled({ start, kernel: { method, params } }, counts) {
  const kernel = start?.kernels.find((k) => k.name === method);
  const given = kernel?.parameters.filter((p) => counts(p) && (params[p.name] ?? p.default) !== p.default) ?? [];
  return given.length ? `${method}(${given.map((p) => `${p.name}=${params[p.name]}`).join(", ")})` : method;
}

function kernelText(state) {
  const { method, text } = state.kernel;
  if (method === "pca") return null;
  return method === "expression" ? text : spelled(state, () => true);
}

// The kernel without its width, which is what a sweep varies.
export const kernelOfAnyWidth = (state) => spelled(state, (p) => p.range.kind !== "around");

// Small data is fitted while a slider moves.
export const isLive = ({ data, start }) => data.rows <= start.limits.live;

// What triggers a new fit: everything, except a slider that moves over large data, and an expression being typed.
export function fitOf(state) {
  if (!state.recipe) return null;
  const { data, recipe, kernel } = state;
  const moves = isLive(state) && kernel.method !== "expression" ? recipe.kernel : kernel.method;
  return [data, recipe.columns, recipe.label, recipe.scale, recipe.missing, recipe.components, moves];
}

// What a sweep depends on; none before the first fit of the kernel is done.
export function sweepOf(state) {
  const { recipe, kernel: { method }, shown, data } = state;
  if (!recipe || method === "pca" || method === "expression") return null;
  if (shown?.recipe.data !== data.id || !shown.recipe.kernel?.startsWith(method)) return null;
  return [data, recipe.columns, recipe.label, recipe.scale, recipe.missing, kernelOfAnyWidth(state)];
}

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
