// The state of the page without a browser: what is asked for, and when.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createStore, fitOf, same } from "../src/store.js";

const width = { name: "gamma", default: "median", range: { kind: "around", factor: 100 } };
const start = { kernels: [{ name: "gaussian", parameters: [width] }], limits: { live: 2500 }, data: [] };
const columns = ["a", "b", "c"].map((name) => ({ name, numeric: true, missing: 0 }));
const table = (rows) => ({ id: 7, rows, columns, chosen: ["a", "b"], label: "c", missing: "error", more_columns: 0 });

function opened(rows) {
  const store = createStore();
  store.dispatch("set", { start });
  store.dispatch("opened", { data: table(rows) });
  return store;
}

test("the request is a choice of data and the spec of the library", () => {
  const store = opened(100);
  const choice = { table: 7, columns: ["a", "b"], label: "c", missing: "error" };
  const spec = { method: "kernel_pca", kernel: "gaussian", components: { up_to: 10 }, standardise: false, approx: "auto" };
  assert.deepEqual(store.state.request, { choice, spec });
  store.dispatch("parameter", { name: "gamma", value: "0.5" });
  store.dispatch("components", { count: 3 });
  store.dispatch("standardised", { standardise: true });
  const [kernel, components] = ["gaussian(gamma=0.5)", { up_to: 3 }];
  assert.deepEqual(store.state.request, { choice, spec: { ...spec, kernel, components, standardise: true } });
  store.dispatch("method", { method: "pca" });
  assert.deepEqual(store.state.request, { choice, spec: { method: "pca", components, standardise: true } });
});

test("a slider fits small data at once, and large data when it is let go", () => {
  for (const [rows, fits] of [[100, true], [10_000, false]]) {
    const store = opened(rows);
    const before = fitOf(store.state);
    store.dispatch("parameter", { name: "gamma", value: "0.5" });
    assert.equal(!same(fitOf(store.state), before), fits, `${rows} rows`);
  }
});

test("a column that is no longer the label is used, as long as all others are", () => {
  const store = opened(100);
  store.dispatch("chosen", { change: { label: "a" } });
  assert.deepEqual(store.state.request.choice.columns, ["b", "c"]);
  store.dispatch("chosen", { change: { columns: ["b"] } });
  store.dispatch("chosen", { change: { label: null } });
  assert.deepEqual(store.state.request.choice.columns, ["b"]);
});

test("equal columns ask for no new fit", () => {
  const store = opened(100);
  const before = fitOf(store.state);
  store.dispatch("chosen", { change: { columns: ["a", "b"] } });
  assert.ok(same(fitOf(store.state), before));
});

test("large tables begin with PCA", () => {
  assert.equal(opened(20_001).state.request.spec.method, "pca");
});
