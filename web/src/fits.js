import { fit } from "./api.js";

// A fit that takes longer than this many milliseconds shows that it is under way.
const SLOW = 250;

// One fit at a time. Of what is requested while one is under way only the newest comes next; an impatient request stops the
// one under way. `deliver` gets each result, `fail` each error.
export function createFits({ deliver, fail, onProgress }) {
  let running = null;
  let next = null;

  const run = async (recipe) => {
    const stop = new AbortController();
    [running, next] = [stop, null];
    const slow = setTimeout(() => onProgress({ stage: "working" }), SLOW);
    try {
      await deliver(await fit(recipe, onProgress, stop.signal), recipe, stop.signal);
    } catch (error) {
      fail(error);
    } finally {
      clearTimeout(slow);
      onProgress(null);
      const recipe = next;
      [running, next] = [null, null];
      if (recipe) run(recipe);
    }
  };

  return {
    request(recipe, impatient) {
      if (!running) return run(recipe);
      next = recipe;
      if (impatient) running.abort();
    },
    cancel() {
      next = null;
      running?.abort();
    },
  };
}
