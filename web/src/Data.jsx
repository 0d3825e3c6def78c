import { useMemo, useRef } from "preact/hooks";

const count = (n) => n.toLocaleString("en");
// More columns than this are not listed one by one.
const LISTED = 300;

// Which table, which columns, which label.
export function Data({ start, data, choice, standardise, onData, onFile, onChoice, onStandardise }) {
  const file = useRef(null);
  const chosen = useMemo(
    () => new Set(choice.columns ?? data.columns.filter((c) => c.numeric).map((c) => c.name)),
    [data, choice.columns],
  );
  const numeric = useMemo(() => data.columns.filter((c) => c.numeric && c.name !== choice.label), [data, choice.label]);
  const toggle = (name) => {
    const next = numeric.map((c) => c.name).filter((n) => (n === name ? !chosen.has(n) : chosen.has(n)));
    onChoice({ columns: next });
  };
  const incomplete = useMemo(() => data.columns.some((c) => chosen.has(c.name) && c.missing > 0), [data, chosen]);
  const list = useMemo(
    () => (
      <ul class="columns">
        {numeric.slice(0, LISTED).map((c) => (
          <li key={c.name}>
            <label>
              <input type="checkbox" checked={chosen.has(c.name)} onChange={() => toggle(c.name)} /> {c.name}
              {c.missing > 0 && <span class="soft"> ({count(c.missing)} missing)</span>}
            </label>
          </li>
        ))}
        {numeric.length > LISTED && <li class="soft">and {count(numeric.length - LISTED)} more, chosen together by all and none</li>}
      </ul>
    ),
    [numeric, chosen],
  );
  return (
    <fieldset>
      <legend>Data</legend>
      <label>
        Table
        <select id="data" value={data.id} onChange={(event) => onData(Number(event.target.value))}>
          {start.data.map((d) => (
            <option value={d.id}>
              {d.name} ({count(d.rows)} rows)
            </option>
          ))}
        </select>
      </label>
      <p class="soft">{data.about}</p>
      <p>
        <button type="button" onClick={() => file.current.click()}>
          Open a file…
        </button>{" "}
        <span class="soft">or drop a file on the page ({start.formats.map((f) => f.title).join(", ")}); it stays on this machine</span>
        <input
          ref={file}
          id="file"
          class="hidden"
          type="file"
          tabIndex={-1}
          aria-label="A file to explore"
          accept={start.formats.flatMap((f) => f.extensions.map((e) => `.${e}`)).join(",")}
          onChange={(event) => {
            if (event.target.files[0]) onFile(event.target.files[0]);
            event.target.value = "";
          }}
        />
      </p>
      <label>
        Label column
        <select id="label" value={choice.label ?? ""} onChange={(event) => onChoice({ label: event.target.value || null })}>
          <option value="">none</option>
          {data.columns.map((c) => (
            <option value={c.name}>{c.name}</option>
          ))}
        </select>
      </label>
      <details>
        <summary>
          Columns: {chosen.size} of {numeric.length}
        </summary>
        <p>
          <button type="button" class="link" onClick={() => onChoice({ columns: numeric.map((c) => c.name) })}>
            all
          </button>{" "}
          <button type="button" class="link" onClick={() => onChoice({ columns: [] })}>
            none
          </button>
        </p>
        {list}
      </details>
      {incomplete && (
        <label>
          Missing values
          <select id="missing" value={choice.missing} onChange={(event) => onChoice({ missing: event.target.value })}>
            <option value="error">report an error</option>
            <option value="mean">fill with the column mean</option>
            <option value="drop">drop the row</option>
          </select>
        </label>
      )}
      <label class="check">
        <input id="scale" type="checkbox" checked={standardise} onChange={(event) => onStandardise(event.target.checked)} />{" "}
        Divide columns by their standard deviation
      </label>
    </fieldset>
  );
}
