/** The plane on its canvas: scheduling of drawing, and reactions to pointer and keys. */

import { effect, untracked } from "@preact/signals";
import { classColor, css, paper, rgb, valueColor } from "../colors";
import type { PlaneFrame } from "../frame";
import { atStep, coloring, dark, earlier, hovered, newest, picked, region, run, showData, step, stepNumbers, unit } from "../state";
import type { Problem } from "../types";
import { camera, inBox, MARGIN, pan, place, WHOLE, zoomAt, type Placed } from "./camera";
import { nearestFlip, scales, type Flip } from "./flip";
import { listen, stepped } from "./gestures";
import { solidity, valueScale } from "./points";
import { locator } from "./locate";
import { boundary, creases, sheet } from "./mesh";
import { outline } from "./outline";
import { drawAxes, drawMarks, frameColumns, plain } from "./overlay";
import { Picture } from "./picture";

/** The editor of drawn points: all points, and a function to add one. */
export type Editor = { add(point: [number, number]): void; points: { x: number[]; label: number }[] };

/** The content of a stage; `second` is a pinned picture, in which nothing can be selected. */
export type Shown = { frame: PlaneFrame; problem: Problem; editor?: Editor; second: boolean };

/** Measurements for tests: milliseconds until the first complete picture, and the number of frames drawn. */
export const timing = { first: 0, frames: 0 };

const NONE: number[] = [];

/** Pixels from a click within which a sample is meant. */
const SNAP = 9;

const RESET = "The graphics driver was reset. The map should return in a moment; if not, reload the page.";

export class Stage {
  private readonly picture: Picture;
  private readonly marks: HTMLCanvasElement;
  private readonly across: HTMLCanvasElement;
  private readonly up: HTMLCanvasElement;
  private readonly chosen: HTMLCanvasElement;
  private readonly under: HTMLCanvasElement;
  private readonly stops: (() => void)[] = [];
  private shown: Shown | null = null;
  private size: [number, number] = [0, 0];
  private cursor: [number, number] | null = null;
  private pending = 0;
  private timer = 0;

  constructor(private readonly holder: HTMLElement, tell: (message: string) => void) {
    const [canvas, ...others] = holder.querySelectorAll("canvas");
    [this.marks, this.chosen, this.under, this.across, this.up] = others;
    this.picture = new Picture(
      canvas,
      () => {
        if (this.shown && this.shown.frame.moment >= 0) timing.first ||= performance.now();
      },
      () => tell(RESET),
      () => {
        tell("");
        this.load();
        this.loadPoints();
      },
    );
    const watch = new ResizeObserver(() => this.resize());
    watch.observe(holder);
    this.stops.push(
      () => watch.disconnect(),
      this.listen(),
      effect(() => {
        void [coloring.value, dark.value];
        untracked(() => this.load());
      }),
      effect(() => {
        void [showData.value, dark.value];
        untracked(() => this.loadPoints());
      }),
      effect(() => {
        void [unit.value, camera.value, step.value, atStep.value, dark.value, newest.value, stepNumbers.value, earlier.value];
        this.soon();
      }),
      effect(() => {
        void [hovered.value, region.value];
        untracked(() => this.outlines());
      }),
    );
    this.resize();
  }

  close(): void {
    for (const stop of this.stops) stop();
    cancelAnimationFrame(this.pending);
    clearTimeout(this.timer);
    this.picture.close();
  }

  show(shown: Shown): void {
    const old = this.shown;
    this.shown = shown;
    if (old && JSON.stringify(shown.frame.box) !== JSON.stringify(old.frame.box) && !shown.second) camera.value = WHOLE;
    if (old?.frame !== shown.frame) this.load();
    this.loadPoints();
  }

  private load(): void {
    if (!this.shown) return;
    const { frame, problem } = this.shown;
    const tones = paper(dark.peek());
    const names = problem.classes?.length ?? 1;
    this.picture.painter.load(sheet(frame, coloring.peek(), tones, names, valueScale(problem)), creases(frame, tones), boundary(frame, tones), tones.paper);
    this.picture.change();
    this.soon();
  }

