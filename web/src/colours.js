// Colours of points: by class, by number, or one for all; points that are not selected are faint.

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

export function ramp(corners, share) {
  const at = Math.min(1, Math.max(0, share)) * (corners.length - 1);
  return corners[Math.round(at)];
}

export const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;

// The colour of a class; black is replaced on a dark background.
export function classColour(palette, index) {
  const hex = palette[index % palette.length];
  return hex === "#000000" && dark() ? "#dddddd" : hex;
}

// Classes beyond the colours have other shapes: a disc, a ring, a square.
export const SHAPES = ["disc", "ring", "square"];
export const classShape = (palette, index) => Math.floor(index / palette.length) % SHAPES.length;

export function shapes(n, colour, values, start) {
  const out = new Uint8Array(n);
  if (colour?.kind !== "classes" || colour.names.length <= start.palette.length) return out;
  return out.map((_, i) => classShape(start.palette, values[i]));
}

// Four bytes per point.
export function tints(n, colour, values, start, selection) {
  const out = new Uint8Array(4 * n);
  const alpha = n > 20_000 ? 150 : 225;
  const table =
    colour?.kind === "classes"
      ? colour.names.map((_, i) => rgb(classColour(start.palette, i)))
      : [rgb(classColour(start.palette, 0))];
  for (let i = 0; i < n; i++) {
    const shade =
      colour?.kind === "number"
        ? Number.isNaN(values[i]) ? [128, 128, 128] : ramp(start.ramp, values[i])
        : table[colour?.kind === "classes" ? values[i] : 0];
    out.set(shade, 4 * i);
    out[4 * i + 3] = selection && !selection.mask[i] ? 28 : alpha;
  }
  return out;
}
