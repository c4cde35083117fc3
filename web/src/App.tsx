/** The page: problem and controls, the picture in time, the network and the reasons. */

import { useMemo } from "preact/hooks";
import { About, Sections } from "./About";
import { Card, StepList } from "./Card";
import { MethodPanel, RunPanel, SlicePanel } from "./Controls";
import { Curves } from "./Curves";
import { brush, draft, drawn } from "./draft";
import type { Frame } from "./frame";
import { LineView } from "./LineView";
import { NetworkDrawing } from "./NetworkDrawing";
import { blank } from "./plane/blank";
import type { Colouring } from "./plane/mesh";
import { PlaneView, type Editor } from "./plane/PlaneView";
import { ProblemPanel } from "./ProblemPanel";
import { ClassName, RegionInfo } from "./RegionInfo";
import { atStep, colouring, dark, errors, frame, moment, pinned, run, showData, slice, source, status, turnTheme, unit } from "./state";
import { Timeline } from "./Timeline";

export function App() {
  if (!source.value) return <p class="loading">{errors.value.page || "Opening…"}</p>;
  const { live } = source.value;
  return (
    <>
      <header>
        <h1>creases <span>{live ? "studio" : "report"}</span></h1>
        <p>{live ? "A network that grows where it fails, and says why." : lead()}</p>
        <button onClick={turnTheme} aria-pressed={dark.value}>{dark.value ? "Light" : "Dark"}</button>
      </header>
      <main class={live ? "studio" : "report"}>
        <aside class="left" aria-label={live ? "Problem and controls" : "About this run"}>
          {live ? <><ProblemPanel /><MethodPanel /><RunPanel /><SlicePanel /></> : <About />}
        </aside>
        <div class="middle">
          <Picture />
          <Timeline />
        </div>
        <aside class="right" aria-label="Network and reasons">
          <section aria-labelledby="why-title"><h2 id="why-title">Why this unit</h2><Card /></section>
          <section class="region" aria-labelledby="region-title"><h2 id="region-title">Region</h2><RegionInfo /></section>
          <section aria-labelledby="network-title">
            <h2 id="network-title">Network</h2>
            <NetworkDrawing />
            <p class="quiet">
              {unit.value === null ? "Click a unit to light up its crease." : <button class="link" onClick={() => (unit.value = null)}>Let the crease go dark</button>}
            </p>
          </section>
          <section aria-labelledby="curves-title"><h2 id="curves-title">Curves</h2><Curves /></section>
          {live && run.value?.records.length ? <section aria-labelledby="list-title"><h2 id="list-title">Growth steps</h2><StepList /></section> : null}
        </aside>
      </main>
      {!live && <Sections />}
    </>
  );
}

function lead(): string {
  if (!run.value!.records.length) return "Every region of this network, exactly.";
  return `A network that began tiny and grew where it failed. Press Play to watch; each red mark in time is a growth step.`;
}

function Picture() {
  const now = frame.value;
  const all = run.value;
  const drawing = source.value!.live && draft.value.kind === "draw" && status.value === "idle";
  const empty = useMemo(() => blank(drawing ? null : (all?.problem ?? null)), [drawing, all?.problem]);
  const editor = useMemo<Editor | undefined>(
    () => (drawing ? { points: drawn.value, add: (x) => (drawn.value = [...drawn.value, { x, label: brush.peek() }]) } : undefined),
    [drawing, drawn.value],
  );
  const label = all ? `${all.problem.name}` : "An empty plane";
  return (
    <figure class={pinned.value ? "picture two" : "picture"}>
      <Toolbar now={now} />
      <div class="planes">
        {now?.kind === "line" && !drawing ? <LineView frame={now} /> : <PlaneView frame={drawing || now?.kind !== "plane" ? empty : now} label={label} editor={editor} />}
        {pinned.value?.frame.kind === "plane" && now?.kind === "plane" && (
          <div class="second">
            <PlaneView frame={pinned.value.frame} label={`Kept for comparison: ${pinned.value.label}`} second />
            <p class="pin">{pinned.value.label}</p>
          </div>
        )}
      </div>
      <p class="error" role="alert">{errors.value.plane}</p>
      <Legend now={now} />
    </figure>
  );
}

const COLOURINGS: [Colouring, string][] = [["class", "Class"], ["value", "Certainty"], ["regions", "Paper"]];

function Toolbar({ now }: { now: Frame | null }) {
  const slices = run.value?.slices;
  const pin = () => {
    const m = run.value!.moments[moment.value];
    pinned.value = pinned.value || !now ? null : { frame: now, label: `${run.value!.setting.how ?? ""} epoch ${m.epoch}: ${m.regions} regions`.trim() };
  };
  return (
    <div class="toolbar">
      {now?.kind === "plane" && (
        <div class="tabs" role="group" aria-label="Colours">
          {COLOURINGS.map(([key, text]) => (
            <button key={key} aria-pressed={colouring.value === key} onClick={() => (colouring.value = key)}>{text}</button>
          ))}
        </div>
      )}
      {now && (
        <label class="check">
          <input type="checkbox" checked={showData.value} onChange={() => (showData.value = !showData.value)} /> data
        </label>
      )}
      {slices && slices.length > 1 && (
        <label class="slice">
          Slice
          <select value={slice.value} onChange={(event) => (slice.value = Number(event.currentTarget.value))}>
            {slices.map((name, k) => <option key={k} value={k}>{name}</option>)}
          </select>
        </label>
      )}
      {now?.kind === "plane" && <button aria-pressed={!!pinned.value} onClick={pin}>{pinned.value ? "End comparison" : "Compare"}</button>}
    </div>
  );
}

function Legend({ now }: { now: Frame | null }) {
  const problem = run.value?.problem;
  if (!problem || !now) {
    const told =
      "Press Start: a network with two units learns to tell these points apart. Each unit folds the plane along a crease. " +
      "Where the network keeps failing it gets another unit, and says why.";
    return <figcaption class="legend">{source.value!.live ? told : ""}</figcaption>;
  }
  if (now.kind === "line") {
    return <figcaption class="legend">The line is the network; it bends at breakpoints, one or more for each unit. Dots are data.</figcaption>;
  }
  return (
    <figcaption class="legend">
      {problem.classes?.slice(0, 10).map((_, k) => <ClassName key={k} index={k} problem={problem} />)}
      <span><i class="line crease" /> crease: a unit turns on</span>
      {problem.classes && <span><i class="line boundary" /> decision boundary</span>}
      {atStep.value && <span><i class="line new" /> the new unit’s crease</span>}
      {atStep.value && (run.value!.records.length > 0) && <span><i class="ring" /> the mistakes it was made for</span>}
    </figcaption>
  );
}
