import { useEffect, useRef, useState } from "preact/hooks";
import { getJson } from "./api.js";
import { number, ticks } from "./scatter.js";

const SIZE = 340;
const MARGIN = { left: 46, bottom: 32, top: 8, right: 8 };
const MOST_POINTS = 4000;
const LEVELS = 14;
const BELOW = [5, 80, 140];
const ABOVE = [179, 80, 0];

// Contours of a component over the plane of two columns, the points, and the path of one to its pre-image.
export function Plane({ result, points, tints, path, component, onComponent }) {
  const canvas = useRef(null);
  const [field, setField] = useState(null);

  useEffect(() => {
    const stop = new AbortController();
    getJson(`/api/results/${result.id}/field?component=${component}`, stop.signal)
      .then(setField)
      .catch(() => {}); // the next result brings another field
    return () => stop.abort();
  }, [result.id, component]);

  useEffect(() => {
    if (!field) return;
    const place = canvas.current;
    const paint = () => place.isConnected && draw(place, field, points, tints, path, result.columns);
    paint();
    const themes = matchMedia("(prefers-color-scheme: dark)");
    themes.addEventListener("change", paint);
    const resizes = new ResizeObserver(paint);
    resizes.observe(place);
    return () => {
      themes.removeEventListener("change", paint);
      resizes.disconnect();
    };
  }, [field, points, tints, path]);

  return (
    <section class="card">
      <h2>Contours over the data</h2>
      <p class="soft">
        <label class="inline">
          Score at each position, on{" "}
          <select value={component} onChange={(event) => onComponent(Number(event.target.value))}>
            {Array.from({ length: Math.min(result.components, 12) }, (_, j) => (
              <option value={j}>PC{j + 1}</option>
            ))}
          </select>
        </label>
        : blue below zero, orange above.
      </p>
      <canvas
        class="plane"
        ref={canvas}
        role="img"
        aria-label={`Contours of PC${component + 1} over ${result.columns.join(" and ")}`}
      />
    </section>
  );
}

function draw(canvas, field, points, tints, path, names) {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const side = Math.min(canvas.parentElement.clientWidth - 34, 460) || SIZE;
  canvas.width = canvas.height = Math.round(side * ratio);
  canvas.style.width = canvas.style.height = `${side}px`;
  const context = canvas.getContext("2d");
  const style = getComputedStyle(canvas);
  const [ink, soft] = ["--ink", "--soft"].map((name) => style.getPropertyValue(name));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const [width, height] = [side - MARGIN.left - MARGIN.right, side - MARGIN.top - MARGIN.bottom];
  const { size, values, x: [x0, x1], y: [y0, y1] } = field;
  const place = (px, py) => [MARGIN.left + ((px - x0) / (x1 - x0)) * width, MARGIN.top + ((y1 - py) / (y1 - y0)) * height];
  const most = values.reduce((m, v) => Math.max(m, Math.abs(v)), 1e-300);

  // The field as a small picture, enlarged smoothly.
  const small = new OffscreenCanvas(size, size);
  const pixels = new ImageData(size, size);
  for (let r = 0; r < size; r++) {
    for (let c = 0; c < size; c++) {
      const v = values[r * size + c] / most;
      const tone = v < 0 ? BELOW : ABOVE;
      pixels.data.set([...tone, Math.round(Math.abs(v) * 200)], 4 * ((size - 1 - r) * size + c));
    }
  }
  small.getContext("2d").putImageData(pixels, 0, 0);
  context.imageSmoothingEnabled = true;
  context.save();
  context.beginPath();
  context.rect(MARGIN.left, MARGIN.top, width, height);
  context.clip();
  const half = [width / (size - 1) / 2, height / (size - 1) / 2];
  context.drawImage(small, MARGIN.left - half[0], MARGIN.top - half[1], width + 2 * half[0], height + 2 * half[1]);

  context.lineWidth = 0.8;
  const node = (r, c) => place(x0 + ((x1 - x0) * c) / (size - 1), y0 + ((y1 - y0) * r) / (size - 1));
  for (let l = -LEVELS; l <= LEVELS; l++) {
    const level = (l / LEVELS) * most;
    context.strokeStyle = l === 0 ? ink : soft;
    context.globalAlpha = l === 0 ? 0.9 : 0.45;
    context.beginPath();
    contour(values, size, level, node, context);
    context.stroke();
  }
  context.globalAlpha = 1;
  const step = Math.max(1, Math.ceil(points.x.length / MOST_POINTS));
  for (let i = 0; i < points.x.length; i += step) {
    const [px, py] = place(points.x[i], points.y[i]);
    context.fillStyle = `rgba(${tints[4 * i]},${tints[4 * i + 1]},${tints[4 * i + 2]},${tints[4 * i + 3] / 255})`;
    context.beginPath();
    context.arc(px, py, 2.4, 0, 2 * Math.PI);
    context.fill();
  }
  if (path?.length > 1) {
    context.strokeStyle = ink;
    context.fillStyle = ink;
    context.lineWidth = 2;
    context.beginPath();
    path.forEach(([px, py], i) => (i ? context.lineTo(...place(px, py)) : context.moveTo(...place(px, py))));
    context.stroke();
    context.beginPath();
    context.arc(...place(...path.at(-1)), 4.5, 0, 2 * Math.PI);
    context.fill();
    context.beginPath();
    context.arc(...place(...path[0]), 6, 0, 2 * Math.PI);
    context.stroke();
  }
  context.restore();
  context.strokeStyle = soft;
  context.lineWidth = 1;
  context.strokeRect(MARGIN.left + 0.5, MARGIN.top + 0.5, width - 1, height - 1);
  context.fillStyle = soft;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  for (const tick of ticks(x0, x1, 5)) context.fillText(number(tick), place(tick, y0)[0], MARGIN.top + height + 14);
  context.textAlign = "right";
  for (const tick of ticks(y0, y1, 5)) context.fillText(number(tick), MARGIN.left - 5, place(x0, tick)[1] + 4);
  context.fillStyle = ink;
  context.textAlign = "center";
  context.fillText(names[0], MARGIN.left + width / 2, side - 3);
  context.save();
  context.translate(10, MARGIN.top + height / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(names[1], 0, 4);
  context.restore();
}

// Marching squares: the pieces of a contour, cell by cell.
function contour(values, size, level, node, context) {
  for (let r = 0; r + 1 < size; r++) {
    for (let c = 0; c + 1 < size; c++) {
      const corners = [[r, c], [r, c + 1], [r + 1, c + 1], [r + 1, c]];
      const v = corners.map(([i, j]) => values[i * size + j] - level);
      const cuts = [];
      for (let e = 0; e < 4; e++) {
        const [a, b] = [v[e], v[(e + 1) % 4]];
        if (a > 0 === b > 0) continue;
        const t = a / (a - b);
        const [p, q] = [corners[e], corners[(e + 1) % 4]];
        cuts.push(node(p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])));
      }
      for (let i = 0; i + 1 < cuts.length; i += 2) {
        context.moveTo(...cuts[i]);
        context.lineTo(...cuts[i + 1]);
      }
    }
  }
}
