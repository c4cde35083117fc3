/** Drawings over the sheet: axes, highlighted creases, marks of a growth step. */

import { classColor, css, type Paper } from "../colors";
import type { PlaneFrame } from "../frame";
import { tick } from "../state";
import type { Problem, Step } from "../types";
import { inBox, MARGIN, type Placed } from "./camera";
import type { Flip } from "./flip";

export const ACCENT = "#CC3311"; // a lit crease and the newest unit
/** CSS pixels below which a picture has no room for words. */
const NARROW = 480;

export type Drawn = {
  frame: PlaneFrame;
  placed: Placed;
  size: [number, number];
  paper: Paper;
  units: number[];
  numbers: number[]; // of each unit, what to write at its crease; 0 for nothing
  earlier: PlaneFrame | null; // the network before, whose boundary is dashed
  step: Step | null;
  problem: Problem;
  columns: [string, string];
  cursor: [number, number] | null;
  flip: Flip | null;
};

/** A cleared canvas drawn by the CPU (software GPUs are slow with text), its origin moved by so many CSS pixels. */
export function plain(canvas: HTMLCanvasElement, ratio: number, x: number, y: number): CanvasRenderingContext2D {
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.setTransform(ratio, 0, 0, ratio, x * ratio, y * ratio);
  return context;
}

/** Lit creases, the marks of a growth step and the cross, over the window. */
export function drawMarks(context: CanvasRenderingContext2D, drawn: Drawn): void {
  if (drawn.earlier) dashedBoundary(context, drawn, drawn.earlier);
  for (const unit of drawn.units) crease(context, drawn, unit);
  if (drawn.step) marks(context, drawn, drawn.step);
  for (const { number, at } of labels(drawn)) {
    const isNewest = number === drawn.step?.number;
    disc(context, drawn, String(number), pixel(drawn, ...at), isNewest);
  }
  if (drawn.flip) way(context, drawn, drawn.flip);
  if (drawn.cursor) cross(context, drawn, drawn.cursor);
}

function pixel({ placed }: Drawn, u: number, v: number): [number, number] {
  return [placed.x + placed.width * u, placed.y - placed.height * v];
}

/** The decision boundary before a growth step. */
function dashedBoundary(context: CanvasRenderingContext2D, drawn: Drawn, { vertices, boundary_edges }: PlaneFrame): void {
  context.beginPath();
  for (let e = 0; e < boundary_edges.length; e += 2)
    for (const [k, act] of [[0, "moveTo"], [1, "lineTo"]] as const) {
      const v = boundary_edges[e + k];
      context[act](...pixel(drawn, vertices[2 * v], vertices[2 * v + 1]));
    }
  context.setLineDash([6, 5]);
  context.strokeStyle = drawn.paper.ink;
  context.lineWidth = 1.4;
  context.stroke();
  context.setLineDash([]);
}

/** The crease of a fold where it is put, from edge to edge. */
function placedCrease(context: CanvasRenderingContext2D, drawn: Drawn, [x, y]: [number, number], direction: [number, number]): void {
  const [[x0, x1], [y0, y1]] = drawn.frame.box;
  const [dx, dy] = [(direction[0] / (x1 - x0)) * drawn.placed.width, (-direction[1] / (y1 - y0)) * drawn.placed.height];
  const far = (drawn.size[0] + drawn.size[1]) / Math.hypot(dx, dy);
  const { x: left, y: bottom, width, height } = drawn.placed;
  context.save();
  context.beginPath();
  context.rect(left, bottom - height, width, height);
  context.clip();
  context.beginPath();
  context.moveTo(x - far * dx, y - far * dy);
  context.lineTo(x + far * dx, y + far * dy);
  context.setLineDash([9, 6]);
  for (const [color, wide] of [[css(drawn.paper.paper), 5], [ACCENT, 2.6]] as const) {
    context.strokeStyle = color;
    context.lineWidth = wide;
    context.stroke();
  }
  context.restore();
}

