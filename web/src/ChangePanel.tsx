/** What the changes of a model of a table do, undo, and the files to save it as. */

import { signal } from "@preact/signals";
import { ask, busy, count, errors, EXPORTING, holding, number, say, source } from "./state";
import { StillWorking } from "./StillWorking";
import type { Effect, PartScore, TableModel } from "./types";

const FILES: [string, string][] = [["folder", "Model (ZIP)"], ["onnx", "ONNX"], ["report", "Report (HTML)"]];

const PARTS: Record<PartScore["part"], string> = { "held-out": "Held-out rows", train: "Rows fitted", test: "Test rows", test_rmse: "Test RMSE" };

/** The name to save the model as; empty for the default. */
const name = signal("");

const undo = () => (say("table", ""), source.value?.send({ do: "undo" }));

type Props = { table: TableModel; measure: string };

export function ChangePanel({ table, measure }: Props) {
  const { changes, effect } = table;
  return (
    <>
      <section aria-labelledby="changes-title">
        <h2 id="changes-title">Changes</h2>
        {changes.length ? <Outcome {...effect} measure={measure} at={changes.length} /> : <p class="quiet">Drag a knot or a bar, remove a knot, flatten a column or forbid a plane. What this changes is shown here.</p>}
        {changes.length > 0 && <ol class="changes">{changes.map((change, k) => <li key={k}>{change}</li>)}</ol>}
        <div class="row"><button disabled={!changes.length || !!busy.value} onClick={undo}>Undo</button></div>
        <p class="state" role="status">{busy.value}</p>
        <StillWorking />
        <p class="error" role="alert">{errors.value.table || errors.value.run}</p>
      </section>
      <section aria-labelledby="save-title">
        <h2 id="save-title">Save as</h2>
        <label>Name<input value={name.value} placeholder={`${table.name}${changes.length ? "-edited" : ""}`} onInput={(event) => (name.value = event.currentTarget.value)} /></label>
        <div class="row wrap">
          {FILES.map(([what, label]) => (
            <button key={what} disabled={!!busy.value} onClick={() => ask({ do: "export", what, name: name.value.trim() || `${table.name}${changes.length ? "-edited" : ""}` }, `${EXPORTING}${label}…`, "export")}>{label}</button>
          ))}
        </div>
        <p class="error" role="alert">{errors.value.export}</p>
      </section>
    </>
  );
}

/** On narrow screens, always in sight: what is dragged, what the changes do, and undo. */
export function ChangeBar({ table: { changes, effect }, measure }: Props) {
  const held = effect.scores.find(({ part }) => part === "held-out");
  const score = held && `Held-out ${measure} ${changes.length ? `${number(held.before, 4)} → ${number(held.after, 4)}` : number(held.before, 4)}`;
  return (
    <section class="change-bar" aria-label="Effect of the changes">
      <p><b>{holding.value || busy.value || count(changes.length, "change")}</b>{score && <span>{score}</span>}{changes.length > 0 && <span>{rowsChanged(effect)}</span>}</p>
      <button disabled={!changes.length || !!busy.value} onClick={undo}>Undo</button>
    </section>
  );
}

/** Scores before and after, and the rows that the changes decide otherwise; test scores only where they are asked for. */
function Outcome({ measure, at, ...effect }: Effect & { measure: string; at: number }) {
  const { scores, examples } = effect;
  const isTest = ({ part }: PartScore) => part.startsWith("test");
  const tests = scores.filter(isTest);
  return (
    <>
      <Scores scores={scores.filter((one) => !isTest(one))} measure={measure} />
      <p class="quiet">{scores.some(({ part }) => part === "held-out") ? "Judge changes by the held-out rows: the model was not fitted to them, and they are not the test rows." : "All rows were fitted: none is left to judge changes by."}</p>
      <p>{rowsChanged(effect)}, test rows not counted.</p>
      {examples.length > 0 && (
        <ul class="flips">
          {examples.map(({ row, before, after, truth }) => <li key={row}>row {row}: {before} → {after} <span class={after === truth ? "good" : "bad"}>(true: {truth})</span></li>)}
        </ul>
      )}
      {tests.length > 0 && (
        <details class="tests" key={at}>
          <summary>Test scores, for the end</summary>
          <p class="quiet">Look at these once, when all changes are made: test scores that are looked at after each change invite tuning on them, and then say nothing about new rows.</p>
          <Scores scores={tests} measure={measure} />
        </details>
      )}
    </>
  );
}

function Scores({ scores, measure }: { scores: PartScore[]; measure: string }) {
  return (
    <table class="effect">
      <thead><tr><th scope="col">{measure[0].toUpperCase() + measure.slice(1)}</th><th scope="col" class="number-cell">Before</th><th scope="col" class="number-cell">After</th></tr></thead>
      <tbody>
        {scores.map(({ part, rows, before, after }) => (
          <tr key={part}>
            <td>{PARTS[part]}{rows !== null && ` (${rows.toLocaleString("en")})`}</td>
            <td class="number-cell">{number(before, 4)}</td>
            <td class={`number-cell ${tone(part, before, after)}`}>{number(after, 4)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function rowsChanged({ rows, flips, righted, wronged, moved, most }: Effect): string {
  const of = `of ${rows.toLocaleString("en")}`;
  if (flips === null) return `${count(moved ?? 0, "row")} ${of} predicted otherwise, by at most ${number(most)}`;
  return `${count(flips, "row")} ${of} decided otherwise${flips ? `: ${righted} now right, ${wronged} now wrong` : ""}`;
}

/** Whether a score has become better or worse; errors are better below. */
function tone(part: string, before: number, after: number | null): string {
  if (after === null || Math.abs(after - before) < 1e-9) return "";
  return after > before !== part.endsWith("rmse") ? "good" : "bad";
}
