import { Data } from "./Data.jsx";
import { Kernel } from "./Kernel.jsx";

// What is asked for: data, kernel, number of components.
export function Settings({ state, actions }) {
  const { start, data, request, kernel, middles, sweep, hint } = state;
  return (
    <aside class="card">
      <form onSubmit={(event) => event.preventDefault()}>
        <Data
          start={start}
          data={data}
          choice={request.choice}
          standardise={request.spec.standardise}
          onData={actions.openTable}
          onFile={actions.openFile}
          onChoice={actions.choose}
          onStandardise={actions.standardise}
        />
        <Kernel
          start={start}
          {...kernel}
          middles={middles}
          sweep={sweep}
          hint={hint}
          onMethod={actions.setMethod}
          onParam={actions.setParameter}
          onText={actions.setExpression}
          onRelease={actions.release}
        />
        <ComponentCount count={request.spec.components.up_to} onCount={actions.setComponents} />
      </form>
    </aside>
  );
}

function ComponentCount({ count, onCount }) {
  return (
    <label>
      Components <span class="soft">1 to 100</span>
      <input
        id="components"
        type="number"
        min="1"
        max="100"
        value={count}
        onChange={(event) => {
          const next = Math.min(100, Math.max(1, Math.round(Number(event.target.value)) || 1));
          event.target.value = next;
          onCount(next);
        }}
      />
    </label>
  );
}