/** Whether the crease of a unit passes through a point, in units of the box: training moves creases. */
function passes({ frame: { vertices, edges, edge_units } }: Drawn, units: number[], [u, v]: [number, number]): boolean {
  return edge_units.some((unit, e) => {
    if (!units.includes(unit)) return false;
    const [a, b] = [2 * edges[2 * e], 2 * edges[2 * e + 1]];
    const [dx, dy] = [vertices[b] - vertices[a], vertices[b + 1] - vertices[a + 1]];
    const along = ((u - vertices[a]) * dx + (v - vertices[a + 1]) * dy) / Math.max(1e-12, dx * dx + dy * dy);
    const share = Math.max(0, Math.min(1, along));
    return Math.hypot(vertices[a] + share * dx - u, vertices[a + 1] + share * dy - v) < 0.01;
  });
}

type Label = { number: number; at: [number, number] };
const placedLabels = new WeakMap<PlaneFrame, { numbers: number[]; found: Label[] }>();

/** A number at the crease of each unit, in units of the box: where other creases, samples and numbers leave room. */
function labels({ frame, numbers, problem }: Drawn): Label[] {
  const known = placedLabels.get(frame);
  if (known?.numbers === numbers) return known.found;
  const lines = numbers.map((_, unit) => pointsAlong(frame, unit));
  const rows = problem.features.length === 2 && problem.X.length <= 2000 ? problem.X.map((x) => inBox(frame, x)) : [];
  const found: Label[] = [];
  numbers.forEach((number, unit) => {
    const inside = number ? lines[unit].filter(([u, v]) => Math.min(u, v) > 0.035 && Math.max(u, v) < 0.965) : [];
    const others = [...rows, ...lines.filter((_, other) => other !== unit).flat()];
    const room = inside.map((at) => Math.min(distance(at, others), 0.4 * distance(at, found.map((label) => label.at))));
    if (inside.length) found.push({ number, at: inside[room.indexOf(Math.max(...room))] });
  });
  placedLabels.set(frame, { numbers, found });
  return found;
}

/** Points along the crease of a unit, about a fiftieth of the box apart. */
function pointsAlong({ vertices, edges, edge_units }: PlaneFrame, unit: number): [number, number][] {
  const found: [number, number][] = [];
  edge_units.forEach((of, e) => {
    if (of !== unit) return;
    const [a, b] = [2 * edges[2 * e], 2 * edges[2 * e + 1]];
    const [dx, dy] = [vertices[b] - vertices[a], vertices[b + 1] - vertices[a + 1]];
    const parts = Math.max(2, Math.ceil(50 * Math.hypot(dx, dy)));
    for (let k = 1; k < parts; k++) found.push([vertices[a] + (k / parts) * dx, vertices[a + 1] + (k / parts) * dy]);
  });
  return found;
}

function distance([u, v]: [number, number], others: [number, number][]): number {
  return others.reduce((least, [x, y]) => Math.min(least, Math.hypot(x - u, y - v)), 2.5);
}

/** A number in a disc. */
function disc(context: CanvasRenderingContext2D, { paper }: Drawn, text: string, [x, y]: [number, number], isNewest: boolean): void {
  context.beginPath();
  context.arc(x, y, 9, 0, 2 * Math.PI);
  context.fillStyle = isNewest ? ACCENT : paper.ink;
  context.fill();
  context.strokeStyle = css(paper.paper);
  context.lineWidth = 1.2;
  context.stroke();
  context.font = "600 11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = isNewest ? "#ffffff" : css(paper.paper);
  context.fillText(text, x, y + 0.5);
}

function crease(context: CanvasRenderingContext2D, drawn: Drawn, unit: number): void {
  const { vertices, edges, edge_units } = drawn.frame;
  context.beginPath();
  for (let e = 0; e < edge_units.length; e++) {
    if (edge_units[e] !== unit) continue;
    const a = edges[2 * e], b = edges[2 * e + 1];
    context.moveTo(...pixel(drawn, vertices[2 * a], vertices[2 * a + 1]));
    context.lineTo(...pixel(drawn, vertices[2 * b], vertices[2 * b + 1]));
  }
  context.lineCap = "round";
  context.strokeStyle = css(drawn.paper.paper);
  context.lineWidth = 5.5;
  context.stroke();
  context.strokeStyle = ACCENT;
  context.lineWidth = 3;
  context.stroke();
}

