/** The legend: one sentence about the picture, then its marks. */

import { css, paper, valueColor } from "./colors";
import type { Frame, PlaneFrame } from "./frame";
import { ClassName } from "./RegionInfo";
import { creaseTone } from "./plane/mesh";
import { valueScale } from "./plane/points";
import type { Problem } from "./types";
import { atStep, busy, coloring, dark, earlier, isBefore, number, run, showData, slice, source, status, step, stepNumbers } from "./state";

const NEXT = "Press Start: a network begins as the linear model and adds one unit at a time. ";
const BEFORE = `${NEXT}Each folds the plane along a crease at a typical mistake, says why, and stays only if held-out points confirm it.`;
const BEFORE_LINE = `${NEXT}Each bends the line at a breakpoint where the error is, says why, and stays only if held-out points confirm it.`;

/** What the network is to learn, in one sentence. */
function goal({ classes, features, target }: Problem): string {
  if (classes) return `Goal: separate the ${classes.length === 2 ? "two" : classes.length} classes. `;
  return features.length === 1 ? "Goal: fit this curve. " : `Goal: predict ${target || "the target"}. `;
}

export function Legend({ now, drawing }: { now: Frame | null; drawing: boolean }) {
  const problem = run.value?.problem;
  if (drawing) return <figcaption class="legend"><p>Click or drag to add points. Choose another class under Problem, then press {status.value === "idle" ? "Start" : "Restart"}.</p></figcaption>;
  if (!problem || !now) {
    if (!source.value!.live || !problem) return <figcaption class="legend">{busy.value || "Opening…"}</figcaption>;
    return (
      <figcaption class="legend">
        <p class="lead">{goal(problem)}{problem.features.length === 1 ? BEFORE_LINE : BEFORE}</p>
        <Classes />
      </figcaption>
    );
  }
  return (
    <figcaption class="legend">
      {now.kind === "line" ? <OfLine /> : <OfPlane now={now} />}
    </figcaption>
  );
}

function Classes() {
  const problem = run.value!.problem;
  return <>{problem.classes?.slice(0, 10).map((_, k) => <ClassName key={k} index={k} problem={problem} />)}</>;
}

function OfPlane({ now }: { now: PlaneFrame }) {
  const problem = run.value!.problem;
  const tones = paper(dark.value);
  return (
    <>
      <p>Each patch is a region where the network is a single linear function. Hover over one, or tap it, to inspect it.</p>
      <Classes />
      {now.layers.slice(0, 4).map((layer, k) => (
        <span key={layer.name}>
          <i class="line" style={{ borderColor: css(creaseTone(tones, k, now.layers.length)) }} />
          crease{now.layers.length > 1 ? ` of ${layer.name}` : ": a unit turns on or off"}
        </span>
      ))}
      {problem.classes && <span><i class="line boundary" /> decision boundary</span>}
      <Numbered what="crease" />
      <ColorBar />
      {showData.value && now.points && <span>points farther from this slice are paler</span>}
      <Fixed />
      <OfStep />
    </>
  );
}

/** The colors of a regression's values. */
function ColorBar() {
  const problem = run.value!.problem;
  const scale = valueScale(problem);
  if (!scale || coloring.value === "regions") return null;
  const [low, middle, high] = [scale[0], (scale[0] + scale[1]) / 2, scale[1]];
  const tones = [low, high].map((value) => css(valueColor(value, scale, dark.value)));
  return (
    <span class="bar">
      {problem.target || "value"} <b>{number(low)}</b>
      <i style={{ background: `linear-gradient(90deg, ${tones.join(", ")})` }} title={`midpoint: ${number(middle)}`} />
      <b>{number(high)}</b>{showData.value && " (background: prediction; points: data)"}
    </span>
  );
}

/** What the other columns are on this slice. */
function Fixed() {
  const text = run.value!.fixed?.[slice.value];
  return text ? <p>On this slice: {text}.</p> : null;
}

function OfLine() {
  const problem = run.value!.problem;
  return (
    <>
      <p>The line is the network: straight pieces that meet at breakpoints, where a unit turns on or off. The plot below it shows the slope change at each breakpoint.</p>
      {problem.classes ? <Classes /> : <span><i class="line function" /> network</span>}
      {problem.X.length > 0 && !problem.classes && showData.value && <span><i class="dot" /> data</span>}
      <span><i class="ring" /> breakpoint</span>
      <Numbered what="breakpoint" />
      <OfStep />
    </>
  );
}

function Numbered({ what }: { what: string }) {
  return stepNumbers.value.some((number) => number > 0) ? <span><b class="disc">1</b> growth step that added the {what}</span> : null;
}

/** The marks of a growth step. */
function OfStep() {
  const marks = step.value?.marks;
  if (!atStep.value || !marks) return null;
  const several = (step.value?.units.length ?? 1) > 1;
  const line = run.value!.problem.features.length === 1;
  return (
    <>
      {isBefore.value ? (
        <span><i class="line put" /> where the {line ? "breakpoint" : "crease"} is put</span>
      ) : (
        <span><i class="line new" /> {several ? "new units" : "new unit"}</span>
      )}
      {marks.instance !== undefined && <span><i class="ring typical" /> typical mistake</span>}
      {(marks.mistakes?.length ?? 0) > 1 && <span><i class="ring" /> same mistake</span>}
      {marks.fold_point?.length === 2 && isBefore.value && <span><i class="diamond" /> fold point</span>}
      {earlier.value?.kind === "plane" && run.value!.problem.classes && <span><i class="line old" /> boundary before</span>}
    </>
  );
}
