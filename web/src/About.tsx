/** A report's left column: what was learned, how to read the picture, every growth step, how to use the network. */

import { ClassName } from "./RegionInfo";
import { StepList } from "./StepList";
import { count, frame, noun, number, run } from "./state";

export function About() {
  const { problem, records, epochs, kept, measure, growth_ended, ended, moments } = run.value!;
  const at = Math.max(0, (kept ?? epochs.epoch.length) - 1);
  const inIt = records.filter((record) => !record.undone);
  const pieces = frame.value?.regions ?? moments.at(-1)?.regions ?? 0;
  const widths = inIt.length ? [Math.min(...inIt.map((r) => r.parameters[0])), inIt.at(-1)!.parameters[1]] : null;
  return (
    <>
      <section aria-labelledby="about-title">
        <h2 id="about-title">{problem.name}</h2>
        {problem.about && <p>{sentence(problem.about)}</p>}
        <dl class="facts">
          {problem.X.length > 0 && (
            <>
              <dt>Data</dt>
              <dd>{count(problem.rows ?? problem.X.length, noun(problem))}{problem.rows && `, ${problem.X.length} of them plotted`}{problem.classes && ": "}{problem.classes?.map((_, k) => <ClassName key={k} index={k} problem={problem} />)}</dd>
            </>
          )}
          {!records.length && moments[0]?.regions != null && (
            <>
              <dt>Pieces</dt>
              <dd>{count(pieces, "region")}</dd>
            </>
          )}
          {widths && (
            <>
              <dt>Network</dt>
              <dd>{widths[0].toLocaleString("en")} → {count(widths[1], "parameter")} in {count(inIt.length, "growth step")}</dd>
            </>
          )}
          {kept === 0 && records.length > 0 && (
            <>
              <dt>Network</dt>
              <dd>the linear model: growth did not improve on it for the validation rows</dd>
            </>
          )}
          {kept !== 0 && epochs.score[at] != null && (
            <>
              <dt>{measure}</dt>
              <dd>{number(epochs.score[at])} training, {number(epochs.validation_score[at])} validation</dd>
            </>
          )}
        </dl>
      </section>
      {records.length > 0 && (
        <section aria-labelledby="steps-title">
          <h2 id="steps-title">Growth steps</h2>
          <StepList />
          {growth_ended && <p class="quiet">Growth stopped: {growth_ended}.</p>}
          {ended && <p class="quiet">Training stopped: {ended}.</p>}
        </section>
      )}
    </>
  );
}

function sentence(text: string): string {
  return (/^[a-z]+ [a-z]/.test(text) ? text[0].toUpperCase() + text.slice(1) : text) + (/[.!?]$/.test(text) ? "" : ".");
}