function marks(context: CanvasRenderingContext2D, drawn: Drawn, step: Step): void {
  const { instance, mistakes = [], fold_point, direction } = step.marks;
  const { problem, paper, frame } = drawn;
  const isPlaced = drawn.units.length > 0; // otherwise the network is that before the step
  if (!isPlaced && fold_point?.length === 2 && direction) placedCrease(context, drawn, pixel(drawn, ...inBox(frame, fold_point)), direction);
  if (problem.features.length === 2) {
    context.strokeStyle = paper.ink;
    if (instance !== undefined) {
      const at = pixel(drawn, ...inBox(frame, problem.X[instance]));
      context.beginPath();
      context.arc(...at, 9.5, 0, 2 * Math.PI);
      context.fillStyle = problem.classes ? classColor(problem.y[instance], paper.dark) : paper.ink;
      context.fill();
      context.lineWidth = 3;
      context.stroke();
      label(context, drawn, "typical mistake", at);
    }
    context.strokeStyle = paper.ink;
    context.lineWidth = 1.5;
    for (const row of mistakes) {
      if (row === instance) continue;
      context.beginPath();
      context.arc(...pixel(drawn, ...inBox(frame, problem.X[row])), 6.5, 0, 2 * Math.PI);
      context.stroke();
    }
  }
  if (fold_point?.length === 2 && (!isPlaced || passes(drawn, drawn.units, inBox(frame, fold_point)))) {
    const at = pixel(drawn, ...inBox(frame, fold_point));
    context.beginPath();
    for (let k = 0; k < 4; k++) {
      const angle = (k * Math.PI) / 2;
      context.lineTo(at[0] + 9 * Math.cos(angle), at[1] + 9 * Math.sin(angle));
    }
    context.closePath();
    context.fillStyle = ACCENT;
    context.fill();
    context.strokeStyle = css(paper.paper);
    context.lineWidth = 2;
    context.stroke();
    const typical = instance === undefined ? null : pixel(drawn, ...inBox(frame, problem.X[instance]));
    const close = typical && Math.abs(typical[0] - at[0]) < 130 && Math.abs(typical[1] - at[1]) < 18;
    label(context, drawn, "fold point", close ? [at[0], Math.max(at[1], typical[1]) + 20] : at);
  }
}

function label(context: CanvasRenderingContext2D, { paper, size }: Drawn, text: string, [x, y]: [number, number]): void {
  if (size[0] < NARROW) return; // the legend names the marks
  context.font = "600 12.5px system-ui, sans-serif";
  const left = x > size[0] - 130;
  context.textAlign = left ? "right" : "left";
  context.textBaseline = "middle";
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = css(paper.paper);
  const at: [number, number] = [x + (left ? -15 : 15), y];
  context.strokeText(text, ...at);
  context.fillStyle = paper.ink;
  context.fillText(text, ...at);
}

/** The way from a point to the nearest change of decision. */
function way(context: CanvasRenderingContext2D, drawn: Drawn, { from, to }: Flip): void {
  const [start, end] = [pixel(drawn, ...from), pixel(drawn, ...to)];
  for (const [color, width] of [[css(drawn.paper.paper), 5], [ACCENT, 2.2]] as const) {
    context.strokeStyle = color;
    context.lineWidth = width;
    context.lineCap = "round";
    context.beginPath();
    context.moveTo(...start);
    context.lineTo(...end);
    context.stroke();
    context.beginPath();
    context.arc(...start, 7, 0, 2 * Math.PI);
    context.stroke();
  }
  context.beginPath();
  context.arc(...end, 4, 0, 2 * Math.PI);
  context.fillStyle = ACCENT;
  context.fill();
}

