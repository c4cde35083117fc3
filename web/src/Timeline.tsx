/** The run in time: a tick for every growth step; drag it, or use the keys. */

import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { atStep, following, frame, goTo, moment, nextStep, run, source, status, stepNumbers } from "./state";
import type { Moment } from "./types";

const playing = signal(false);

/** Milliseconds from one moment to the next; a fold with its reason stays four times as long. */
const PACE = 350;

export function Timeline() {
  const track = useRef<HTMLDivElement>(null);
  const moments = run.value?.moments ?? [];
  const last = moments.length - 1;

  useEffect(() => {
    if (!playing.value) return;
    const timer = setTimeout(() => {
      if (moment.value >= (run.value?.moments.length ?? 0) - 1) playing.value = false;
      else goTo(moment.value + 1);
    }, atStep.value && stepNumbers.value.length ? 4 * PACE : PACE);
    return () => clearTimeout(timer);
  }, [playing.value, moment.value]);

  if (last < 1) return <div class="timeline quiet">The timeline fills in as the network trains and grows.</div>;
  const now = moments[moment.value];
  const end = Math.max(1, ...moments.map((m) => m.epoch));
  const at = (m: Moment) => (m.kind === "end" ? 1 : (0.97 * m.epoch) / end);

  const drag = (event: PointerEvent) => {
    const bounds = track.current!.getBoundingClientRect();
    const share = (event.clientX - bounds.left) / bounds.width;
    let best = 0;
    moments.forEach((m, i) => {
      const gain = Math.abs(at(moments[best]) - share) - Math.abs(at(m) - share);
      if (gain > 1e-9 || (gain > -1e-9 && m.record !== null)) best = i;
    });
    goTo(best);
  };
  const key = (event: KeyboardEvent) => {
    const moves: Record<string, () => void> = {
      ArrowLeft: () => goTo(moment.value - 1),
      ArrowRight: () => goTo(moment.value + 1),
      ArrowDown: () => goTo(moment.value - 1),
      ArrowUp: () => goTo(moment.value + 1),
      PageDown: () => nextStep(1),
      PageUp: () => nextStep(-1),
      Home: () => goTo(0),
      End: () => goTo(last),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  };
  const start = () => {
    if (!playing.value && moment.value === last) goTo(0);
    playing.value = !playing.value;
  };
  return (
    <div class="timeline">
      <div class="buttons">
        <button onClick={() => nextStep(-1)} aria-label="Previous growth step" title="Previous growth step">‹</button>
        <button class="play" onClick={start} aria-pressed={playing.value}>{playing.value ? "Pause" : "Play"}</button>
        <button onClick={() => nextStep(1)} aria-label="Next growth step" title="Next growth step">›</button>
      </div>
      <div
        class="track"
        ref={track}
        role="slider"
        tabIndex={0}
        aria-label="Timeline: arrow keys move through the run, Page Up and Page Down jump between growth steps"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={moment.value}
        aria-valuetext={describe(now)}
        onKeyDown={key}
        onPointerDown={(event) => {
          playing.value = false;
          track.current!.setPointerCapture(event.pointerId);
          drag(event);
        }}
        onPointerMove={(event) => event.buttons && drag(event)}
      >
        <div class="rail" />
        <div class="past" style={{ width: `${100 * at(now)}%` }} />
        {moments.map((m) => m.record !== null && (
          <i
            key={m.id}
            class={run.value!.records.find((r) => r.number === m.record)?.undone ? "step undone" : "step"}
            style={{ left: `${100 * at(m)}%` }}
            title={`growth step ${m.record}`}
          />
        ))}
        <b class="thumb" style={{ left: `${100 * at(now)}%` }} />
      </div>
      <output class="when">
        {describe(now)}
        {source.value!.live && status.value === "running" && !following.value && (
          <button class="link" onClick={() => goTo(last)}>Jump to latest</button>
        )}
      </output>
    </div>
  );
}

function describe(now: Moment): string {
  const what = frame.value?.kind === "line" ? "piece" : "region";
  const regions = now.regions === null ? "" : `: ${now.regions.toLocaleString("en")} ${what}${now.regions === 1 ? "" : "s"}`;
  if (now.kind === "start") return `Start${regions}`;
  if (now.kind === "end" && now.epoch === 0) return `Final network: the linear model${regions}`;
  if (now.kind === "end") return `Final network, from epoch ${now.epoch}${regions}`;
  if (now.kind === "grown") return `Growth step ${now.record}, epoch ${now.epoch}${regions}`;
  return `Epoch ${now.epoch}${now.kind === "before" ? ", just before growth" : ""}${regions}`;
}
