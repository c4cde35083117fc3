/** The camera: the visible part of the box of a slice, and the position of the box on a canvas. */

import { signal } from "@preact/signals";
import type { PlaneFrame } from "../frame";

/** Room for the axes around the window, in CSS pixels. */
export const MARGIN = { left: 60, right: 10, top: 10, bottom: 38 };

/** The center of the window in units of the box, and the magnification. */
export type Camera = { u: number; v: number; zoom: number };

export const WHOLE: Camera = { u: 0.5, v: 0.5, zoom: 1 };
export const camera = signal<Camera>(WHOLE);

/** The box on the canvas in CSS pixels, y downwards: left, bottom, width, height. */
export type Placed = { x: number; y: number; width: number; height: number };

/** The position of the box on a canvas of a given size (CSS pixels). */
export function place(frame: PlaneFrame, [wide, high]: [number, number], { u, v, zoom }: Camera): Placed {
  const [[x0, x1], [y0, y1]] = frame.box;
  const shape = Math.max(0.25, Math.min(4, (x1 - x0) / (y1 - y0)));
  const [width, height] = [wide - MARGIN.left - MARGIN.right, high - MARGIN.top - MARGIN.bottom];
  const across = (frame.fills ? width : Math.min(width, height * shape)) * zoom;
  const up = frame.fills ? height * zoom : across / shape;
  return { x: MARGIN.left + width / 2 - u * across, y: MARGIN.top + height / 2 + v * up, width: across, height: up };
}

/** Move the picture by some CSS pixels. */
export function pan(dx: number, dy: number, placed: Placed): void {
  const { u, v, zoom } = camera.value;
  camera.value = { u: clamp(u - dx / placed.width), v: clamp(v + dy / placed.height), zoom };
}

/** Zoom about a point in units of the box. */
export function zoomAt(by: number, [u, v]: [number, number]): void {
  const old = camera.value;
  const zoom = Math.max(0.5, Math.min(5000, old.zoom * by));
  const share = old.zoom / zoom;
  camera.value = { u: clamp(u + (old.u - u) * share), v: clamp(v + (old.v - v) * share), zoom };
}

/** Slice coordinates in units of the box. */
export function inBox(frame: PlaneFrame, [a, b]: number[]): [number, number] {
  const [[x0, x1], [y0, y1]] = frame.box;
  return [(a - x0) / (x1 - x0), (b - y0) / (y1 - y0)];
}

export function clamp(value: number): number {
  return Math.max(0, Math.min(1, value));
}