function cross(context: CanvasRenderingContext2D, drawn: Drawn, [u, v]: [number, number]): void {
  const [x, y] = pixel(drawn, u, v);
  context.strokeStyle = drawn.paper.ink;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x - 10, y);
  context.lineTo(x + 10, y);
  context.moveTo(x, y - 10);
  context.lineTo(x, y + 10);
  context.stroke();
}

/** Round numbers between two, about so many. */
export function ticks(low: number, high: number, about: number): number[] {
  const raw = (high - low) / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(raw));
  const steps = [1, 2, 5, 10].map((k) => k * power);
  const at = steps.findIndex((s) => s >= raw);
  const few = Math.floor(high / steps[at]) - Math.ceil(low / steps[at]) < 1; // a single tick says no scale
  const step = steps[few && at ? at - 1 : at];
  const found: number[] = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

/** Ticks of a logarithmic axis between powers of ten: these, or 1, 2 and 5 times them where the axis is short. */
export function logTicks(low: number, high: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(low); power <= high; power++)
    for (const digit of high - low > 2 ? [1] : [1, 2, 5]) {
      const at = power + Math.log10(digit);
      if (at >= low && at <= high) found.push(Number(`${digit}e${power}`));
    }
  return found;
}

/** The axes below and at the left of the window: a context for each. */
export function drawAxes(below: CanvasRenderingContext2D, beside: CanvasRenderingContext2D, drawn: Drawn): void {
  const { frame, placed, size, paper, columns } = drawn;
  const [[x0, x1], [y0, y1]] = frame.box;
  const [right, bottom] = [size[0] - MARGIN.right, size[1] - MARGIN.bottom];
  for (const context of [below, beside]) {
    context.fillStyle = paper.ink;
    context.font = "12px system-ui, sans-serif";
  }
  const atX = (pixel: number) => x0 + ((pixel - placed.x) / placed.width) * (x1 - x0);
  const atY = (pixel: number) => y0 + ((placed.y - pixel) / placed.height) * (y1 - y0);
  below.fillRect(MARGIN.left, bottom, right - MARGIN.left, 1);
  below.textAlign = "center";
  below.textBaseline = "top";
  for (const value of ticks(atX(MARGIN.left), atX(right), (right - MARGIN.left) / 90)) {
    const x = placed.x + ((value - x0) / (x1 - x0)) * placed.width;
    below.fillRect(x - 0.5, bottom, 1, 4);
    below.fillText(tick(value), x, bottom + 6);
  }
  below.font = "600 12.5px system-ui, sans-serif";
  below.textBaseline = "bottom";
  below.fillText(columns[0], (MARGIN.left + right) / 2, size[1] - 1);

  beside.fillRect(MARGIN.left - 1, MARGIN.top, 1, bottom - MARGIN.top);
  beside.textAlign = "right";
  beside.textBaseline = "middle";
  for (const value of ticks(atY(bottom), atY(MARGIN.top), (bottom - MARGIN.top) / 70)) {
    const y = placed.y - ((value - y0) / (y1 - y0)) * placed.height;
    beside.fillRect(MARGIN.left - 5, y - 0.5, 4, 1);
    beside.fillText(tick(value), MARGIN.left - 8, y);
  }
  beside.font = "600 12.5px system-ui, sans-serif";
  beside.textAlign = "center";
  beside.translate(2, (MARGIN.top + bottom) / 2);
  beside.rotate(-Math.PI / 2);
  beside.textBaseline = "top";
  beside.fillText(columns[1], 0, 0);
}

/** The names of a slice's axes: its own, inputs where it runs along them, else t1 and t2. */
export function frameColumns(frame: PlaneFrame, features: string[]): [string, string] {
  if (frame.axes?.[0]) return frame.axes;
  return [0, 1].map((axis) => {
    const along = frame.basis.map((row) => row[axis]);
    const one = along.filter((value) => value !== 0).length === 1 ? along.findIndex((value) => value === 1) : -1;
    return one >= 0 ? (features[one] ?? `x${one + 1}`) : `t${axis + 1}`;
  }) as [string, string];
}