  private loadPoints(): void {
    if (!this.shown) return;
    const { positions, colors } = dots(this.shown, showData.peek());
    this.picture.painter.loadPoints(positions, colors);
    this.picture.change();
    this.soon();
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (!width || !height || (width === this.size[0] && height === this.size[1])) return;
    this.size = [width, height];
    const ratio = pixels();
    const [across, up] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
    const put = (canvas: HTMLCanvasElement, left: number, top: number, wide: number, high: number) => {
      [canvas.width, canvas.height] = [Math.max(1, Math.round(wide * ratio)), Math.max(1, Math.round(high * ratio))];
      canvas.style.cssText = `left:${left}px;top:${top}px;width:${canvas.width / ratio}px;height:${canvas.height / ratio}px`;
    };
    const { canvas } = this.picture.painter;
    put(canvas, MARGIN.left, MARGIN.top, across, up);
    put(this.marks, MARGIN.left, MARGIN.top, across, up);
    put(this.across, 0, height - MARGIN.bottom, width, MARGIN.bottom);
    put(this.up, 0, 0, MARGIN.left, height - MARGIN.bottom + 8); // half a line more: the lowest number
    this.picture.resize(canvas.width, canvas.height, ratio);
    this.paint(); // at once: a canvas of another size is empty
  }

  private soon(): void {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }

  private paint(): void {
    if (!this.shown || !this.size[0]) return;
    const { frame, problem, editor, second } = this.shown;
    const ratio = pixels();
    const placed = this.placed();
    const low = this.size[1] - MARGIN.bottom;
    const view = { x: (placed.x - MARGIN.left) * ratio, y: (low - placed.y) * ratio, width: placed.width * ratio, height: placed.height * ratio };
    const later = this.picture.paint(view);
    clearTimeout(this.timer);
    if (later) this.timer = window.setTimeout(() => this.soon(), later);
    // While another run comes in, what it says of its units and rows is not about what is still shown.
    const other = second || !!editor || run.peek()?.problem !== problem;
    const lit = other ? [] : unit.peek() !== null ? [unit.peek()!] : atStep.peek() ? newest.peek() : [];
    const drawn = {
      frame,
      placed,
      size: this.size,
      paper: paper(dark.peek()),
      units: lit,
      numbers: other ? NONE : stepNumbers.peek(),
      earlier: !other && earlier.peek()?.kind === "plane" ? (earlier.peek() as PlaneFrame) : null,
      step: atStep.peek() && !other ? step.peek() : null,
      problem,
      columns: frameColumns(frame, problem.features),
      cursor: this.cursor,
      flip: this.flip(other),
    };
    drawAxes(plain(this.across, ratio, 0, MARGIN.bottom - this.size[1]), plain(this.up, ratio, 0, 0), drawn);
    this.marks.hidden = !lit.length && !drawn.numbers.length && !drawn.step && !drawn.cursor && !drawn.flip; // a canvas less to compose where there is nothing on it
    if (!this.marks.hidden) drawMarks(plain(this.marks, ratio, -MARGIN.left, -MARGIN.top), drawn);
    this.outlines();
    timing.frames++;
  }

  /** The nearest change of decision of the point that was clicked. */
  private flip(other: boolean): Flip | null {
    const { frame, problem } = this.shown!;
    return other || !picked.peek() || !problem.classes ? null : nearestFlip(frame, picked.peek()!, scales(frame, problem));
  }

  /** The sample within a few pixels of a point, or the point itself. */
  private snap(at: [number, number]): [number, number] {
    const { frame, problem } = this.shown!;
    const placed = this.placed(), { positions } = dots({ frame, problem, second: false }, showData.peek());
    let best = SNAP, found = at;
    for (let i = 0; i < positions.length; i += 2) {
      const away = Math.hypot((positions[i] - at[0]) * placed.width, (positions[i + 1] - at[1]) * placed.height);
      if (away < best) [best, found] = [away, [positions[i], positions[i + 1]]];
    }
    return found;
  }

