import { number } from "./scatter.js";

// Positions of a slider in steps.
const STEPS = 256;

// The kernel and its parameters, as the registry of the server describes them.
export function Kernel({ start, method, params, text, middles, sweep, hint, onMethod, onParam, onText, onRelease }) {
  const kernel = start.kernels.find((k) => k.name === method);
  return (
    <fieldset>
      <legend>Model</legend>
      <label>
        Kernel
        <select id="kernel" value={method} onChange={(event) => onMethod(event.target.value)}>
          {start.kernels.map((k) => (
            <option value={k.name}>{k.name}</option>
          ))}
          <option value="expression">expression</option>
          <option value="pca">none (PCA)</option>
        </select>
      </label>
      {hint && <p class="soft">{hint}</p>}
      {kernel && (
        <p class="soft">
          <code>{kernel.formula}</code>
          <br />
          {kernel.about}
        </p>
      )}
      {method === "expression" && (
        <label>
          Expression
          <input
            id="expression"
            value={text}
            spellcheck={false}
            onInput={(event) => onText(event.target.value)}
            onChange={onRelease}
          />
          <span class="soft">sums, products and weights of kernels, for example 0.5*gaussian(gamma=median) + linear</span>
        </label>
      )}
      {kernel?.parameters.map((parameter) => (
        <Parameter
          key={`${method}-${parameter.name}`}
          parameter={parameter}
          value={params[parameter.name] ?? parameter.default}
          middle={middles[parameter.name]}
          sweep={sweep?.parameter === parameter.name ? sweep : null}
          onValue={(value) => onParam(parameter.name, value)}
          onRelease={onRelease}
        />
      ))}
    </fieldset>
  );
}

// What is known outside the marked range: nothing beyond the ends of the sweep.
function beyond([low, high], steps) {
  const [below, above] = [low > steps[0].value, high < steps.at(-1).value];
  if (below && above) return "; outside this range it hardly changes";
  if (below) return "; below it hardly changes, larger values were not tried";
  return above ? "; above it hardly changes, smaller values were not tried" : "; other values were not tried";
}

function scale(range, middle) {
  const log = (low, high) => ({
    toValue: (s) => Number((low * (high / low) ** (s / STEPS)).toPrecision(4)),
    toStep: (v) => (Math.log(v / low) / Math.log(high / low)) * STEPS,
    steps: STEPS,
    ends: [low, high],
  });
  switch (range.kind) {
    case "around":
      return log(middle / range.factor, middle * range.factor);
    case "ratios":
      return log(range.low, range.high);
    default: {
      const steps = Math.round((range.high - range.low) / range.step);
      const digits = Math.max(0, -Math.floor(Math.log10(range.step)));
      return {
        toValue: (s) => Number((range.low + s * range.step).toFixed(digits)),
        toStep: (v) => (v - range.low) / range.step,
        steps,
        ends: [range.low, range.high],
      };
    }
  }
}

function Parameter({ parameter, value, middle, sweep, onValue, onRelease }) {
  const id = `parameter-${parameter.name}`;
  if (parameter.range.kind === "choices") {
    return (
      <label>
        {parameter.name} <span class="soft">{parameter.about}</span>
        <select id={id} value={value} onChange={(event) => (onValue(event.target.value), onRelease())}>
          {parameter.range.choices.map((choice) => (
            <option value={choice}>{choice}</option>
          ))}
        </select>
      </label>
    );
  }
  const numeric = Number(value);
  const known = middle ?? (Number.isFinite(numeric) && numeric > 0 ? numeric : 1);
  const { toValue, toStep, steps, ends } = scale(parameter.range, known);
  const shown = Number.isFinite(numeric) ? numeric : known;
  const share = (v) => Math.min(100, Math.max(0, (100 * toStep(v)) / steps));
  const band = sweep?.interval;
  return (
    <div class="parameter">
      <label for={id}>
        {parameter.name} <span class="soft">{parameter.about}</span>
      </label>
      <div class="row">
        <div class="slider">
          {band && <div class="band" style={{ left: `${share(band[0])}%`, width: `${share(band[1]) - share(band[0])}%` }} />}
          <input
            id={id}
            type="range"
            min="0"
            max={steps}
            step="1"
            value={Math.round(toStep(shown))}
            aria-valuetext={`${parameter.name} ${number(shown)}`}
            onInput={(event) => onValue(String(toValue(Number(event.target.value))))}
            onChange={onRelease}
          />
        </div>
        <input
          class="value"
          aria-label={`${parameter.name} as a number`}
          value={value}
          spellcheck={false}
          onChange={(event) => (onValue(event.target.value.trim()), onRelease())}
        />
      </div>
      <p class="soft ends">
        <span>{number(ends[0])}</span>
        {value !== parameter.default && (
          <button type="button" class="link" onClick={() => (onValue(parameter.default), onRelease())}>
            reset to {parameter.default}
          </button>
        )}
        <span>{number(ends[1])}</span>
      </p>
      {sweep && (
        <p class="soft" id={`${id}-sweep`}>
          {band
            ? `The plot changes between ${number(band[0])} and ${number(band[1])} (marked)${beyond(band, sweep.steps)}.`
            : "The plot hardly depends on it."}
        </p>
      )}
    </div>
  );
}
