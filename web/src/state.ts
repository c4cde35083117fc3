/** The state of the page, as signals; components read them, and the actions below change them. */

import { batch, computed, effect, signal } from "@preact/signals";
import { unitNumber, type Frame } from "./frame";
import { locator } from "./plane/locate";
import type { Coloring } from "./plane/mesh";
import type { Choices, Problem, Run, Status, Step } from "./types";

/** The source of frames: the report itself, or the server. */
export type Source = {
  live: boolean;
  frame(moment: number, slice: number): Promise<Frame>;
  send(message: Record<string, unknown>): void;
};

export const source = signal<Source | null>(null);
export const run = signal<Run | null>(null);
export const status = signal<Status>("idle");
export const choices = signal<Choices>({ problems: [], methods: [], where: [], when: [] }); // sent by the server
export const connected = signal(true);
export const errors = signal<Record<string, string>>({}); // by the place where they are shown
export const notice = signal("");

export const moment = signal(0); // index into run.moments
export const slice = signal(0);
export const following = signal(true); // whether to show the newest moment as it arrives
export const frame = signal<Frame | null>(null);
/** A moment of this or an earlier run that is pinned for comparison. */
export type Pinned = { run: Run; moment: number; frame: Frame; label: string };
export const pinned = signal<Pinned | null>(null);
export const busy = signal(""); // the pending request to the server
export const opening = signal(""); // name of the model that the server opens first
export const holding = signal(""); // what a pointer drags, in words
export const working = signal(0); // seconds that the server has been at work without a sign
export const STARTING = "Starting…";
export const EXPORTING = "Exporting "; // followed by what
export const waiting = signal(false); // whether a frame is late

export const unit = signal<number | null>(null); // counted through all layers
export const region = signal<number | null>(null); // the selected one
/** The point that was clicked, in units of the box. */
export const picked = signal<[number, number] | null>(null);
export const hovered = signal<number | null>(null);
/** The region under the pointer, delayed, for components that are slow to draw. */
export const looked = signal<number | null>(null);
let looking = 0;
effect(() => {
  void hovered.value;
  looking ||= window.setTimeout(() => {
    looking = 0;
    looked.value = hovered.peek();
  }, 100);
});
export const coloring = signal<Coloring>("class");
export const showData = signal(true);

const media = matchMedia("(prefers-color-scheme: dark)");
const kept = localStorageValue("creases-theme");
export const dark = signal(kept ? kept === "dark" : media.matches);
effect(() => {
  document.documentElement.dataset.theme = dark.value ? "dark" : "light";
});

export function turnTheme(): void {
  dark.value = !dark.value;
  try {
    localStorage.setItem("creases-theme", dark.value ? "dark" : "light");
  } catch {
    // a page opened from a file may have no storage
  }
}