  private outlines(): void {
    if (!this.shown || !this.size[0] || this.shown.second) return;
    const { frame } = this.shown;
    const placed = this.placed();
    const { ink, paper: edge } = paper(dark.peek());
    outline(this.chosen, frame, placed, this.size, region.peek(), { ink, edge: css(edge), width: 3 });
    outline(this.under, frame, placed, this.size, hovered.peek(), { ink, edge: css(edge), width: 1.6 });
  }

  private placed(): Placed {
    return place(this.shown!.frame, this.size, camera.peek());
  }

  /** A point of the page in units of the box. */
  private inUnits(event: { clientX: number; clientY: number }): [number, number] {
    const bounds = this.holder.getBoundingClientRect();
    const placed = this.placed();
    return [(event.clientX - bounds.left - placed.x) / placed.width, (placed.y - (event.clientY - bounds.top)) / placed.height];
  }

  private pick([u, v]: [number, number]): number | null {
    const found = locator(this.shown!.frame).at(u, v);
    return found < 0 ? null : found;
  }

  private act(at: [number, number]): void {
    const { frame, editor, second } = this.shown!;
    if (editor) {
      if (Math.min(...at) < 0 || Math.max(...at) > 1) return;
      const [[x0, x1], [y0, y1]] = frame.box;
      editor.add([x0 + at[0] * (x1 - x0), y0 + at[1] * (y1 - y0)]);
    } else if (!second) {
      const found = this.pick(at);
      const again = found === null || (found === region.value && picked.peek() !== null);
      region.value = again ? null : found;
      picked.value = again ? null : this.snap(at);
      this.soon();
    }
  }

  private look(at: [number, number] | null): void {
    if (this.shown!.second || this.shown!.editor) return;
    hovered.value = at && this.pick(at);
  }

  private listen(): () => void {
    const acts = {
      look: (at: { clientX: number; clientY: number } | null) => {
        if (this.cursor) this.soon();
        this.cursor = null;
        this.look(at && this.inUnits(at));
      },
      act: (at: { clientX: number; clientY: number }) => this.act(this.inUnits(at)),
      pan: (dx: number, dy: number) => pan(dx, dy, this.placed()),
      zoom: (by: number, at: { clientX: number; clientY: number } | null) =>
        zoomAt(by, at ? this.inUnits(at) : [camera.peek().u, camera.peek().v]),
      whole: () => (camera.value = WHOLE),
      cross: (dx: number, dy: number) => {
        const { u, v, zoom } = camera.peek();
        this.cursor = stepped(this.cursor ?? [u, v], dx, dy, zoom);
        this.look(this.cursor);
        this.soon();
      },
      enter: () => this.act(this.cursor ?? [camera.peek().u, camera.peek().v]),
      escape: () => {
        [region.value, unit.value, hovered.value, picked.value, this.cursor] = [null, null, null, null, null];
        this.soon();
      },
    };
    return listen(this.holder, acts, () => !!this.shown?.editor);
  }
}

/** The data as discs: drawn points, the rows of a plane problem, or the rows projected onto a slice (paler far from it). */
function dots({ frame, problem, editor }: Shown, wanted: boolean): { positions: Float32Array; colors: Uint8Array } {
  const { points, distance } = frame;
  const labels = editor ? editor.points.map((point) => point.label) : problem.y;
  const planar = problem.features.length === 2;
  const count = editor ? editor.points.length : !wanted ? 0 : points ? points.length / 2 : planar ? problem.X.length : 0;
  const positions = new Float32Array(2 * count);
  const colors = new Uint8Array(4 * count);
  const scale = editor ? null : valueScale(problem);
  for (let i = 0; i < count; i++) {
    if (points && !editor) positions.set(points.subarray(2 * i, 2 * i + 2), 2 * i);
    else positions.set(inBox(frame, editor ? editor.points[i].x : problem.X[i]), 2 * i);
    const solid = distance && !editor ? solidity(distance[i], frame.origin.length) : 1;
    const tone = scale ? valueColor(problem.y[i], scale, dark.peek()) : rgb(classColor(problem.classes || editor ? labels[i] : 0, dark.peek()));
    colors.set([...tone, 255 * solid], 4 * i);
  }
  return { positions, colors };
}

/** Pixels of the device for one of CSS. */
function pixels(): number {
  return Math.min(2, devicePixelRatio || 1);
}
