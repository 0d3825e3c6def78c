import { useEffect, useRef, useState } from "preact/hooks";
import { Scatter } from "./scatter.js";

const KEYS = "Drag to move, wheel to zoom, shift and drag for a lasso. Keys: arrows, + and - and 0, n and p for the next and " +
  "previous point, Enter for its details, a to select what is in view, Escape to clear.";

// A scatter plot with its title, tools and the row under the pointer.
export function Plot({ id, title, note, x, y, tints, shapes, names, view, mode, picked, resets, rowText, onPick, onSelect }) {
  const host = useRef(null);
  const plot = useRef(null);
  const [hover, setHover] = useState(null);
  const tell = useRef({});
  tell.current = { onPick, onSelect, rowText };

  useEffect(() => {
    plot.current = new Scatter(host.current, {
      onPick: (row) => tell.current.onPick(row),
      onSelect: (rows) => tell.current.onSelect(rows),
      onHover: async (row, at, spoken) => {
        if (row < 0) return setHover(null);
        const text = await tell.current.rowText(row);
        if (plot.current?.hovered === row && text) setHover({ row, at, text, spoken });
      },
    });
    plot.current.over.setAttribute("role", "img");
    plot.current.over.setAttribute("aria-describedby", "plot-keys");
    plot.current.over.dataset.plot = id;
    return () => plot.current.close();
  }, []);

  useEffect(() => {
    if (x.length === y.length && tints.length === 4 * x.length) {
      const moved = plot.current.moved && plot.current.shows === view;
      plot.current.shows = view;
      if (plot.current.x !== x || plot.current.y !== y) plot.current.setPoints(x, y, moved);
      plot.current.setTints(tints, shapes);
    }
  }, [x, y, tints]);
  useEffect(() => plot.current.setNames(names), [names[0], names[1]]);
  useEffect(() => plot.current.setPicked(picked), [picked]);
  useEffect(() => plot.current.reset(), [resets]);
  useEffect(() => {
    plot.current.mode = mode;
    host.current.classList.toggle("lasso", mode === "lasso");
  }, [mode]);
  useEffect(() => {
    plot.current.over.setAttribute("aria-label", `${title}: ${x.length} points, ${names[0]} against ${names[1]}. ${note ?? ""}`);
  }, [title, x, note, names[0], names[1]]);

  return (
    <figure class="card plot">
      <figcaption>
        <h2>{title}</h2>
        <p class="soft">{note}</p>
      </figcaption>
      <div class="canvas" ref={host}>
        {hover && (
          <div class="tip" style={{ left: `${Math.min(hover.at[0] + 12, host.current.clientWidth - 190)}px`, top: `${hover.at[1] + 12}px` }}>
            {hover.text.map(([name, value]) => (
              <div key={name}>
                <span class="soft">{name}</span> {value}
              </div>
            ))}
          </div>
        )}
      </div>
      <p class="hidden" role="status">
        {hover?.spoken ? hover.text.map((pair) => pair.join(" ")).join(", ") : ""}
      </p>
    </figure>
  );
}

export const PlotKeys = () => (
  <p id="plot-keys" class="soft keys">
    {KEYS}
  </p>
);
