/** A report's left column: what was learnt, how to read the picture, every growth step, how to use the network. */

import { StepList } from "./Card";
import { ClassName } from "./RegionInfo";
import { number, run } from "./state";
import type { Section } from "./types";

export function About() {
  const { problem, records, epochs, kept, measure, ended } = run.value!;
  const at = Math.max(0, kept - 1);
  const inIt = records.filter((record) => !record.undone);
  const widths = inIt.length ? [Math.min(...inIt.map((r) => r.parameters[0])), inIt.at(-1)!.parameters[1]] : null;
  return (
    <>
      <section aria-labelledby="about-title">
        <h2 id="about-title">{problem.name}</h2>
        {problem.about && <p>{sentence(problem.about)}</p>}
        <dl class="facts">
          <dt>Data</dt>
          <dd>{problem.X.length} points{problem.classes && ": "}{problem.classes?.map((_, k) => <ClassName key={k} index={k} problem={problem} />)}</dd>
          {widths && (
            <>
              <dt>Network</dt>
              <dd>{widths[0]} → {widths[1]} parameters in {inIt.length} growth steps</dd>
            </>
          )}
          {epochs.score[at] != null && (
            <>
              <dt>{measure}</dt>
              <dd>{number(epochs.score[at])} in training, {number(epochs.validation_score[at])} in validation</dd>
            </>
          )}
        </dl>
      </section>
      {records.length > 0 && (
        <section aria-labelledby="steps-title">
          <h2 id="steps-title">Growth steps</h2>
          <StepList />
          {ended && <p class="quiet">It ended: {ended}.</p>}
        </section>
      )}
    </>
  );
}

export function Sections() {
  const sections = run.value?.sections ?? [];
  return (
    <div class="sections">
      {sections.map((section) => <Part key={section.title} {...section} />)}
    </div>
  );
}

function Part({ title, text, code, table }: Section) {
  return (
    <section>
      <h2>{title}</h2>
      {text && <p>{text}</p>}
      {code && <pre tabIndex={0}><code>{code}</code></pre>}
      {table && (
        <div class="scroll" tabIndex={0} role="region" aria-label={title}>
          <table>
            <thead><tr>{table.columns.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
            <tbody>{table.rows.map((row, i) => <tr key={i}>{row.map((cell, k) => <td key={k}>{cell}</td>)}</tr>)}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function sentence(text: string): string {
  return (/^[a-z]+ [a-z]/.test(text) ? text[0].toUpperCase() + text.slice(1) : text) + (/[.!?]$/.test(text) ? "" : ".");
}
