/** Why a unit exists: the growth step in words and numbers. */

import { atStep, count, goToStep, moment, noun, number, run, step } from "./state";
import { named } from "./StepList";
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
        {TITLES[grown.action][grown.units.length > 1 ? 1 : 0]} · growth step {grown.number}
        {grown.tag && <em class="tag">{grown.tag}</em>}
      </h3>
      <p>{sentence(grown)}</p>
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

/** The growth step in short: what was added and why, where its crease passes, what came of it. */
function sentence({ why, text, action, units, epoch, marks, outcome: { fixed, broken } }: Step): string {
  const [, because, filler] = /^(?:\d+ )?units? added to [^]*? because ([^]*?)\.?(?: (\S+(?: split)? supplied \d+ of [^]*))?$/i.exec(why) ?? [];
  if (action !== "grow" || !because) return why || text;
  const several = units.length > 1;
  const who = named(units);
  const reasons = because.split("; ");
  const short = reasons.length > REASONS + 1 ? [...reasons.slice(0, REASONS), "there were similar errors elsewhere"] : reasons;
  const parts = [`${who[0].toUpperCase()}${who.slice(1)} ${several ? "were" : "was"} added at epoch ${epoch} because ${short.join("; ")}`];
  if (marks.fold_point?.length === 1) parts.push(`${several ? "The first breakpoint" : "Its breakpoint"} is at ${number(marks.fold_point[0])}`);
  else if (marks.fold_point?.length === 2)
    parts.push(`${several ? "The first crease" : "Its crease"} passes through (${marks.fold_point.map((value) => number(value)).join(", ")})`);
  if (fixed.length || broken.length)
    parts.push(`Training then corrected ${count(fixed.length, noun(run.value!.problem))}, and ${broken.length || "none"} became wrong`);
  return `${parts.join(". ")}.${filler ? ` ${filler}` : ""}`;
}

function Facts({ grown, measure }: { grown: Step; measure: string }) {
  const { outcome, near, before, after, later } = grown;
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
      {(outcome.fixed.length > 0 || outcome.broken.length > 0) && (
        <>
          <dt>After training</dt>
          <dd>
            <b class="good">{outcome.fixed.length} corrected</b>, <b class="bad">{outcome.broken.length} newly wrong</b>
          </dd>
        </>
      )}
      <dt>Loss</dt>
      <dd>
        {number(before.loss)} → {number(after.loss)} right after{later.loss != null && ` → ${number(later.loss)} once trained`}
      </dd>
      {before.score != null && (
        <>
          <dt>{measure[0].toUpperCase() + measure.slice(1)}</dt>
          <dd>
            {number(before.score)} → {number(after.score)}
            {later.score != null && ` → ${number(later.score)}`}
          </dd>
        </>
      )}
      <dt>Size</dt>
      <dd>
        {grown.place}: {grown.width[0]} → {count(grown.width[1], "unit")}, {count(grown.parameters[1], "parameter")}
      </dd>
    </dl>
  );
}
