// A scatter plot of up to a million points: WebGL where available, else a 2D canvas. Drag to move, wheel or pinch to
// zoom, lasso to select, arrow keys and + - 0 to do the same without a mouse.

const VERTEX = `#version 300 es
in float x; in float y; in vec4 tint; in float shape;
uniform vec2 scale; uniform vec2 shift; uniform float size;
out vec4 shade; flat out float form;
void main() { form = shape; gl_Position = vec4(vec2(x, y) * scale + shift, 0.0, 1.0); gl_PointSize = size; shade = tint; }`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 shade; flat in float form; out vec4 colour;
void main() {
  vec2 p = abs(gl_PointCoord - 0.5) * 2.0;
  float r = form > 1.5 ? max(p.x, p.y) * 1.15 : length(p);
  float a = shade.a * (1.0 - smoothstep(0.8, 1.0, r));
  if (form > 0.5 && form < 1.5) a *= smoothstep(0.3, 0.5, r);
  if (a < 0.01) discard;
  colour = vec4(shade.rgb * a, a);
}`;

// Points that are drawn while the view moves; all are drawn once it rests.
const WHILE_MOVING = 100_000;
const REST_AFTER = 140;
const CLICK_WITHIN = 5;
const GRID = 128;
const MARGIN = { left: 52, right: 12, top: 12, bottom: 34 };

const sizeFor = (n) => (n <= 1000 ? 7 : n <= 10_000 ? 5 : n <= 100_000 ? 3.5 : 2);

export class Scatter {
  constructor(host, { onHover, onPick, onSelect }) {
    this.host = host;
    this.tell = { onHover, onPick, onSelect };
    [this.under, this.points, this.over] = [0, 1, 2].map(() => document.createElement("canvas"));
    host.append(this.under, this.points, this.over);
    this.over.tabIndex = 0;
    this.x = this.y = new Float32Array();
    this.tints = new Uint8Array();
    this.mode = "move";
    this.hovered = -1;
    this.picked = -1;
    this.pointers = new Map();
    this.startGl();
    this.listen();
    this.resizes = new ResizeObserver(() => this.resize());
    this.resizes.observe(host);
    this.themes = matchMedia("(prefers-color-scheme: dark)");
    this.onTheme = () => this.draw();
    this.themes.addEventListener("change", this.onTheme);
    this.resize();
  }

  close() {
    this.closed = true;
    this.resizes.disconnect();
    this.themes.removeEventListener("change", this.onTheme);
    cancelAnimationFrame(this.frame);
    clearTimeout(this.rest);
    this.gl?.getExtension("WEBGL_lose_context")?.loseContext();
    for (const canvas of [this.under, this.points, this.over]) canvas.remove();
  }

  startGl() {
    const gl = this.points.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
    if (!gl) return;
    const compile = (kind, source) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      return shader;
    };
    const program = gl.createProgram();
    gl.attachShader(program, compile(gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(program, compile(gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return this.plain();
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.at = Object.fromEntries(["scale", "shift", "size"].map((name) => [name, gl.getUniformLocation(program, name)]));
    this.buffers = Object.fromEntries(["x", "y", "tint", "shape", "order"].map((name) => [name, gl.createBuffer()]));
    for (const [name, width, kind] of [["x", 1, gl.FLOAT], ["y", 1, gl.FLOAT], ["tint", 4, gl.UNSIGNED_BYTE], ["shape", 1, gl.UNSIGNED_BYTE]]) {
      const place = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, width, kind, name === "tint", 0, 0);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers.order);
    this.points.addEventListener("webglcontextlost", () => this.plain());
    this.gl = gl;
  }

  // A canvas without WebGL, in place of one whose context is lost.
  plain() {
    if (this.closed) return;
    this.gl = null;
    const canvas = document.createElement("canvas");
    this.points.replaceWith(canvas);
    this.points = canvas;
    this.resize();
  }

  // New positions; `keep` keeps the view if their number is the same.
  setPoints(x, y, keep) {
    const fresh = x.length !== this.x.length;
    this.x = x;
    this.y = y;
    const { gl } = this;
    if (gl) {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.x);
      gl.bufferData(gl.ARRAY_BUFFER, x, gl.DYNAMIC_DRAW);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.y);
      gl.bufferData(gl.ARRAY_BUFFER, y, gl.DYNAMIC_DRAW);
      if (fresh) {
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers.order);
        gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, shuffled(x.length), gl.STATIC_DRAW);
      }
    }
    this.index = null;
    if (fresh) this.hovered = this.picked = -1;
    this.extent = extent(x, y);
    if (fresh || !keep) this.reset();
    else this.draw();
  }

  // One colour of four bytes per point, and one byte for its shape.
  setTints(tints, shapes) {
    this.tints = tints;
    this.shapes = shapes;
    const { gl } = this;
    if (gl) {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.tint);
      gl.bufferData(gl.ARRAY_BUFFER, tints, gl.DYNAMIC_DRAW);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.shape);
      gl.bufferData(gl.ARRAY_BUFFER, shapes, gl.DYNAMIC_DRAW);
    }
    this.draw();
  }

  setPicked(row) {
    this.picked = row;
    this.draw();
  }

  reset() {
    const [x0, x1, y0, y1] = this.extent ?? [0, 1, 0, 1];
    const pad = (low, high) => [low - 0.04 * (high - low), high + 0.04 * (high - low)];
    this.view = this.even([...pad(x0, x1), ...pad(y0, y1)]);
    this.moved = false;
    this.draw();
  }

  // A view with the same scale on both axes, where that does not waste most of the space.
  even([x0, x1, y0, y1]) {
    if (!this.width) return [x0, x1, y0, y1];
    const { width, height } = this.inner;
    const [perX, perY] = [(x1 - x0) / width, (y1 - y0) / height];
    const ratio = perX / perY;
    if (ratio < 0.5 || ratio > 2) return [x0, x1, y0, y1];
    const grow = (low, high, factor) => [(low + high) / 2 - ((high - low) / 2) * factor, (low + high) / 2 + ((high - low) / 2) * factor];
    return ratio > 1 ? [x0, x1, ...grow(y0, y1, ratio)] : [...grow(x0, x1, 1 / ratio), y0, y1];
  }

  resize() {
    const { width, height } = this.host.getBoundingClientRect();
    if (!width || !height) return;
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    this.width = width;
    this.height = height;
    for (const canvas of [this.under, this.points, this.over]) {
      canvas.width = Math.round(width * this.ratio);
      canvas.height = Math.round(height * this.ratio);
    }
    if (this.moved) this.draw();
    else this.reset();
  }

  get inner() {
    return {
      left: MARGIN.left,
      top: MARGIN.top,
      width: Math.max(1, this.width - MARGIN.left - MARGIN.right),
      height: Math.max(1, this.height - MARGIN.top - MARGIN.bottom),
    };
  }

  // From the data to the screen and back.
  toScreen(px, py) {
    const [x0, x1, y0, y1] = this.view;
    const { left, top, width, height } = this.inner;
    return [left + ((px - x0) / (x1 - x0)) * width, top + height - ((py - y0) / (y1 - y0)) * height];
  }

  toData(sx, sy) {
    const [x0, x1, y0, y1] = this.view;
    const { left, top, width, height } = this.inner;
    return [x0 + ((sx - left) / width) * (x1 - x0), y0 + ((top + height - sy) / height) * (y1 - y0)];
  }

  draw() {
    if (this.frame || !this.view || !this.width) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.drawUnder();
      this.drawPoints();
      this.drawOver();
    });
  }

  moving() {
    this.isMoving = true;
    this.moved = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.isMoving = false;
      this.draw();
    }, REST_AFTER);
    this.draw();
  }

  drawPoints() {
    const n = this.tints.length >= 4 * this.x.length ? this.x.length : 0;
    const some = this.isMoving ? Math.min(n, WHILE_MOVING) : n;
    const { left, top, width, height } = this.inner;
    const [x0, x1, y0, y1] = this.view;
    const { gl, ratio } = this;
    if (!gl) {
      this.drawPlain(n);
      return;
    }
    gl.viewport(0, 0, this.points.width, this.points.height);
    gl.clearColor(0, 0, 0, 0);
    gl.disable(gl.SCISSOR_TEST);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(left * ratio, (this.height - top - height) * ratio, width * ratio, height * ratio);
    const sx = (2 * width) / this.width / (x1 - x0);
    const sy = (2 * height) / this.height / (y1 - y0);
    gl.uniform2f(this.at.scale, sx, sy);
    gl.uniform2f(
      this.at.shift,
      (2 * left) / this.width - 1 - x0 * sx,
      (2 * (this.height - top - height)) / this.height - 1 - y0 * sy,
    );
    gl.uniform1f(this.at.size, sizeFor(n) * ratio);
    if (some > 0) gl.drawElements(gl.POINTS, some, gl.UNSIGNED_INT, 0);
  }

  drawPlain(n) {
    const context = this.points.getContext("2d");
    if (!context) return;
    const { ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const size = sizeFor(n);
    const step = Math.max(1, Math.ceil(n / WHILE_MOVING));
    for (let i = 0; i < n; i += step) {
      const [sx, sy] = this.toScreen(this.x[i], this.y[i]);
      const [r, g, b, a] = this.tints.subarray(4 * i, 4 * i + 4);
      context.fillStyle = context.strokeStyle = `rgba(${r},${g},${b},${a / 255})`;
      context.beginPath();
      if (this.shapes[i] === 2) context.rect(sx - size / 2, sy - size / 2, size, size);
      else context.arc(sx, sy, size / 2, 0, 2 * Math.PI);
      if (this.shapes[i] === 1) context.stroke();
      else context.fill();
    }
  }

  // A cleared canvas, and the colours of the theme.
  fresh(canvas) {
    const context = canvas.getContext("2d");
    const style = getComputedStyle(this.host);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    return [context, ...["--ink", "--soft", "--rule"].map((name) => style.getPropertyValue(name))];
  }

  drawUnder() {
    const [context, ink, soft, rule] = this.fresh(this.under);
    const { left, top, width, height } = this.inner;
    const [x0, x1, y0, y1] = this.view;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = soft;
    context.strokeStyle = rule;
    context.lineWidth = 1;
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const tick of ticks(x0, x1, Math.max(2, Math.floor(width / 80)))) {
      const [sx] = this.toScreen(tick, y0);
      line(context, sx, top, sx, top + height);
      context.fillText(number(tick), sx, top + height + 5);
    }
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const tick of ticks(y0, y1, Math.max(2, Math.floor(height / 50)))) {
      const [, sy] = this.toScreen(x0, tick);
      line(context, left, sy, left + width, sy);
      context.fillText(number(tick), left - 6, sy);
    }
    context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
    context.textAlign = "center";
    context.fillStyle = ink;
    context.textBaseline = "bottom";
    context.fillText(this.names?.[0] ?? "", left + width / 2, this.height - 2);
    context.save();
    context.translate(10, top + height / 2);
    context.rotate(-Math.PI / 2);
    context.textBaseline = "middle";
    context.fillText(this.names?.[1] ?? "", 0, 0);
    context.restore();
  }

  drawOver() {
    const [context, ink] = this.fresh(this.over);
    for (const [row, heavy] of [[this.hovered, 1.5], [this.picked, 3]]) {
      if (row < 0 || row >= this.x.length) continue;
      const [sx, sy] = this.toScreen(this.x[row], this.y[row]);
      const { left, top, width, height } = this.inner;
      if (sx < left || sx > left + width || sy < top || sy > top + height) continue;
      context.strokeStyle = ink;
      context.lineWidth = heavy;
      context.beginPath();
      context.arc(sx, sy, sizeFor(this.x.length) / 2 + 4, 0, 2 * Math.PI);
      context.stroke();
    }
    if (this.lasso?.length > 1) {
      context.strokeStyle = ink;
      context.lineWidth = 1.5;
      context.setLineDash([5, 4]);
      context.beginPath();
      this.lasso.forEach(([sx, sy], i) => (i ? context.lineTo(sx, sy) : context.moveTo(sx, sy)));
      context.closePath();
      context.stroke();
      context.setLineDash([]);
    }
  }

  setNames(names) {
    this.names = names;
    this.draw();
  }

  zoom(factor, sx, sy) {
    const [cx, cy] = this.toData(sx, sy);
    const [x0, x1, y0, y1] = this.view;
    const view = [cx + (x0 - cx) * factor, cx + (x1 - cx) * factor, cy + (y0 - cy) * factor, cy + (y1 - cy) * factor];
    const [ex0, ex1] = this.extent ?? [0, 1];
    const share = (view[1] - view[0]) / Math.max(ex1 - ex0, 1e-300);
    if (share > 1e-4 && share < 50) this.view = view;
    this.moving();
  }

  pan(dx, dy) {
    const [x0, x1, y0, y1] = this.view;
    const { width, height } = this.inner;
    const [mx, my] = [(dx / width) * (x1 - x0), (dy / height) * (y1 - y0)];
    this.view = [x0 - mx, x1 - mx, y0 + my, y1 + my];
    this.moving();
  }

  listen() {
    const over = this.over;
    const place = (event) => {
      const box = over.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    over.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...place(event));
    }, { passive: false });
    over.addEventListener("pointerdown", (event) => {
      over.setPointerCapture(event.pointerId);
      const at = place(event);
      this.pointers.set(event.pointerId, at);
      this.pressed = at;
      if ((this.mode === "lasso" || event.shiftKey) && this.pointers.size === 1) this.lasso = [at];
      else this.lasso = null;
    });
    over.addEventListener("pointermove", (event) => {
      const at = place(event);
      const before = this.pointers.get(event.pointerId);
      if (!before) {
        this.hover(this.nearest(...at));
        return;
      }
      this.pointers.set(event.pointerId, at);
      if (this.pointers.size === 2) {
        const [a, b] = [...this.pointers.values()];
        const other = event.pointerId === [...this.pointers.keys()][0] ? b : a;
        const span = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
        this.zoom(span(before) / span(at), (at[0] + other[0]) / 2, (at[1] + other[1]) / 2);
        this.pressed = null;
      } else if (this.lasso) {
        this.lasso.push(at);
        this.draw();
      } else if (this.pressed && Math.hypot(at[0] - this.pressed[0], at[1] - this.pressed[1]) > CLICK_WITHIN || this.dragging) {
        this.dragging = true;
        this.pan(at[0] - before[0], at[1] - before[1]);
      }
    });
    const end = (event) => {
      const at = place(event);
      const { lasso, dragging, pressed } = this;
      this.pointers.delete(event.pointerId);
      this.lasso = null;
      this.dragging = false;
      this.pressed = null;
      if (event.type !== "pointerup") return this.draw();
      if (lasso && lasso.length > 3) this.tell.onSelect(this.inside(lasso));
      else if (!dragging && pressed) {
        const row = this.nearest(...at);
        if (row >= 0) this.pick(row);
        else this.tell.onSelect(null);
      }
      this.draw();
    };
    over.addEventListener("pointerup", end);
    over.addEventListener("pointercancel", end);
    over.addEventListener("pointerleave", () => this.hover(-1));
    over.addEventListener("dblclick", () => this.reset());
    over.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const step = 40;
    const middle = [this.width / 2, this.height / 2];
    const next = (by) => {
      const n = this.x.length;
      if (n) this.hover((Math.max(this.hovered, by > 0 ? -1 : 0) + by + n) % n, true);
    };
    const actions = {
      ArrowLeft: () => this.pan(step, 0),
      ArrowRight: () => this.pan(-step, 0),
      ArrowUp: () => this.pan(0, step),
      ArrowDown: () => this.pan(0, -step),
      "+": () => this.zoom(0.8, ...middle),
      "=": () => this.zoom(0.8, ...middle),
      "-": () => this.zoom(1.25, ...middle),
      0: () => this.reset(),
      n: () => next(1),
      p: () => next(-1),
      a: () => this.tell.onSelect(this.inView()),
      Enter: () => this.hovered >= 0 && this.pick(this.hovered),
      Escape: () => this.tell.onSelect(null),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  hover(row, spoken = false) {
    if (row === this.hovered) return;
    this.hovered = row;
    this.draw();
    const at = row >= 0 ? this.toScreen(this.x[row], this.y[row]) : null;
    this.tell.onHover(row, at, spoken);
  }

  pick(row) {
    this.picked = row;
    this.tell.onPick(row);
  }

  // The point nearest to a position on the screen, if one is near, found by a grid.
  nearest(sx, sy) {
    if (this.x.length === 0 || this.isMoving) return -1;
    this.index ??= grid(this.x, this.y, this.extent);
    const { starts, rows } = this.index;
    const [cx, cy] = this.toData(sx, sy);
    const [x0, x1, y0, y1] = this.extent;
    const reach = sizeFor(this.x.length) / 2 + 6;
    const [rx, ry] = this.toData(sx + reach, sy - reach);
    const cell = (v, low, high) => Math.floor(((v - low) / (high - low || 1)) * GRID);
    const clamp = (c) => Math.min(GRID - 1, Math.max(0, c));
    let best = -1;
    let least = reach * reach;
    for (let gy = clamp(cell(2 * cy - ry, y0, y1)); gy <= clamp(cell(ry, y0, y1)); gy++) {
      for (let gx = clamp(cell(2 * cx - rx, x0, x1)); gx <= clamp(cell(rx, x0, x1)); gx++) {
        for (let at = starts[gy * GRID + gx]; at < starts[gy * GRID + gx + 1]; at++) {
          const row = rows[at];
          const [px, py] = this.toScreen(this.x[row], this.y[row]);
          const d = (px - sx) ** 2 + (py - sy) ** 2;
          if (d < least) [best, least] = [row, d];
        }
      }
    }
    return best;
  }

  // The rows inside a lasso.
  inside(lasso) {
    const corners = lasso.map(([sx, sy]) => this.toData(sx, sy));
    const xs = corners.map((c) => c[0]);
    const ys = corners.map((c) => c[1]);
    const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const found = [];
    for (let i = 0; i < this.x.length; i++) {
      const [px, py] = [this.x[i], this.y[i]];
      if (px < x0 || px > x1 || py < y0 || py > y1) continue;
      let odd = false;
      for (let a = 0, b = xs.length - 1; a < xs.length; b = a++) {
        if (ys[a] > py !== ys[b] > py && px < ((xs[b] - xs[a]) * (py - ys[a])) / (ys[b] - ys[a]) + xs[a]) odd = !odd;
      }
      if (odd) found.push(i);
    }
    return found;
  }

  inView() {
    const [x0, x1, y0, y1] = this.view;
    const found = [];
    for (let i = 0; i < this.x.length; i++) {
      if (this.x[i] >= x0 && this.x[i] <= x1 && this.y[i] >= y0 && this.y[i] <= y1) found.push(i);
    }
    return found;
  }
}

const line = (context, x0, y0, x1, y1) => {
  context.beginPath();
  context.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
  context.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  context.stroke();
};

function extent(x, y) {
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < x.length; i++) {
    if (x[i] < x0) x0 = x[i];
    if (x[i] > x1) x1 = x[i];
    if (y[i] < y0) y0 = y[i];
    if (y[i] > y1) y1 = y[i];
  }
  const wide = (low, high) => (high > low ? [low, high] : low > -Infinity && low < Infinity ? [low - 1, low + 1] : [0, 1]);
  return [...wide(x0, x1), ...wide(y0, y1)];
}

// Rows in a fixed random order, so that the first ones are a fair sample.
function shuffled(n) {
  const order = new Uint32Array(n);
  let seed = 1;
  for (let i = 0; i < n; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 4294967296) * (i + 1));
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

function grid(x, y, [x0, x1, y0, y1]) {
  const starts = new Uint32Array(GRID * GRID + 1);
  const rows = new Uint32Array(x.length);
  const cell = (i) => {
    const cx = Math.min(GRID - 1, Math.floor(((x[i] - x0) / (x1 - x0)) * GRID));
    const cy = Math.min(GRID - 1, Math.floor(((y[i] - y0) / (y1 - y0)) * GRID));
    return cy * GRID + cx;
  };
  for (let i = 0; i < x.length; i++) starts[cell(i) + 1]++;
  for (let c = 0; c < GRID * GRID; c++) starts[c + 1] += starts[c];
  const next = starts.slice();
  for (let i = 0; i < x.length; i++) rows[next[cell(i)]++] = i;
  return { starts, rows };
}

export function ticks(low, high, about) {
  const raw = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= raw) ?? 10);
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high && found.length < 50; v += step) found.push(Math.abs(v) < step / 1e6 ? 0 : v);
  return found;
}

// A number with a few digits.
export function number(v) {
  if (v === 0) return "0";
  const size = Math.abs(v);
  if (size >= 1e5 || size < 1e-3) return v.toExponential(2).replace(/\.?0+e/, "e");
  return String(Number(v.toPrecision(4)));
}
