/** How to grow, and the run itself: start, pause, step, grow now, undo, export. */

import { signal } from "@preact/signals";
import { change, draft, type Draft } from "./draft";
import { problemMessage } from "./ProblemPanel";
import { connected, errors, notice, run, source, status } from "./state";

const plane = signal<[number, number]>([0, 1]);
const rows = signal("0, 1, 2");

const METHODS: [string, string][] = [
  ["fold", "Fold: at a typical mistake"],
  ["tiny", "TINY: best first-order unit"],
  ["gradmax", "GradMax: largest gradient"],
  ["search", "Search: best of many"],
  ["split", "Split a unit"],
  ["steepest_split", "Steepest split"],
  ["random", "Random"],
];
const WHERE: [string, string][] = [["bottleneck", "At the bottleneck"], ["round-robin", "Layers in turn"], ["gain", "Where it gains most"]];
const WHEN: [string, string][] = [["plateau", "When the loss stands still"], ["converged", "When training has ended"], ["10", "Every 10 epochs"], ["50", "Every 50 epochs"]];

export function MethodPanel() {
  return (
    <section aria-labelledby="method-title">
      <h2 id="method-title"><b class="number">2</b> Growth</h2>
      <Choice name="how" label="Method" options={METHODS} />
      <details>
        <summary>Policy, layers, seed</summary>
        <Choice name="where" label="Where" options={WHERE} />
        <Choice name="when" label="When" options={WHEN} />
        <div class="row">
          <label>
            Hidden layers
            <input class="code" value={draft.value.hidden} onInput={(event) => change({ hidden: event.currentTarget.value })} title="Widths to begin with, such as 2 or 4,4" />
          </label>
          <label>
            Seed
            <input type="number" min={0} value={draft.value.seed} onInput={(event) => change({ seed: Number(event.currentTarget.value) })} />
          </label>
        </div>
      </details>
      <p class="error" role="alert">{errors.value.method}</p>
    </section>
  );
}

function Choice({ name, label, options }: { name: "how" | "where" | "when"; label: string; options: [string, string][] }) {
  return (
    <label>
      {label}
      <select value={draft.value[name]} onChange={(event) => change({ [name]: event.currentTarget.value } as Partial<Draft>)}>
        {options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </label>
  );
}

/** For more than two inputs: which plane through them is shown. */
export function SlicePanel() {
  const features = run.value?.problem.features ?? [];
  if (features.length <= 2 || !run.value?.moments.length) return null;
  const columns = plane.value.map((k) => Math.min(k, features.length - 1));
  const show = (to: [number, number]) => {
    plane.value = to;
    if (to[0] !== to[1]) source.value?.send({ do: "slice", columns: to });
  };
  return (
    <section aria-labelledby="slice-title">
      <h2 id="slice-title">Slice</h2>
      <div class="row">
        {([0, 1] as const).map((axis) => (
          <label key={axis}>
            {axis ? "Up" : "Across"}
            <select value={columns[axis]} onChange={(event) => show(axis ? [columns[0], Number(event.currentTarget.value)] : [Number(event.currentTarget.value), columns[1]])}>
              {features.map((name, k) => <option key={k} value={k}>{name}</option>)}
            </select>
          </label>
        ))}
      </div>
      <form class="row" onSubmit={(event) => (event.preventDefault(), source.value?.send({ do: "slice", rows: rows.value.split(",").map(Number) }))}>
        <label>
          Or through three rows
          <input class="code" value={rows.value} onInput={(event) => (rows.value = event.currentTarget.value)} />
        </label>
        <button type="submit">Show</button>
      </form>
      <p class="error" role="alert">{errors.value.slice}</p>
    </section>
  );
}

export function RunPanel() {
  const state = status.value;
  const send = (what: string) => source.value?.send({ do: what });
  const start = () => {
    errors.value = {};
    const problem = problemMessage();
    if (!problem) return;
    const { how, where, when, hidden, seed } = draft.value;
    const widths = hidden.split(",").map((part) => Number(part.trim()));
    if (!widths.every((width) => Number.isInteger(width) && width > 0)) {
      errors.value = { method: `Hidden layers: expected widths such as 2 or 4,4, got “${hidden}”.` };
      return;
    }
    source.value?.send({ do: "start", problem, how, where, when, hidden: widths, seed });
    if (innerWidth <= 1000) document.querySelector(".middle")?.scrollIntoView({ behavior: "smooth" });
  };
  const begun = state !== "idle";
  return (
    <section aria-labelledby="run-title">
      <h2 id="run-title"><b class="number">3</b> Run</h2>
      <div class="row run">
        {state === "running" ? <button class="main" onClick={() => send("pause")}>Pause</button> : null}
        {state === "paused" ? <button class="main" onClick={() => send("go")}>Go on</button> : null}
        <button class={begun ? "" : "main"} onClick={start}>{begun ? "Start anew" : "Start"}</button>
      </div>
      <div class="row">
        <button onClick={() => send("step")} disabled={state !== "paused"} title="Train one epoch">Step</button>
        <button onClick={() => send("grow")} disabled={state !== "running" && state !== "paused"} title="Add a unit now">Grow now</button>
        <button onClick={() => send("undo")} disabled={!begun || !run.value?.records.length} title="Take the last growth step back">Undo</button>
      </div>
      <p class="state" role="status">
        {!connected.value ? "The connection is lost; trying again. The run goes on for a minute." : notice.value || STATES[state]}
      </p>
      <p class="error" role="alert">{errors.value.run}</p>
      <Export />
    </section>
  );
}

const STATES = { idle: "Ready.", running: "Training and growing…", paused: "Paused.", ended: "The run has ended." };
const EXPORTS: [string, string][] = [["model", "Network"], ["report", "Report (HTML)"], ["animation", "Animation (GIF)"], ["code", "Python code"]];

function Export() {
  return (
    <details>
      <summary>Export</summary>
      <div class="row wrap">
        {EXPORTS.map(([what, label]) => (
          <button key={what} disabled={!run.value?.moments.length} onClick={() => source.value?.send({ do: "export", what })}>{label}</button>
        ))}
      </div>
      <p class="error" role="alert">{errors.value.export}</p>
    </details>
  );
}
