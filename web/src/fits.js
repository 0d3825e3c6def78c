import { fit } from "./api.js";

// A fit that takes longer than this many milliseconds shows that it is under way.
const SLOW = 250;

// One fit at a time. Of what is requested while one is under way only the newest comes next; an impatient request stops the
// one under way. `deliver` gets each result, `fail` each error.
export function createFits({ deliver, fail, onProgress }) {
  let running = null;
  let next = null;

  const run = async (request) => {
    const stop = new AbortController();
    [running, next] = [stop, null];
    const slow = setTimeout(() => onProgress({ stage: "working" }), SLOW);
    try {
      await deliver(await fit(request, onProgress, stop.signal), request, stop.signal);
    } catch (error) {
      fail(error);
    } finally {
      clearTimeout(slow);
      onProgress(null);
      const request = next;
      [running, next] = [null, null];
      if (request) run(request);
    }
  };

  return {
    request(request, impatient) {
      if (!running) return run(request);
      next = request;
      if (impatient) running.abort();
    },
    cancel() {
      next = null;
      running?.abort();
    },
  };
}
