import { useEffect } from "preact/hooks";
import { Results } from "./Results.jsx";
import { Settings } from "./Settings.jsx";
import { useStore } from "./store.js";

export function App({ store, actions }) {
  const state = useStore(store);
  if (!state.start || !state.data) return state.error ? <Alert {...state.error} /> : <p class="waiting">…</p>;
  return (
    <>
      <header>
        <h1>mercer explore</h1>
        <p class="soft">PCA and kernel PCA. Your data stays on this machine.</p>
      </header>
      <main>
        <Settings state={state} actions={actions} />
        <div class="views">
          {state.error && <Alert {...state.error} onClose={() => actions.set({ error: null })} />}
          <FitStatus state={state} actions={actions} />
          {state.shown && <Results state={state} actions={actions} />}
        </div>
      </main>
      <DropTarget dropping={state.dropping} actions={actions} />
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

// The fit under way, or that the last one was cancelled.
function FitStatus({ state: { reading, fitting, stopped }, actions }) {
  const progress = reading ? { stage: "reading" } : fitting;
  return (
    <>
      <div class={progress ? "card progress" : "hidden"} role="status" id="progress">
        {progress && <Progress {...progress} onCancel={actions.cancel} />}
      </div>
      {stopped && !progress && (
        <div class="card progress" id="stopped" role="status">
          <span>The fit was cancelled. The plots show the previous settings.</span>
          <button type="button" onClick={actions.refit}>
            Fit again
          </button>
        </div>
      )}
    </>
  );
}

function Progress({ stage, number: pass, f64, share, reached, wanted, onCancel }) {
  const residual = reached ? `; residual ${reached.toExponential(0)}, target ${wanted?.toExponential(0)}` : "";
  const words = {
    working: "Fitting…",
    reading: "Reading the table…",
    landmarks: "Choosing landmarks…",
    pass: `Pass ${pass} over the Gram matrix, in ${f64 ? "f64" : "f32"}${residual}`,
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

// Files can be dropped anywhere on the page.
function DropTarget({ dropping, actions }) {
  useEffect(() => {
    const over = (event) => {
      event.preventDefault();
      actions.set({ dropping: event.type === "dragover" });
    };
    const dropped = (event) => {
      event.preventDefault();
      actions.set({ dropping: false });
      actions.openFile(event.dataTransfer.files[0]);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", over);
    addEventListener("drop", dropped);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", over);
      removeEventListener("drop", dropped);
    };
  }, []);
  return dropping ? <div class="dropping">Drop the file here</div> : null;
}
