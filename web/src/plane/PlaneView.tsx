/** The plane with its exact regions: drawn, panned, zoomed, looked into. */

import { useEffect, useRef } from "preact/hooks";
import { effect, signal, untracked } from "@preact/signals";
import { classColour, paper, rgb } from "../colours";
import type { PlaneFrame } from "../frame";
import { atStep, colouring, dark, hovered, newest, region, run, showData, step, unit } from "../state";
import type { Problem } from "../types";
import { Painter, type View } from "./gl";
import { locator } from "./locate";
import { boundary, creases, sheet } from "./mesh";
import { drawOverlay, inBox, MARGIN, outline, type Placed } from "./overlay";

/** The shared window onto the box: its centre in units of the box, and how much it is enlarged. */
const camera = signal({ u: 0.5, v: 0.5, zoom: 1 });

/** Before there is any problem: a plane of x and y. */
const EMPTY: Problem = { name: "", about: "", task: "classification", features: ["x", "y"], classes: null, X: [], y: [], split: [] };

export type Editor = { add(point: [number, number]): void; points: { x: number[]; label: number }[] };

type Props = { frame: PlaneFrame; label: string; second?: boolean; editor?: Editor };

/** Times in ms that tests read: since the page began until the first whole picture, and the last full redraw. */
export const timing = { first: 0, redraw: 0, frames: 0 };

export function PlaneView({ frame, label, second = false, editor }: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const view = useRef<Stage | null>(null);
  const problem = useRef<HTMLParagraphElement>(null);

  useEffect(() => {
    try {
      view.current = new Stage(holder.current!, second);
    } catch (caught) {
      problem.current!.textContent = (caught as Error).message;
      return;
    }
    return () => view.current?.close();
  }, []);
  useEffect(() => view.current?.show(frame), [frame]);
  useEffect(() => view.current?.edit(editor), [editor]);

  const columns = (run.value?.problem ?? EMPTY).features;
  const told =
    `${label}: ${frame.regions} regions of the plane of ${columns[0]} and ${columns[1]}. ` +
    "Arrows move, plus and minus zoom, 0 shows all; with Shift arrows move a cross that looks into regions, Enter selects.";
  return (
    <div class="plane" ref={holder} tabIndex={0} role="application" aria-label={told}>
      <div class="window">
        <canvas class="sheet" aria-hidden="true" />
      </div>
      <div class="window clip">
        <svg class="outlines selected" aria-hidden="true"><path /></svg>
        <svg class="outlines" aria-hidden="true"><path /></svg>
      </div>
      <canvas class="overlay" aria-hidden="true" />
      <p class="error" ref={problem} role="alert" />
    </div>
  );
}

class Stage {
  private readonly painter: Painter;
  private readonly glCanvas: HTMLCanvasElement;
  private readonly overlay: HTMLCanvasElement;
  private readonly stops: (() => void)[] = [];
  private frame: PlaneFrame | null = null;
  private editor: Editor | undefined;
  private size: [number, number] = [0, 0];
  private cursor: [number, number] | null = null;
  private pending = 0;
  private began = 0;
  private readonly fingers = new Map<number, [number, number]>();
  private moved = 0;

  constructor(private readonly holder: HTMLElement, private readonly second: boolean) {
    [this.glCanvas, this.overlay] = holder.querySelectorAll("canvas");
    this.painter = new Painter(this.glCanvas);
    const watch = new ResizeObserver(() => this.resize());
    watch.observe(holder);
    this.stops.push(() => watch.disconnect());
    this.listen();
    this.resize();
    this.stops.push(
      effect(() => {
        void [colouring.value, dark.value];
        untracked(() => this.load());
      }),
      effect(() => {
        void [showData.value, dark.value];
        untracked(() => this.loadPoints());
      }),
      effect(() => {
        void [unit.value, camera.value, step.value, atStep.value, dark.value, newest.value];
        this.soon();
      }),
      effect(() => {
        void [hovered.value, region.value];
        this.outlines();
      }),
    );
  }

