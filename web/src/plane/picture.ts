/** The picture of a partition while it is panned and zoomed.
 *
 * Moving and scaling a picture in GPU memory is cheap, however many regions it has. So a move shows the last complete
 * picture, and after the move a sharp one is drawn, in parts that a new move can interrupt. If drawing is fast, every frame
 * is redrawn.
 */

import { Painter, type Target, type View } from "./gl";

/** Largest time in milliseconds for a picture to be redrawn in every frame of a move. */
const QUICK = 20;

/** Milliseconds between checks whether the GPU is done. */
const LOOK = 4;

/** Milliseconds of rest after which a move has ended. */
const STILL = 100;

/** Number of triangles and segments drawn at a time. */
const PART = 25_000;

export class Picture {
  readonly painter: Painter;
  private sharp: Target | null = null; // the last whole picture
  private wide: Target | null = null; // the last one of the whole box: what a move uncovers
  private begun: Target | null = null; // what is being drawn in parts
  private stale = true; // whether all these are of another network
  private cost = Infinity; // milliseconds that the first whole picture of this network took, once it is done
  private timer = 0;
  private last: View | null = null;
  private moved = 0;

  /** `done` is called when the GPU has drawn the first picture of what was changed. */
  constructor(canvas: HTMLCanvasElement, private readonly done: () => void, lost: () => void, restored: () => void) {
    const forget = () => {
      this.sharp = this.wide = this.begun = null;
      this.stale = true;
      lost();
    };
    this.painter = new Painter(canvas, forget, restored);
  }

  /** What is drawn has changed. */
  change(): void {
    this.stale = true;
    this.abandon();
  }

  resize(width: number, height: number, ratio: number): void {
    this.painter.resize(width, height, ratio);
    for (const target of new Set([this.sharp, this.wide])) if (target) this.painter.drop(target);
    this.sharp = this.wide = null;
    this.change();
  }

  /** Put the best picture there is of a view onto the canvas: the ms after which to come again for a better, 0 for none. */
  paint(view: View): number {
    const { painter } = this;
    if (painter.lost) return 0;
    const now = performance.now();
    if (!this.last || !same(this.last, view)) [this.last, this.moved] = [view, now];
    const later = this.stale || !this.sharp || !same(this.sharp.view, view) ? this.draw(view, now) : 0;
    const pictures = [this.sharp!];
    if (this.wide && this.wide !== this.sharp && !covers(this.sharp!.view, view, painter.canvas)) pictures.unshift(this.wide);
    painter.show(pictures, view);
    return later;
  }

  private draw(view: View, now: number): number {
    const { painter } = this;
    if (this.stale || !this.sharp) {
      this.begun = painter.begin(view);
      painter.advance(Infinity);
      this.cost = Infinity;
      this.watch(now);
      return this.keep(true);
    }
    if (this.cost < QUICK) {
      this.begun = painter.begin(view);
      painter.advance(Infinity);
      return this.keep(false);
    }
    const left = STILL - (now - this.moved);
    if (left > 0) {
      this.abandon();
      return left;
    }
    if (this.begun && !same(this.begun.view, view)) this.abandon();
    if (!this.begun) this.begun = painter.begin(view);
    else if (!painter.settled()) return 1;
    return painter.advance(PART) ? this.keep(false) : 1;
  }

  /** Wait for the GPU, which is only asked to draw, to learn how long it takes. */
  private watch(began: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      if (this.painter.lost) return;
      if (!this.painter.settled()) return this.watch(began);
      this.cost = performance.now() - began;
      this.done();
    }, LOOK);
  }

  close(): void {
    clearTimeout(this.timer);
    this.painter.close();
  }

  private keep(first: boolean): 0 {
    const { painter, sharp, wide, begun } = this;
    const whole = first || begun!.view.width <= painter.canvas.width;
    if (sharp && sharp !== wide) painter.drop(sharp);
    if (wide && whole) painter.drop(wide);
    if (whole) this.wide = begun;
    this.sharp = begun;
    this.begun = null;
    this.stale = false;
    return 0;
  }

  private abandon(): void {
    if (this.begun) this.painter.drop(this.begun);
    this.begun = null;
  }
}

/** Whether a picture of one view fills the window in another. */
function covers(old: View, view: View, { width, height }: HTMLCanvasElement): boolean {
  const [across, up] = [view.width / old.width, view.height / old.height];
  const left = view.x - old.x * across, low = view.y - old.y * up;
  return left <= 0 && low <= 0 && left + width * across >= width && low + height * up >= height;
}

function same(a: View, b: View): boolean {
  return a.x === b.x && a.y === b.y && a.width === b.width && a.height === b.height;
}
