/** What lies over the sheet: axes, a unit's crease, the marks of a growth step; outlines of regions. */

import { classColour, css, type Paper } from "../colours";
import type { PlaneFrame } from "../frame";
import { number } from "../state";
import type { Problem, Step } from "../types";

export const ACCENT = "#CC3311"; // a lit crease and the newest unit
export const MARGIN = { left: 46, right: 10, top: 10, bottom: 38 };

/** The box on the canvas in CSS pixels, y downwards: left, bottom, width, height. */
export type Placed = { x: number; y: number; width: number; height: number };

export type Drawn = {
  frame: PlaneFrame;
  placed: Placed;
  size: [number, number];
  paper: Paper;
  units: number[];
  step: Step | null;
  problem: Problem;
  columns: [string, string];
  cursor: [number, number] | null;
};

export function drawOverlay(context: CanvasRenderingContext2D, drawn: Drawn): void {
  const { size, paper } = drawn;
  const [width, height] = size;
  context.clearRect(0, 0, width, height);
  context.save();
  context.beginPath();
  context.rect(MARGIN.left, MARGIN.top, width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom);
  context.clip();
  for (const unit of drawn.units) crease(context, drawn, unit);
  if (drawn.step) marks(context, drawn, drawn.step);
  if (drawn.cursor) cross(context, drawn, drawn.cursor);
  context.restore();
  axes(context, drawn);
  context.strokeStyle = paper.dark ? "#5A626E" : "#8A929D";
  context.lineWidth = 1;
  context.strokeRect(MARGIN.left - 0.5, MARGIN.top - 0.5, width - MARGIN.left - MARGIN.right + 1, height - MARGIN.top - MARGIN.bottom + 1);
}

function pixel({ placed }: Drawn, u: number, v: number): [number, number] {
  return [placed.x + placed.width * u, placed.y - placed.height * v];
}

/** Slice coordinates in units of the box. */
export function inBox(frame: PlaneFrame, [a, b]: number[]): [number, number] {
  const [[x0, x1], [y0, y1]] = frame.box;
  return [(a - x0) / (x1 - x0), (b - y0) / (y1 - y0)];
}

/** A region's corners x, y, x, y, ... on the canvas; none for no region. */
export function outline({ vertices, corners, starts, regions }: PlaneFrame, placed: Placed, region: number | null): number[] {
  if (region === null || region >= regions) return [];
  const limit = (value: number) => Math.max(-5000, Math.min(5000, value)); // far outside the window nothing is drawn
  const points: number[] = [];
  for (let c = starts[region]; c < starts[region + 1]; c++)
    points.push(limit(placed.x + placed.width * vertices[2 * corners[c]]), limit(placed.y - placed.height * vertices[2 * corners[c] + 1]));
  return points;
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
  const { instance, mistakes = [], fold_point } = step.marks;
  const { problem, paper, frame } = drawn;
  if (problem.features.length === 2) {
    context.strokeStyle = paper.ink;
    context.lineWidth = 1.5;
    for (const row of mistakes) {
      context.beginPath();
      context.arc(...pixel(drawn, ...inBox(frame, problem.X[row])), 6.5, 0, 2 * Math.PI);
      context.stroke();
    }
    if (instance !== undefined) {
      const at = pixel(drawn, ...inBox(frame, problem.X[instance]));
      context.beginPath();
      context.arc(...at, 9.5, 0, 2 * Math.PI);
      context.fillStyle = problem.classes ? classColour(problem.y[instance]) : paper.ink;
      context.fill();
      context.lineWidth = 3;
      context.stroke();
      label(context, drawn, "typical mistake", at);
    }
  }
  if (fold_point) {
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
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw)!;
  const found: number[] = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

function axes(context: CanvasRenderingContext2D, drawn: Drawn): void {
  const { frame, placed, size, paper, columns } = drawn;
  const [[x0, x1], [y0, y1]] = frame.box;
  const [right, bottom] = [size[0] - MARGIN.right, size[1] - MARGIN.bottom];
  context.fillStyle = paper.ink;
  context.strokeStyle = paper.ink;
  context.lineWidth = 1;
  context.font = "12px system-ui, sans-serif";
  const atX = (pixel: number) => x0 + ((pixel - placed.x) / placed.width) * (x1 - x0);
  const atY = (pixel: number) => y0 + ((placed.y - pixel) / placed.height) * (y1 - y0);
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const value of ticks(atX(MARGIN.left), atX(right), (right - MARGIN.left) / 90)) {
    const x = placed.x + ((value - x0) / (x1 - x0)) * placed.width;
    context.fillRect(x - 0.5, bottom, 1, 4);
    context.fillText(number(value, 5), x, bottom + 6);
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of ticks(atY(bottom), atY(MARGIN.top), (bottom - MARGIN.top) / 70)) {
    const y = placed.y - ((value - y0) / (y1 - y0)) * placed.height;
    context.fillRect(MARGIN.left - 5, y - 0.5, 4, 1);
    context.fillText(number(value, 5), MARGIN.left - 8, y);
  }
  context.font = "600 12.5px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.fillText(columns[0], (MARGIN.left + right) / 2, size[1] - 1);
  context.save();
  context.translate(2, (MARGIN.top + bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.textBaseline = "top";
  context.fillText(columns[1], 0, 0);
  context.restore();
}
