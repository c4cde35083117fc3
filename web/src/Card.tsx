/** Why a unit exists: the growth step in words and numbers. */

import { atStep, count, goToStep, isBefore, moment, noun, number, run, step } from "./state";
import type { Step } from "./types";

/** For one unit, and for several. */
const TITLES = {
  grow: ["New unit", "New units"],
  narrow: ["Unit removed", "Units removed"],
  revive: ["Unit revived", "Units revived"],
};

export function Card() {
  const grown = step.value;
  const all = run.value;
  if (!all || !grown) {
    return (
      <p class="quiet">
        {all?.records.length ? "This is the initial network. Move along the timeline to see its first growth step." : "Each time the network grows, the reason is shown here."}
      </p>
    );
  }
  const end = all.moments[moment.value]?.kind === "end";
  return (
    <article class="card" aria-live="polite">
      <h3>
        {isBefore.value ? "Before" : `${TITLES[grown.action][grown.units.length > 1 ? 1 : 0]} ·`} growth step {grown.number}
        {grown.tag && <em class="tag">{grown.tag}</em>}
      </h3>
      <p>{isBefore.value ? reason(grown) : sentence(grown)}</p>
      <Facts grown={grown} measure={all.measure} />
      {!atStep.value && (
        <button class="link" onClick={() => goToStep(grown.number)}>
          {end ? "Go to the last growth step that was kept" : "Go to this growth step"}
        </button>
      )}
      <details>
        <summary>Full explanation</summary>
        <p>{grown.text}</p>
      </details>
    </article>
  );
}

/** Reasons that are written out in the card; the full explanation has all. */
const REASONS = 2;

/** Why a growth step says that its units were added. */
function because(why: string): string | undefined {
  return /^(?:\d+ )?units? added to [^]*? because ([^]*?)\.?$/i.exec(why)?.[1];
}

/** What the network does wrong before a fold, and where the fold is put. */
function reason(grown: Step): string {
  const why = because(grown.why);
  if (!why) return grown.why;
  return `${why[0].toUpperCase()}${why.slice(1)}. The fold is put ${place(grown)}.`;
}

function place({ marks: { fold_point: at } }: Step): string {
  if (at?.length === 1) return `at ${number(at[0])}`;
  return at?.length === 2 ? `at (${at.map((value) => number(value)).join(", ")}), on the boundary next to the typical mistake` : "on the boundary next to it";
}

/** The growth step in short: what was added and why, where its crease was put, what came of it. */
function sentence(grown: Step): string {
  const { why, text, action, units, epoch, marks, outcome: { fixed, broken } } = grown;
  const cause = because(why);
  if (action !== "grow" || !cause) return why || text;
  const several = units.length > 1;
  const reasons = cause.split("; ");
  const short = reasons.length > REASONS + 1 ? [...reasons.slice(0, REASONS), "there were similar errors elsewhere"] : reasons;
  const parts = [`${several ? `${units.length} units were` : "A unit was"} added at epoch ${epoch} because ${short.join("; ")}`];
  if (marks.fold_point?.length === 1) parts.push(`${several ? "The first breakpoint" : "Its breakpoint"} was put at ${number(marks.fold_point[0])}`);
  else if (marks.fold_point?.length === 2)
    parts.push(`${several ? "The first crease" : "Its crease"} was put through (${marks.fold_point.map((value) => number(value)).join(", ")})`);
  if (fixed.length || broken.length)
    parts.push(`Training then corrected ${count(fixed.length, noun(run.value!.problem))}, and ${broken.length || "none"} became wrong`);
  return `${parts.join(". ")}.`;
}

function Facts({ grown, measure }: { grown: Step; measure: string }) {
  const { outcome, near, before, after, later } = grown;
  const isNext = isBefore.value; // what came of it is shown with the network that it made
  return (
    <dl class="facts">
      {near.size != null && (
        <>
          <dt>Errors there</dt>
          <dd>
            {near.wrong != null && run.value?.problem.classes ? `${near.wrong} of ${count(near.size, noun(run.value!.problem))} misclassified` : count(near.size, noun(run.value!.problem))}
            {near.share != null && `, ${Math.round(100 * near.share)}% of the loss`}
          </dd>
        </>
      )}
      {!isNext && (outcome.fixed.length > 0 || outcome.broken.length > 0) && (
        <>
          <dt>After training</dt>
          <dd>
            <b class="good">{outcome.fixed.length} corrected</b>, <b class="bad">{outcome.broken.length} newly wrong</b>
          </dd>
        </>
      )}
      <dt>Loss</dt>
      <dd>
        {number(before.loss)}
        {!isNext && ` → ${number(after.loss)} right after${later.loss != null ? ` → ${number(later.loss)} once trained` : ""}`}
      </dd>
      {before.score != null && (
        <>
          <dt>{measure[0].toUpperCase() + measure.slice(1)}</dt>
          <dd>
            {number(before.score)}
            {!isNext && ` → ${number(after.score)}${later.score != null ? ` → ${number(later.score)}` : ""}`}
          </dd>
        </>
      )}
      {before.validation_score != null && later.validation_score != null && !isNext && (
        <>
          <dt>Held out</dt>
          <dd>
            {measure} {number(before.validation_score)} → {number(later.validation_score)}
          </dd>
        </>
      )}
      <dt>Size</dt>
      <dd>
        {grown.place}: {isNext ? count(grown.width[0], "unit") : `${grown.width[0]} → ${count(grown.width[1], "unit")}, ${count(grown.parameters[1], "parameter")}`}
      </dd>
    </dl>
  );
}
