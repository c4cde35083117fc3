/** Pointer, touch, wheel and keys on the plane. */

import { clamp } from "./camera";

type Point = { clientX: number; clientY: number };

export type Acts = {
  look(at: Point | null): void; // the pointer is over a point, or has left
  act(at: Point): void; // a click
  pan(dx: number, dy: number): void;
  zoom(by: number, at: Point | null): void; // null: about the middle
  whole(): void;
  cross(dx: number, dy: number): void; // move the cross that keys look with
  enter(): void;
  escape(): void;
};

/** Shift of the pointer in CSS pixels up to which it is a click. */
const CLICK = 5;

/** Distance in CSS pixels of the points of a stroke. */
const APART = 14;

const ARROWS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** Listen on an element; what it gives stops that. `editing` says whether arrows move the cross without Shift. */
export function listen(holder: HTMLElement, acts: Acts, editing: () => boolean): () => void {
  const fingers = new Map<number, Point>();
  const end = new AbortController();
  let moved = 0;
  let drawn: Point | null = null; // the last point of a stroke
  const on = <K extends keyof HTMLElementEventMap>(name: K, act: (event: HTMLElementEventMap[K]) => void) =>
    holder.addEventListener(name, act, { signal: end.signal, passive: false });

  on("pointerdown", (event) => {
    fingers.set(event.pointerId, event);
    holder.setPointerCapture(event.pointerId);
    if (fingers.size === 1) [moved, drawn] = [0, null];
  });
  on("pointermove", (event) => {
    const old = fingers.get(event.pointerId);
    if (!old) return acts.look(event);
    const [dx, dy] = [event.clientX - old.clientX, event.clientY - old.clientY];
    moved += Math.abs(dx) + Math.abs(dy);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    fingers.set(event.pointerId, event);
    if (moved < CLICK) return;
    if (!other && editing()) {
      if (drawn && distance(drawn, event) < APART) return;
      drawn = event;
      return acts.act(event);
    }
    if (!other) return acts.pan(dx, dy);
    const [was, is] = [distance(old, other), distance(event, other)];
    acts.pan(dx / 2, dy / 2);
    if (was > 0) acts.zoom(is / was, { clientX: (event.clientX + other.clientX) / 2, clientY: (event.clientY + other.clientY) / 2 });
  });
  const up = (event: PointerEvent) => {
    if (event.type === "pointerup" && fingers.size === 1 && moved < CLICK) acts.act(event);
    fingers.delete(event.pointerId);
  };
  on("pointerup", up);
  on("pointercancel", up);
  on("pointerleave", () => acts.look(null));
  on("dblclick", () => acts.whole());
  on("wheel", (event) => {
    event.preventDefault();
    acts.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event);
  });
  on("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const arrow = ARROWS[event.key];
    if (arrow && (event.shiftKey || editing())) acts.cross(...arrow);
    else if (arrow) acts.pan(-40 * arrow[0], 40 * arrow[1]);
    else if (event.key === "+" || event.key === "=") acts.zoom(1.3, null);
    else if (event.key === "-") acts.zoom(1 / 1.3, null);
    else if (event.key === "0") acts.whole();
    else if (event.key === "Enter") acts.enter();
    else if (event.key === "Escape") acts.escape();
    else return;
    event.preventDefault();
  });
  return () => end.abort();
}

/** Where a cross comes to that moves by a fiftieth of the window. */
export function stepped([u, v]: [number, number], dx: number, dy: number, zoom: number): [number, number] {
  return [clamp(u + (0.02 * dx) / zoom), clamp(v + (0.02 * dy) / zoom)];
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
}