  close(): void {
    for (const stop of this.stops) stop();
    cancelAnimationFrame(this.pending);
  }

  show(frame: PlaneFrame): void {
    const sameBox = JSON.stringify(frame.box) === JSON.stringify(this.frame?.box);
    this.frame = frame;
    if (!sameBox && !this.second) camera.value = { u: 0.5, v: 0.5, zoom: 1 };
    this.load();
    this.loadPoints();
  }

  edit(editor: Editor | undefined): void {
    this.editor = editor;
    this.loadPoints();
  }

  private load(): void {
    if (!this.frame) return;
    const tones = paper(dark.peek());
    const names = run.peek()?.problem.classes?.length ?? 1;
    this.painter.load(sheet(this.frame, colouring.peek(), tones, names), creases(this.frame, tones), boundary(this.frame, tones), tones.paper);
    this.began = performance.now();
    this.soon();
  }

  private loadPoints(): void {
    if (!this.frame) return;
    const problem = run.peek()?.problem ?? EMPTY;
    const drawn = this.editor?.points.map(({ x, label }) => ({ x, y: label }));
    const planar = problem.features.length === 2 && showData.peek();
    const rows = drawn ?? (planar ? problem.X.map((x, i) => ({ x, y: problem.y[i] })) : []);
    const positions = new Float32Array(2 * rows.length);
    const colours = new Uint8Array(4 * rows.length);
    rows.forEach(({ x, y }, i) => {
      positions.set(inBox(this.frame!, x), 2 * i);
      colours.set([...rgb(classColour(problem.classes || drawn ? y : 0)), 255], 4 * i);
    });
    this.painter.loadPoints(positions, colours);
    this.soon();
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (!width || !height || (width === this.size[0] && height === this.size[1])) return;
    this.size = [width, height];
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.overlay.width = width * ratio;
    this.overlay.height = height * ratio;
    const inner = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom].map((s) => Math.max(1, Math.round(s * ratio)));
    const place = `width:${inner[0] / ratio}px;height:${inner[1] / ratio}px`;
    this.glCanvas.parentElement!.style.cssText = `left:${MARGIN.left}px;top:${MARGIN.top}px;${place}`;
    this.glCanvas.style.cssText = place;
    this.holder.querySelector<HTMLElement>(".clip")!.style.cssText = `left:${MARGIN.left}px;top:${MARGIN.top}px;${place}`;
    this.painter.resize(inner[0], inner[1], ratio);
    this.soon();
  }

  private soon(): void {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }

  private paint(): void {
    if (!this.frame || !this.size[0]) return;
    const ratio = Math.min(2, devicePixelRatio || 1);
    const placed = this.placed();
    const inner = this.size[1] - MARGIN.bottom;
    const view = {
      x: (placed.x - MARGIN.left) * ratio,
      y: (inner - placed.y) * ratio,
      width: placed.width * ratio,
      height: placed.height * ratio,
    };
    const held = this.painter.paint(view);
    if (held) this.move(held, view, ratio);
    const whole = this.painter.current(view);
    timing.frames++;
    if (!whole) this.soon();
    else if (this.began && !this.painter.settled()) this.soon();
    else if (this.began) {
      timing.redraw = performance.now() - this.began;
      if (this.frame.moment >= 0) timing.first ||= performance.now();
      this.began = 0;
    }
    this.outlines();
    // Drawn by the CPU: it is little, and GPUs in software are slow with text.
    const context = this.overlay.getContext("2d", { willReadFrequently: true })!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const problem = run.peek()?.problem ?? EMPTY;
    const columns = frameColumns(this.frame, problem.features);
    const lit = [...(unit.peek() === null ? [] : [unit.peek()!])];
    if (atStep.peek() && !this.second && !lit.length) lit.push(...newest.peek());
    drawOverlay(context, {
      frame: this.frame,
      placed,
      size: this.size,
      paper: paper(dark.peek()),
      units: this.editor ? [] : lit,
      step: atStep.peek() && !this.second && !this.editor ? step.peek() : null,
      problem,
      columns,
      cursor: this.cursor,
    });
  }

  /** Move the picture on the canvas to where it belongs now: the browser does so faster than it could be drawn. */
  private move(held: View, view: View, ratio: number): void {
    const [across, up] = [view.width / held.width, view.height / held.height];
    const x = (view.x - held.x * across) / ratio;
    const height = this.glCanvas.height;
    const y = (height - view.y - (height - held.y) * up) / ratio;
    this.glCanvas.style.transform = `matrix(${across},0,0,${up},${x},${y})`;
  }

  /** Outline the regions pointed at and clicked: not on the canvas, so that pointing redraws next to nothing. */
  private outlines(): void {
    if (!this.frame || !this.size[0] || this.second) return;
    const placed = this.placed();
    const [selected, under] = this.holder.querySelectorAll<SVGElement>(".outlines");
    fit(selected, outline(this.frame, placed, region.peek()));
    fit(under, outline(this.frame, placed, hovered.peek()));
  }

  /** Where the box lies on the canvas. */
  private placed(): Placed {
    const [[x0, x1], [y0, y1]] = this.frame!.box;
    const shape = Math.max(0.25, Math.min(4, (x1 - x0) / (y1 - y0)));
    const [width, height] = [this.size[0] - MARGIN.left - MARGIN.right, this.size[1] - MARGIN.top - MARGIN.bottom];
    const { u, v, zoom } = camera.peek();
    const across = Math.min(width, height * shape) * zoom;
    const up = across / shape;
    return { x: MARGIN.left + width / 2 - u * across, y: MARGIN.top + height / 2 + v * up, width: across, height: up };
  }

  private inUnits(event: { clientX: number; clientY: number }): [number, number] {
    const bounds = this.holder.getBoundingClientRect();
    const placed = this.placed();
    return [(event.clientX - bounds.left - placed.x) / placed.width, (placed.y - (event.clientY - bounds.top)) / placed.height];
  }

  private pick([u, v]: [number, number]): number | null {
    if (!this.frame) return null;
    const found = locator(this.frame).at(u, v);
    return found < 0 ? null : found;
  }

  private pan(dx: number, dy: number): void {
    const placed = this.placed();
    const { u, v, zoom } = camera.value;
    camera.value = { u: clamp(u - dx / placed.width), v: clamp(v + dy / placed.height), zoom };
  }

  /** Zoom so that the point under the pointer stays. */
  private zoom(by: number, [u, v]: [number, number]): void {
    const old = camera.value;
    const zoom = Math.max(0.5, Math.min(5000, old.zoom * by));
    const share = old.zoom / zoom;
    camera.value = { u: clamp(u + (old.u - u) * share), v: clamp(v + (old.v - v) * share), zoom };
  }

  private act(at: [number, number]): void {
    if (this.editor) {
      if (Math.min(...at) < 0 || Math.max(...at) > 1) return;
      const [[x0, x1], [y0, y1]] = this.frame!.box;
      this.editor.add([x0 + at[0] * (x1 - x0), y0 + at[1] * (y1 - y0)]);
    } else if (!this.second) {
      const found = this.pick(at);
      region.value = found === region.value ? null : found;
    }
  }

  private listen(): void {
    const { holder, fingers } = this;
    const on = <K extends keyof HTMLElementEventMap>(name: K, act: (event: HTMLElementEventMap[K]) => void, options?: AddEventListenerOptions) => {
      holder.addEventListener(name, act, options);
      this.stops.push(() => holder.removeEventListener(name, act, options));
    };
    on("pointerdown", (event) => {
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      holder.setPointerCapture(event.pointerId);
      if (fingers.size === 1) this.moved = 0;
    });
    on("pointermove", (event) => {
      const old = fingers.get(event.pointerId);
      this.cursor = null;
      if (!old) {
        if (!this.second && !this.editor) hovered.value = this.pick(this.inUnits(event));
        return;
      }
      const [dx, dy] = [event.clientX - old[0], event.clientY - old[1]];
      this.moved += Math.abs(dx) + Math.abs(dy);
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      if (this.moved < 5) return;
      if (!other) return this.pan(dx, dy);
      const [was, is] = [Math.hypot(old[0] - other[0], old[1] - other[1]), Math.hypot(event.clientX - other[0], event.clientY - other[1])];
      this.pan(dx / 2, dy / 2);
      if (was > 0) this.zoom(is / was, this.inUnits({ clientX: (event.clientX + other[0]) / 2, clientY: (event.clientY + other[1]) / 2 }));
    });
    const up = (event: PointerEvent) => {
      if (event.type === "pointerup" && fingers.size === 1 && this.moved < 5) this.act(this.inUnits(event));
      fingers.delete(event.pointerId);
    };
    on("pointerup", up);
    on("pointercancel", up);
    on("pointerleave", () => {
      if (!this.second) hovered.value = null;
    });
    on("dblclick", () => (camera.value = { u: 0.5, v: 0.5, zoom: 1 }));
    on("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), this.inUnits(event));
    }, { passive: false });
    on("keydown", (event) => this.key(event));
  }

  private key(event: KeyboardEvent): void {
    const arrows: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const arrow = arrows[event.key];
    const { u, v, zoom } = camera.value;
    if (arrow && (event.shiftKey || this.editor)) {
      const from = this.cursor ?? [u, v];
      this.cursor = [clamp(from[0] + (0.02 * arrow[0]) / zoom), clamp(from[1] + (0.02 * arrow[1]) / zoom)];
      if (!this.editor) hovered.value = this.pick(this.cursor);
      this.soon();
    } else if (arrow) this.pan(-40 * arrow[0], 40 * arrow[1]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.3, [u, v]);
    else if (event.key === "-") this.zoom(1 / 1.3, [u, v]);
    else if (event.key === "0") camera.value = { u: 0.5, v: 0.5, zoom: 1 };
    else if (event.key === "Enter" && this.cursor) this.act(this.cursor);
    else if (event.key === "Escape") [region.value, unit.value, this.cursor] = [null, null, null];
    else return;
    event.preventDefault();
  }
}

