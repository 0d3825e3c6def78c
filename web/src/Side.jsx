import { useState } from "preact/hooks";
import { number } from "./scatter.js";

// A point that was clicked: its values, and what the components keep of them.
export function Point({ point, onClose }) {
  const last = point.path.at(-1);
  const back = new Map(point.kind ? point.columns.map((name, j) => [name, last[j]]) : []);
  return (
    <section class="card" id="point" aria-live="polite">
      <h2>
        Row {point.row + 1}{" "}
        <button type="button" class="link" onClick={onClose}>
          close
        </button>
      </h2>
      <p class="soft">
        {point.kind === "pre-image" &&
          `Its pre-image, ${point.converged ? "found in" : "not found for certain: stopped after"} ${point.steps} steps: the point whose image is nearest to what the components keep.`}
        {point.kind === "reconstruction" && "Its reconstruction: what the components keep of it."}
        {!point.kind && "Pre-images are found for the gaussian kernel; PCA has reconstructions."}
      </p>
      <div class="wide short">
        <table>
          <thead>
            <tr>
              <th scope="col">column</th>
              <th scope="col">value</th>
              {point.kind && <th scope="col">{point.kind}</th>}
            </tr>
          </thead>
          <tbody>
            {point.cells.map(({ name, value }) => (
              <tr>
                <th scope="row">{name}</th>
                <td>{value}</td>
                {point.kind && <td>{back.has(name) ? number(back.get(name)) : ""}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

// The rows of a selection.
export function Rows({ table, total, onClear, onPick }) {
  return (
    <section class="card" id="rows">
      <h2>
        {total.toLocaleString("en")} selected{" "}
        <button type="button" class="link" onClick={onClear}>
          clear
        </button>
      </h2>
      {table.rows.length < total && <p class="soft">The first {table.rows.length} rows.</p>}
      <div class="wide short">
        <table>
          <thead>
            <tr>
              <th scope="col">row</th>
              {table.names.map((name) => (
                <th scope="col">{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map(({ row, cells }) => (
              <tr key={row}>
                <th scope="row">
                  <button type="button" class="link" onClick={() => onPick(row)}>
                    {row + 1}
                  </button>
                </th>
                {cells.map((cell) => (
                  <td>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

// The same without the page.
export function Copy({ result }) {
  const texts = { Command: result.command, Python: result.python, Rust: result.rust };
  const [kind, setKind] = useState("Command");
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(texts[kind]);
      setSaid("copied");
    } catch {
      setSaid("the browser does not let pages copy: select the text and copy it");
    }
    setTimeout(() => setSaid(""), 4000);
  };
  return (
    <section class="card" id="copy">
      <h2>Copy as</h2>
      <div class="tabs" role="group" aria-label="Copy as">
        {Object.keys(texts).map((name) => (
          <button type="button" aria-pressed={name === kind} onClick={() => setKind(name)}>
            {name}
          </button>
        ))}
        <button type="button" class="primary" onClick={copy}>
          Copy
        </button>
        <span class="soft" role="status">
          {said}
        </span>
      </div>
      <pre tabIndex={0} aria-label={`${kind} that does the same`}>
        <code>{texts[kind]}</code>
      </pre>
    </section>
  );
}

// Files to keep.
export function Downloads({ result, axes }) {
  const at = `/api/results/${result.id}/files`;
  const look = `?x=${axes.x}&y=${axes.y}`;
  const files = [
    ["Scores (CSV)", `${at}/scores.csv`],
    ["Eigenvalues (CSV)", `${at}/eigenvalues.csv`],
    ["Model", `${at}/model`],
    ["Picture (SVG)", `${at}/scores.svg${look}`],
    ["Picture (PNG)", `${at}/scores.png${look}`],
    ["Picture (PDF)", `${at}/scores.pdf${look}`],
    ["Scree (SVG)", `${at}/scree.svg`],
    ...(result.d === 2 ? [["Contours (SVG)", `${at}/contours.svg`]] : []),
    ...(result.d >= 2 && result.preimages ? [["Reconstruction (SVG)", `${at}/reconstruction.svg`]] : []),
    ...(result.kernel ? [["Kernel matrix (PNG)", `${at}/kernel.png`]] : [["Loadings (SVG)", `${at}/loadings.svg${look}`]]),
    ["Report (HTML)", `${at}/report.html`],
  ];
  return (
    <section class="card" id="downloads">
      <h2>Download</h2>
      <ul class="files">
        {files.map(([name, href]) => (
          <li>
            <a href={href} download="">
              {name}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

// What was done, in words.
export function Told({ result }) {
  return (
    <section class="card">
      <h2>What was done</h2>
      <p>{result.model}.</p>
      {result.components < result.asked && (
        <p>
          {result.asked} components were asked for; {result.components} have variance.
        </p>
      )}
      {result.choices.map((c) => (
        <p>
          {c.kernel}: {c.parameter} = {number(c.value)}, by the rule {c.rule}.
        </p>
      ))}
      {result.notes.length > 0 && (
        <ul class="notes">
          {result.notes.map((note) => (
            <li>{note}</li>
          ))}
        </ul>
      )}
      <details>
        <summary>The plan</summary>
        <pre>{result.plan}</pre>
      </details>
      <p class="soft">
        {result.n.toLocaleString("en")} points of {result.d} dimensions in {result.seconds < 1 ? `${Math.round(1000 * result.seconds)} ms` : `${result.seconds.toFixed(1)} s`}.
      </p>
    </section>
  );
}