function localStorageValue(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** The last growth step of the current network; just before one, that step. */
export const step = computed<Step | null>(() => {
  const all = run.value;
  const now = all?.moments[moment.value];
  if (!all || !now) return null;
  const next = now.kind === "before" ? all.moments[moment.value + 1]?.record : null;
  if (next != null) return all.records.find((record) => record.number === next) ?? null;
  if (now.kind === "end") return all.records.findLast((record) => !record.undone) ?? null;
  if (now.record !== null) return all.records.find((record) => record.number === now.record) ?? null;
  return all.records.findLast((record) => record.pays && record.epoch < now.epoch) ?? null;
});

/** Whether a network is shown that was never trained here: that of a model file, or of a map. */
export const untrained = computed(() => run.value?.moments.length === 1 && run.value.moments[0].kind === "end");

/** Whether the current network is the one just before a fold, whose reason is shown on it. */
export const isBefore = computed(() => {
  const now = run.value?.moments[moment.value];
  return now?.kind === "before" && !!step.value && step.value.epoch === now.epoch && step.value.marks.instance !== undefined;
});

/** Whether the current moment is a growth step or just before one, not the training after it. */
export const atStep = computed(() => run.value?.moments[moment.value]?.record != null || isBefore.value);

/** Of each unit of the current network, the growth step that added it; 0 for none. */
export const stepNumbers = computed<number[]>(() => run.value?.moments[moment.value]?.steps ?? []);

/** The network before the growth step that is shown, whose boundary is drawn for comparison. */
export const earlier = signal<Frame | null>(null);

/** The newest units of the current network, counted through all layers. */
export const newest = computed<number[]>(() => {
  const now = frame.value;
  const grown = step.value;
  if (!now || !grown) return [];
  return grown.units.map((index) => unitNumber(now.layers, grown.place, index)).filter((u) => u >= 0);
});

export function goTo(index: number): void {
  const last = (run.value?.moments.length ?? 1) - 1;
  batch(() => {
    moment.value = Math.max(0, Math.min(last, index));
    following.value = moment.value === last;
  });
}

/** Go to the moment right after a growth step. */
export function goToStep(number: number): void {
  const all = run.value;
  const record = all?.records.find((one) => one.number === number);
  if (!all || !record) return;
  let index = all.moments.findIndex((m) => m.record === number);
  if (index < 0) index = all.moments.findIndex((m) => m.record !== null && m.epoch === record.epoch); // several layers at once
  goTo(index >= 0 ? index : all.moments.findIndex((m) => m.epoch > record.epoch)); // long runs do not keep every moment
}

/** Go to the previous (-1) or next (1) growth step. */
export function nextStep(direction: 1 | -1): void {
  const moments = run.value?.moments ?? [];
  for (let i = moment.value + direction; i >= 0 && i < moments.length; i += direction)
    if (moments[i].record !== null) return goTo(i);
  goTo(direction > 0 ? moments.length - 1 : 0);
}

let wanted = 0;
effect(() => {
  const from = source.value;
  const now = run.value?.moments[moment.value];
  if (!from || !now) return;
  const ticket = ++wanted;
  const late = setTimeout(() => (waiting.value = ticket === wanted), 300);
  from.frame(now.id, slice.value).then(
    (found) => {
      clearTimeout(late);
      if (ticket !== wanted) return;
      batch(() => {
        waiting.value = false;
        const selected = follow(frame.peek(), found);
        frame.value = found;
        hovered.value = null;
        region.value = selected;
        if (selected === null || found.kind === "line") picked.value = null;
        const units = found.layers.reduce((sum, layer) => sum + layer.width, 0);
        if (unit.value !== null && unit.value >= units) unit.value = null;
        earlier.value = null;
      });
      const before = run.peek()?.moments[moment.peek() - 1];
      if (now.kind === "grown" && before?.kind === "before")
        from.frame(before.id, slice.peek()).then((old) => ticket === wanted && (earlier.value = old), () => undefined);
    },
    (problem: Error) => {
      clearTimeout(late);
      waiting.value = false;
      say("plane", problem.message);
    },
  );
});

/** The region of a new frame at the place that is selected in the frame before, so that a run does not lose it. */
function follow(before: Frame | null, now: Frame): number | null {
  const chosen = region.peek();
  if (chosen === null || !before) return null;
  if (now.kind === "line") {
    if (before.kind !== "line" || chosen >= before.regions) return null;
    const middle = (before.x[chosen] + before.x[chosen + 1]) / 2;
    const found = now.x.findIndex((x, k) => k < now.regions && x <= middle && middle <= now.x[k + 1]);
    return found < 0 ? null : found;
  }
  const at = picked.peek();
  const same = before.kind === "plane" && before.box.flat().every((end, k) => end === now.box.flat()[k]);
  const found = at && same ? locator(now).at(at[0], at[1]) : -1;
  return found < 0 ? null : found;
}

export function say(place: string, message: string): void {
  errors.value = { ...errors.value, [place]: message };
}

/** Send a request to the server; `what` is shown until the answer, and the error at `place` is cleared. */
export function ask(message: Record<string, unknown>, what: string, place: string): void {
  say(place, "");
  busy.value = what;
  source.value?.send(message);
}

/** A number to read: 0.0123, 45.6, 64,300; powers of ten only for the very small and the very large. */
export function number(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e12 || size < 1e-4) return value.toExponential(2).replaceAll("-", "−");
  const rounded = Number(value.toPrecision(digits));
  return (size >= 1e4 ? rounded.toLocaleString("en") : String(rounded)).replace("-", "−");
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 5 });

/** A number beside an axis, short: 100k, 1.5M. */
export function tick(value: number, digits = 5): string {
  const size = Math.abs(value);
  return size >= 1e4 && size < 1e15 ? COMPACT.format(Number(value.toPrecision(digits))).replace("K", "k").replace("-", "−") : number(value, digits);
}

/** What one sample of a problem is called. */
export function noun({ target, features }: Problem): string {
  return target || features.length > 2 ? "row" : "point";
}

/** A count with its noun: 1 region, 3 regions. */
export function count(size: number, noun: string): string {
  return `${size.toLocaleString("en")} ${noun}${size === 1 ? "" : "s"}`;
}
