/** What the changes of a model of a table do, undo, and the files to save it as. */

import { signal } from "@preact/signals";
import { ask, busy, count, errors, EXPORTING, number, say, source } from "./state";
import type { Effect, TableModel } from "./types";

const FILES: [string, string][] = [["folder", "Model (ZIP)"], ["onnx", "ONNX"], ["report", "Report (HTML)"]];

const PARTS: Record<string, string> = { train: "Rows fitted", validation: "Validation rows", test: "Test rows", test_rmse: "Test RMSE", train_rmse: "RMSE of rows fitted" };

/** The name to save the model as; empty for the default. */
const name = signal("");

export function ChangePanel({ table }: { table: TableModel }) {
  const { changes, effect } = table;
  const undo = () => (say("table", ""), source.value?.send({ do: "undo" }));
  return (
    <>
      <section aria-labelledby="changes-title">
        <h2 id="changes-title">Changes</h2>
        {changes.length ? <Told {...effect} /> : <p class="quiet">Drag a knot, remove one, flatten a column or forbid a plane. What this changes is shown here.</p>}
        {changes.length > 0 && <ol class="changes">{changes.map((change, k) => <li key={k}>{change}</li>)}</ol>}
        <div class="row"><button disabled={!changes.length || !!busy.value} onClick={undo}>Undo</button></div>
        <p class="state" role="status">{busy.value}</p>
        <p class="error" role="alert">{errors.value.table}</p>
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

/** Scores before and after, and the rows that the changes decide otherwise. */
function Told({ scores, rows, flips, righted, wronged, examples, moved, most }: Effect) {
  return (
    <>
      <table class="effect">
        <thead><tr><th scope="col">Score</th><th scope="col" class="number-cell">Before</th><th scope="col" class="number-cell">After</th></tr></thead>
        <tbody>
          {scores.map(({ part, before, after }) => (
            <tr key={part}>
              <td>{PARTS[part] ?? part}</td>
              <td class="number-cell">{number(before, 4)}</td>
              <td class={`number-cell ${tone(part, before, after)}`}>{number(after, 4)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {flips === null
        ? <p>{count(moved ?? 0, "row")} of {rows.toLocaleString("en")} predicted otherwise, by at most {number(most)}.</p>
        : <p>{count(flips, "row")} of {rows.toLocaleString("en")} decided otherwise{flips ? `: ${righted} now right, ${wronged} now wrong` : ""}.</p>}
      {examples.length > 0 && (
        <ul class="flips">
          {examples.map(({ row, before, after, truth }) => <li key={row}>row {row}: {before} → {after} <span class={after === truth ? "good" : "bad"}>(true: {truth})</span></li>)}
        </ul>
      )}
    </>
  );
}

/** Whether a score has become better or worse; errors are better below. */
function tone(part: string, before: number, after: number | null): string {
  if (after === null || Math.abs(after - before) < 1e-9) return "";
  return after > before !== part.endsWith("rmse") ? "good" : "bad";
}
