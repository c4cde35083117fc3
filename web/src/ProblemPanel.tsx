/** The problem to learn: a built-in problem, a table, a formula, or points drawn by hand; or a model file to look at. */

import { batch, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { classColor } from "./colors";
import { brush, change, draft, drawn, editing, type Kind } from "./draft";
import { loadModel, ModelFile } from "./ModelFile";
import { resetPlane } from "./SlicePanel";
import { ask, busy, choices, count, dark, errors, run, say } from "./state";
import type { Problem, TableColumn } from "./types";

const KINDS: [Kind, string][] = [["builtin", "Built-in"], ["csv", "Table"], ["formula", "Formula"], ["draw", "Draw"], ["model", "Model"]];

/** Largest table that is sent, in bytes; the server has its own limit. */
const LARGEST = 20e6;

const table = signal<{ name: string; text: string } | null>(null);

/** What the page shows is named first; beside the model of a table that was not uploaded here, other problems are behind a disclosure. */
export function ProblemPanel() {
  const isTable = !!run.value?.table, uploaded = draft.value.kind === "csv" && !!table.value;
  return (
    <section aria-labelledby="problem-title">
      <h2 id="problem-title">{!isTable && <b class="number">1</b>} Problem</h2>
      {isTable && <Shown problem={run.value!.problem} />}
      {isTable && !uploaded
        ? <><Columns columns={run.value!.problem.columns ?? []} /><details><summary>Open something else</summary><Sources /></details></>
        : <Sources />}
    </section>
  );
}

/** The table that the model shown was fitted to. */
function Shown({ problem }: { problem: Problem }) {
  return <p class="shown-table"><b>{problem.name}</b>: {count(problem.rows ?? problem.X.length, "row")}, predicting <b>{problem.target}</b>{problem.classes && ` (${problem.classes.join(", ")})`}</p>;
}

function Sources() {
  const { kind } = draft.value;
  const choose = (to: Kind) => {
    say("problem", "");
    change({ kind: to });
    editing.value = to === "draw";
    if (to === "builtin") propose();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label="Data source">
        {KINDS.map(([key, label]) => (
          <button key={key} role="tab" id={`tab-${key}`} aria-selected={kind === key} aria-controls="problem-part" onClick={() => choose(key)}>
            {label}
          </button>
        ))}
      </div>
      <div id="problem-part" role="tabpanel" aria-labelledby={`tab-${kind}`}>
        {kind === "builtin" && <Builtin />}
        {kind === "csv" && <Table />}
        {kind === "formula" && <Formula />}
        {kind === "draw" && <Draw />}
        {kind === "model" && <ModelFile />}
        <p class="error" role="alert">{errors.value.problem}</p>
      </div>
    </>
  );
}

/** The problem as the server needs it; null, with an error message, if something is missing. */
export function problemMessage(): Record<string, unknown> | null {
  const { kind, name, formula, rows, noise, target, missing, seed } = draft.value;
  if (kind === "builtin") return { kind, name };
  if (kind === "formula") return { kind, formula, rows, noise, seed };
  if (kind === "csv") {
    if (table.value) return { kind, name: table.value.name, text: table.value.text, target, missing };
    say("problem", "Choose a file first.");
    return null;
  }
  if (kind === "model") {
    say("problem", "A model file can only be viewed. To train, choose one of the other tabs.");
    return null;
  }
  if (new Set(drawn.value.map((point) => point.label)).size < 2 || drawn.value.length < 10) {
    say("problem", "Draw at least 10 points, from at least two classes.");
    return null;
  }
  return { kind, X: drawn.value.map((p) => p.x), y: drawn.value.map((p) => p.label) };
}

/** Ask the server to show the problem before training; drawn points need no server. */
export function propose(): void {
  say("problem", "");
  if (draft.value.kind === "model") return loadModel();
  if (draft.value.kind === "draw" || (draft.value.kind === "csv" && !table.value)) return;
  const problem = problemMessage();
  if (!problem) return;
  resetPlane();
  ask({ do: "problem", problem }, "Preparing the data…", "problem");
}

/** Ask the server for a model of curves of the table. */
function fit(): void {
  const problem = problemMessage();
  if (problem) ask({ do: "fit", problem }, "Fitting curves…", "problem");
}

/** Show the table again after its settings changed: as curves, or, where a network is to grow, as points. */
function refresh(): void {
  if (!table.value) return;
  if (run.value?.table || !run.value?.problem.columns) fit();
  else propose();
}

function Builtin() {
  return (
    <label>
      Data
      <select
        value={draft.value.name}
        onChange={(event) => {
          change({ name: event.currentTarget.value });
          propose();
        }}
      >
        {choices.value.problems.map(([name, label]) => <option key={name} value={name}>{label}</option>)}
      </select>
    </label>
  );
}

function Table() {
  const read = async (file: File | undefined) => {
    if (!file) return;
    if (file.size > LARGEST) {
      return say("problem", `${file.name} has ${Math.round(file.size / 1e6)} MB; the limit is ${LARGEST / 1e6} MB. For larger tables, run: creases grow FILE`);
    }
    if (table.value && table.value.name !== file.name) change({ target: "" });
    table.value = { name: file.name, text: await file.text() };
    fit();
  };
  return (
    <>
      <label>
        CSV file with a header row
        <input type="file" accept=".csv,.tsv,.txt,text/csv" onChange={(event) => read(event.currentTarget.files?.[0])} />
      </label>
      <Target />
      <label>
        Missing values
        <select value={draft.value.missing} onChange={(event) => (change({ missing: event.currentTarget.value }), refresh())}>
          <option value="indicate">Add an indicator column</option>
          <option value="error">Stop with an error</option>
          <option value="drop">Drop rows with missing values</option>
          <option value="mean">Fill with the column mean</option>
        </select>
      </label>
      <div class="row">
        {run.value?.table
          ? <button disabled={!table.value || !!busy.value} onClick={propose} title="A network that grows by units, shown on slices of the table">Grow a network instead</button>
          : <button class="main" disabled={!table.value || !!busy.value} onClick={fit} title="A curve for each column, to read and change by hand">Fit curves</button>}
      </div>
    </>
  );
}

/** What to predict: a column of the table, once it was read. */
function Target() {
  const columns = (table.value && run.value?.problem.columns) || [];
  const choose = (target: string) => (change({ target }), refresh());
  if (!columns.length)
    return (
      <label>
        Column to predict (default: the last)
        <input value={draft.value.target} onChange={(event) => choose(event.currentTarget.value)} />
      </label>
    );
  return (
    <>
      <label>
        Column to predict
        <select value={run.value!.problem.target} onChange={(event) => choose(event.currentTarget.value)}>
          {columns.map(({ column }) => <option key={column} value={column}>{column}</option>)}
        </select>
      </label>
      <Columns columns={columns} open />
    </>
  );
}

function Columns({ columns, open = false }: { columns: TableColumn[]; open?: boolean }) {
  if (!columns.length) return null;
  return (
    <details open={open}>
      <summary>{count(columns.length, "column")}</summary>
      <table class="columns">
        <thead><tr><th scope="col">Column</th><th scope="col">Kind</th><th scope="col">Role</th></tr></thead>
        <tbody>
          {columns.map(({ column, kind, use, missing, note }) => (
            <tr key={column} class={use === "input" ? "" : use === "target" ? "target" : "unused"} title={note}>
              <td>{column}</td>
              <td>{kind}{missing ? `, ${missing} missing` : ""}</td>
              <td>{use}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function Formula() {
  return (
    <form onSubmit={(event) => (event.preventDefault(), propose())}>
      <label>
        Boundary y = …, or an inequality in x and y
        <input class="code" value={draft.value.formula} spellcheck={false} onInput={(event) => change({ formula: event.currentTarget.value })} />
      </label>
      <p class="quiet">Examples: sin(3*x), abs(x) - 0.5, x**2 + y**2 &lt; 0.5. Both x and y range from −1 to 1.</p>
      <div class="row">
        <label>
          Points
          <input type="number" min={20} max={20000} value={draft.value.rows} onInput={(event) => change({ rows: Number(event.currentTarget.value) })} />
        </label>
        <label>
          Noise
          <input type="number" min={0} max={1} step={0.05} value={draft.value.noise} onInput={(event) => change({ noise: Number(event.currentTarget.value) })} />
        </label>
        <button type="submit">Show</button>
      </div>
    </form>
  );
}

function Draw() {
  useEffect(() => say("problem", ""), [drawn.value]); // what was missing may be there now
  return (
    <>
      <p class="quiet">Click or drag in the plane to add points. Keyboard: arrow keys move the cursor, Enter adds a point.</p>
      <div class="row" role="radiogroup" aria-label="Class of new points">
        {[0, 1, 2].map((k) => (
          <button key={k} role="radio" class="swatch" aria-checked={brush.value === k} onClick={() => (brush.value = k)}>
            <i style={{ background: classColor(k, dark.value) }} /> {"ABC"[k]} {drawn.value.filter((p) => p.label === k).length}
          </button>
        ))}
      </div>
      <div class="row">
        <button onClick={() => leave(drawn.value.length - 1)} disabled={!drawn.value.length}>Undo point</button>
        <button onClick={() => leave(0)} disabled={!drawn.value.length}>Clear</button>
      </div>
      {run.value?.moments.length ? <div class="row"><button onClick={() => (editing.value = !editing.value)}>{editing.value ? "Show the run" : "Continue drawing"}</button></div> : null}
    </>
  );
}

/** Keep only the first points that were drawn. */
function leave(count: number): void {
  batch(() => {
    editing.value = true;
    drawn.value = drawn.value.slice(0, count);
  });
}
