import { useRef, useState } from "preact/hooks";
import { fit } from "./api.js";

// A fit that takes longer than this says so.
const SLOW = 250;

// One fit at a time. What is asked for while one is under way comes next, the newest settings only; an impatient request
// stops the one under way. `deliver` gets each result, `fail` each error.
export function useFits(deliver, fail) {
  const [progress, setProgress] = useState(null);
  const work = useRef({ running: null, next: null });
  const told = useRef(null);
  told.current = { deliver, fail };

  const run = async (recipe) => {
    const stop = new AbortController();
    work.current = { running: stop, next: null };
    const slow = setTimeout(() => setProgress({ stage: "working" }), SLOW);
    try {
      const result = await fit(recipe, setProgress, stop.signal);
      await told.current.deliver(result, recipe, stop.signal);
    } catch (error) {
      told.current.fail(error);
    } finally {
      clearTimeout(slow);
      setProgress(null);
      const { next } = work.current;
      work.current = { running: null, next: null };
      if (next) run(next);
    }
  };

  return {
    progress,
    refit(recipe, impatient) {
      const { running } = work.current;
      if (!running) return run(recipe);
      work.current.next = recipe;
      if (impatient) running.abort();
    },
    cancel() {
      work.current.next = null;
      work.current.running?.abort();
    },
  };
}
