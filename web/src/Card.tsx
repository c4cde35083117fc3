/** Why a unit exists: the growth step in words and numbers. */

import { atStep, goToStep, moment, number, run, step } from "./state";
import type { Step } from "./types";

export function Card() {
  const grown = step.value;
  const all = run.value;
  if (!all || !grown) {
    return (
      <p class="quiet">
        {all?.records.length ? "The network is as it began. Go on in time to its first growth step." : "When the network grows, the reason is told here."}
      </p>
    );
  }
  const end = all.moments[moment.value]?.kind === "end";
  return (
    <article class="card" aria-live="polite">
      <h3>
        {grown.action === "grow" ? "New unit" : grown.action === "recycle" ? "Unit replaced" : "Unit revived"} · growth step {grown.number}
        {grown.undone && <em class="tag">not kept</em>}
      </h3>
      <p>{grown.why || grown.text}</p>
      <Facts grown={grown} measure={all.measure} />
      {!atStep.value && (
        <button class="link" onClick={() => goToStep(grown.number)}>
          {end ? "See the last growth step that was kept" : "Go to this growth step"}
        </button>
      )}
      <details>
        <summary>In full</summary>
        <p>{grown.text}</p>
      </details>
    </article>
  );
}

function Facts({ grown, measure }: { grown: Step; measure: string }) {
  const { outcome, near, before, after, later } = grown;
  return (
    <dl class="facts">
      {near.size != null && (
        <>
          <dt>Where it failed</dt>
          <dd>
            {near.wrong != null && run.value?.problem.classes ? `${near.wrong} of ${near.size} points there were wrong` : `${near.size} points there`}
            {near.share != null && `, ${Math.round(100 * near.share)}% of the loss`}
          </dd>
        </>
      )}
      {(outcome.fixed.length > 0 || outcome.broken.length > 0) && (
        <>
          <dt>After training on</dt>
          <dd>
            <b class="good">{outcome.fixed.length} put right</b>, <b class="bad">{outcome.broken.length} broken</b>
          </dd>
        </>
      )}
      <dt>Loss</dt>
      <dd>
        {number(before.loss)} → {number(after.loss)} at once{later.loss != null && ` → ${number(later.loss)} after training`}
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
        {grown.place}: {grown.width[0]} → {grown.width[1]} units, {grown.parameters[1]} parameters
      </dd>
    </dl>
  );
}

/** All growth steps, one line each. */
export function StepList() {
  const all = run.value;
  if (!all?.records.length) return null;
  return (
    <ol class="steps" aria-label="Growth steps">
      {all.records.map((record) => (
        <li key={record.number}>
          <button
            class={step.value?.number === record.number ? "here" : ""}
            aria-current={step.value?.number === record.number ? "step" : undefined}
            onClick={() => goToStep(record.number)}
          >
            <b>{record.number}</b>
            <span>
              {line(record)}
              {record.undone && <em class="tag">not kept</em>}
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}

function line(record: Step): string {
  const what = record.action === "grow" ? `unit ${record.units.join(", ")} added` : record.action === "recycle" ? `unit ${record.removed.join(", ")} replaced` : `unit ${record.units.join(", ")} revived`;
  const { fixed, broken } = record.outcome;
  return `epoch ${record.epoch}: ${what}${fixed.length || broken.length ? `; ${fixed.length} put right, ${broken.length} broken` : ""}`;
}
