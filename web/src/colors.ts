/** The colors of the figures, in the light and the dark theme. */

/** Colors of classes, the same as in creases.show._themes. */
const CLASSES = [
  "#0077BB", "#EE7733", "#009988", "#AA3377", "#DDAA33", "#33BBEE", "#CC3311", "#332288", "#999933", "#777777",
];
const DARK_CLASSES = [
  "#4BA8F0", "#DC7D29", "#31AD87", "#D76AB1", "#F0D878", "#A5E0FA", "#F0584A", "#8B86FA", "#B8B94E", "#B0B0B0",
];

export type RGB = [number, number, number];

/** Colors of the smallest and the largest value of a regression; blends of the two are the values in between. */
const RAMP: [RGB, RGB] = [[253, 235, 176], [9, 62, 115]];
const DARK_RAMP: [RGB, RGB] = [[24, 56, 92], [255, 222, 130]];

/** The color of a value on a scale. */
export function valueColor(value: number, [low, high]: [number, number], dark: boolean): RGB {
  const [first, last] = dark ? DARK_RAMP : RAMP;
  return blend(first, last, Math.max(0, Math.min(1, (value - low) / (high - low || 1))));
}

export type Paper = { dark: boolean; paper: RGB; ink: string; creaseFirst: RGB; creaseLast: RGB; boundary: RGB; sheet: [RGB, RGB] };

const LIGHT: Paper = {
  dark: false,
  paper: [255, 255, 255],
  ink: "#222222",
  creaseFirst: rgb("#A9B0BA"),
  creaseLast: rgb("#39414D"),
  boundary: [0, 0, 0],
  sheet: [rgb("#FAFBFD"), rgb("#B4C1D3")],
};
const DARK: Paper = {
  dark: true,
  paper: rgb("#181B20"),
  ink: "#E6E8EB",
  creaseFirst: rgb("#5A626E"),
  creaseLast: rgb("#A9B3C1"),
  boundary: [255, 255, 255],
  sheet: [rgb("#1F242B"), rgb("#46566B")],
};

export function paper(dark: boolean): Paper {
  return dark ? DARK : LIGHT;
}

export function rgb(hex: string): RGB {
  const n = parseInt(hex.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

export function classColor(index: number, dark: boolean): string {
  return (dark ? DARK_CLASSES : CLASSES)[index % CLASSES.length];
}

export function blend(a: RGB, b: RGB, share: number): RGB {
  return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share];
}

export function css([r, g, b]: RGB): string {
  return `rgb(${Math.round(r)} ${Math.round(g)} ${Math.round(b)})`;
}