/** The names of a slice's axes: inputs where it runs along them, else t1 and t2. */
export function frameColumns(frame: PlaneFrame, features: string[]): [string, string] {
  return [0, 1].map((axis) => {
    const along = frame.basis.map((row) => row[axis]);
    const one = along.filter((value) => value !== 0).length === 1 ? along.findIndex((value) => value === 1) : -1;
    return one >= 0 ? (features[one] ?? `x${one + 1}`) : `t${axis + 1}`;
  }) as [string, string];
}

/** Show a closed outline, its drawing no larger than itself. */
function fit(svg: SVGElement, points: number[]): void {
  svg.style.display = points.length ? "" : "none";
  if (!points.length) return;
  const xs = points.filter((_, i) => i % 2 === 0), ys = points.filter((_, i) => i % 2 === 1);
  const [x, y] = [Math.floor(Math.min(...xs)) - 3, Math.floor(Math.min(...ys)) - 3];
  const [width, height] = [Math.ceil(Math.max(...xs)) + 3 - x, Math.ceil(Math.max(...ys)) + 3 - y];
  svg.style.cssText = `transform:translate(${x - MARGIN.left}px,${y - MARGIN.top}px);width:${width}px;height:${height}px`;
  const path = xs.map((px, i) => `${i ? "L" : "M"}${(px - x).toFixed(1)} ${(ys[i] - y).toFixed(1)}`).join("");
  svg.firstElementChild!.setAttribute("d", `${path}Z`);
}

function clamp(value: number): number {
  return Math.max(0, Math.min(1, value));
}
