/** The settings of the next run; address.ts keeps them in the address. */

import { signal } from "@preact/signals";

export type Kind = "builtin" | "csv" | "formula" | "draw" | "model";
export type Draft = {
  kind: Kind;
  name: string;
  formula: string;
  rows: number;
  noise: number;
  target: string;
  missing: string;
  from: number; // range of the inputs of a model file
  to: number;
  how: string;
  where: string;
  when: string;
  hidden: string;
  seed: number;
  lr: string; // a number, or auto
  epochs: string; // likewise
};

const DEFAULTS: Draft = {
  kind: "builtin", name: "xor_circles", formula: "sin(3*x)", rows: 400, noise: 0, target: "", missing: "indicate", from: -1, to: 1,
  how: "fold", where: "all", when: "stages", hidden: "auto", seed: 0, lr: "auto", epochs: "auto",
};

export const draft = signal<Draft>(fromAddress());
type Point = { x: [number, number]; label: number };
export const drawn = signal<Point[]>(pointsFromAddress());
export const brush = signal(0);
/** Whether points can be drawn while a run is shown. */
export const editing = signal(false);

/** Add a point, rounded so that the address holds it exactly. */
export function put([x, y]: [number, number]): void {
  drawn.value = [...drawn.value, { x: [Math.round(1000 * x) / 1000, Math.round(1000 * y) / 1000], label: brush.peek() }];
}

export function change(part: Partial<Draft>): void {
  draft.value = { ...draft.value, ...part };
}

/** Offer again what a session shows that is opened without settings in the address. */
export function adopt({ kind, name, X, y, ...more }: Record<string, any>): void {
  if (location.hash.length > 1 || !kind) return;
  const known = Object.fromEntries(Object.entries(more).filter(([key]) => key in DEFAULTS));
  change({ kind, ...known, ...(kind === "builtin" ? { name } : {}) });
  if (X) drawn.value = X.map((x: [number, number], k: number) => ({ x, label: y[k] }));
}

function fromAddress(): Draft {
  const entries = new URLSearchParams(location.hash.slice(1));
  const found: Record<string, unknown> = { ...DEFAULTS };
  for (const [key, value] of entries) {
    if (!(key in DEFAULTS)) continue;
    const byDefault = DEFAULTS[key as keyof Draft];
    if (typeof byDefault !== "number") found[key] = value;
    else if (Number.isFinite(Number(value))) found[key] = Number(value);
  }
  return found as Draft;
}

/** Drawn points from the address: class, x and y in thousandths of each point. */
function pointsFromAddress(): Point[] {
  const numbers = (new URLSearchParams(location.hash.slice(1)).get("points") ?? "").split("_").map(Number);
  const found: Point[] = [];
  for (let i = 0; i + 2 < numbers.length; i += 3) {
    const [label, x, y] = numbers.slice(i, i + 3);
    if ([0, 1, 2].includes(label) && Math.abs(x) <= 1e6 && Math.abs(y) <= 1e6) found.push({ x: [x / 1000, y / 1000], label });
  }
  return found;
}

/** The settings that differ from the defaults, as entries of the address. */
export function changes(): [string, string][] {
  const found = Object.entries(draft.value)
    .filter(([key, value]) => value !== DEFAULTS[key as keyof Draft])
    .map(([key, value]): [string, string] => [key, String(value)]);
  const points = drawn.value.map(({ x, label }) => [label, ...x.map((value) => Math.round(1000 * value))].join("_"));
  return points.length && draft.value.kind === "draw" ? [...found, ["points", points.join("_")]] : found;
}
