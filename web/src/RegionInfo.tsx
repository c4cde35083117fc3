/** Properties of the region under the pointer, or of the selected one. */

import { classColor } from "./colors";
import { unitOn, type Frame, type PlaneFrame } from "./frame";
import { area, rowRegions } from "./plane/locate";
import { frameColumns } from "./plane/overlay";
import { nearestFlip, scales } from "./plane/flip";
import { count, dark, frame, looked, noun, number, picked, region, run } from "./state";
import type { Problem } from "./types";

export function RegionInfo() {
  const now = frame.value;
  const problem = run.value?.problem;
  const chosen = looked.value ?? region.value;
  if (!now || !problem || chosen === null || chosen >= now.regions) {
    return <p class="quiet">Hover over the map to inspect a region. Click or tap to select it and see the smallest change that flips the prediction.</p>;
  }
  return (
    <dl class="facts" aria-live="polite">
      <dt>Region</dt>
      <dd>
        {(chosen + 1).toLocaleString("en")} of {now.regions.toLocaleString("en")}
        {now.kind === "plane" ? `, area ${number(area(now, chosen))}` : `, ${number(now.x[chosen])} to ${number(now.x[chosen + 1])}`}
      </dd>
      {now.kind === "plane" && problem.classes && (
        <>
          <dt>Predicts</dt>
          <dd>{classesIn(now, chosen).map((k) => <ClassName key={k} index={k} problem={problem} />)}</dd>
        </>
      )}
      {now.kind === "plane" && problem.classes && picked.value && chosen === region.value && <FlipInfo frame={now} problem={problem} at={picked.value} />}
      <dt>In this region</dt>
      <dd>{pieces(now, chosen, problem)}</dd>
      <dt>Activation pattern</dt>
      <dd>
        <code class="pattern">{pattern(now, chosen)}</code>
      </dd>
      {problem.X.length > 0 && (
        <>
          <dt>{now.kind === "plane" && now.points ? "Nearby data" : "Data inside"}</dt>
          <dd>{dataIn(now, chosen, problem)}</dd>
        </>
      )}
    </dl>
  );
}

/** What would change the decision at the clicked point, within the plane. */
function FlipInfo({ frame: now, problem, at }: { frame: PlaneFrame; problem: Problem; at: [number, number] }) {
  const flip = nearestFlip(now, at, scales(now, problem));
  if (!flip) return null;
  const columns = frameColumns(now, problem.features);
  const words = flip.change.flatMap((by, axis) => (Math.abs(by) > 1e-6 * Math.abs(flip.change[1 - axis]) ? [`${columns[axis]} ${by < 0 ? "decreases" : "increases"} by ${number(Math.abs(by))}`] : []));
  return (
    <>
      <dt>Nearest flip</dt>
      <dd>
        {flip.reached >= 0 ? <ClassName index={flip.reached} problem={problem} /> : "another class"} if {words.join(" and ") || "any input changes"}
        <span class="quiet">{flip.certain ? " (the smallest change in this plane)" : " (the smallest change inside the map; a smaller one may exist outside it)"}</span>
      </dd>
    </>
  );
}

export function ClassName({ index, problem }: { index: number; problem: Problem }) {
  return (
    <span class="class">
      <i style={{ background: classColor(index, dark.value) }} />
      {problem.classes?.[index] ?? index}
    </span>
  );
}

function classesIn(now: PlaneFrame, chosen: number): number[] {
  const found = new Set<number>();
  for (let p = 0; p < now.part_region.length; p++) if (now.part_region[p] === chosen) found.add(now.part_class[p]);
  return [...found].sort((a, b) => a - b);
}

/** The affine function on the region, one line for each output (ten at most). */
function pieces(now: Frame, chosen: number, problem: Problem) {
  const names = now.outputs === 1 ? ["f"] : Array.from({ length: now.outputs }, (_, k) => problem.classes?.[k] ?? `f${k + 1}`);
  const columns = now.kind === "plane" ? frameColumns(now, problem.features) : [problem.features[0] ?? "x"];
  const lines = names.slice(0, 10).map((name, k) => {
    const at = chosen * now.outputs + k;
    const slopes = now.kind === "plane" ? [now.J[2 * at], now.J[2 * at + 1]] : [now.slopes[at]];
    const offset = now.kind === "plane" ? now.y[at] : now.values[at] - now.slopes[at] * now.x[chosen];
    return (
      <span class="piece" key={name}>
        {name} = {slopes.map((slope, i) => `${term(slope, i === 0)} ${columns[i]}`).join(" ")} {term(offset, false)}
      </span>
    );
  });
  return lines;
}

function term(value: number, first: boolean): string {
  const size = number(Math.abs(value));
  if (first) return value < 0 ? `−${size}` : size;
  return `${value < 0 ? "−" : "+"} ${size}`;
}

function pattern(now: Frame, chosen: number): string {
  let unit = 0;
  return now.layers
    .map(({ width }) => {
      const bits = Array.from({ length: width }, (_, k) => (unitOn(now, chosen, unit + k) ? "1" : "0")).join("");
      unit += width;
      return bits.length > 64 ? `${bits.slice(0, 64)}…` : bits;
    })
    .join(" | ");
}

function dataIn(now: Frame, chosen: number, problem: Problem) {
  const where = now.kind === "plane" ? rowRegions(now, problem.X) : problem.X.map(([x]) => (x >= now.x[chosen] && x < now.x[chosen + 1] ? chosen : -1));
  const counts = new Map<number, number>();
  for (let i = 0; i < where.length; i++) if (where[i] === chosen) counts.set(problem.classes ? problem.y[i] : 0, (counts.get(problem.classes ? problem.y[i] : 0) ?? 0) + 1);
  if (!counts.size) return "none";
  if (!problem.classes) return count(counts.get(0)!, noun(problem));
  return [...counts].sort((a, b) => a[0] - b[0]).map(([k, size]) => (
    <span key={k}>
      {size} <ClassName index={k} problem={problem} />
    </span>
  ));
}
