/** The outline of a region on a canvas of its size, so that pointing redraws very little. */

import type { PlaneFrame } from "../frame";
import { MARGIN, type Placed } from "./camera";
import { plain } from "./overlay";

export type Pen = { ink: string; edge: string; width: number };

/** Draw the outline of a region on a canvas over the window of a given size (CSS pixels); hide it for null. */
export function outline(canvas: HTMLCanvasElement, frame: PlaneFrame, placed: Placed, size: [number, number], region: number | null, pen: Pen): void {
  const { vertices, corners, starts, regions } = frame;
  canvas.hidden = region === null || region >= regions;
  if (region === null || region >= regions) return;
  const points: [number, number][] = [];
  let left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
  for (let c = starts[region]; c < starts[region + 1]; c++) {
    const x = placed.x + placed.width * vertices[2 * corners[c]], y = placed.y - placed.height * vertices[2 * corners[c] + 1];
    points.push([x, y]);
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  }
  const x0 = Math.floor(Math.max(left - 3, MARGIN.left)), x1 = Math.ceil(Math.min(right + 3, size[0] - MARGIN.right));
  const y0 = Math.floor(Math.max(top - 3, MARGIN.top)), y1 = Math.ceil(Math.min(bottom + 3, size[1] - MARGIN.bottom));
  if ((canvas.hidden = x1 <= x0 || y1 <= y0)) return;
  const ratio = Math.min(2, devicePixelRatio || 1);
  const wide = room(x1 - x0), high = room(y1 - y0);
  if (canvas.width !== wide * ratio || canvas.height !== high * ratio) {
    [canvas.width, canvas.height] = [wide * ratio, high * ratio];
    [canvas.style.width, canvas.style.height] = [`${wide}px`, `${high}px`];
  }
  canvas.style.transform = `translate(${x0}px,${y0}px)`;
  const context = plain(canvas, ratio, -x0, -y0);
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
  context.closePath();
  context.lineJoin = "round";
  for (const [style, width] of [[pen.edge, pen.width + 2], [pen.ink, pen.width]] as const) {
    context.strokeStyle = style;
    context.lineWidth = width;
    context.stroke();
  }
}

/** A length rounded up, so that the canvas rarely changes its size. */
function room(length: number): number {
  return Math.ceil(length / 64) * 64;
}
