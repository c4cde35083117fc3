/** The run itself: start, pause, continue training, step, grow now, undo. */

import { signal } from "@preact/signals";
import { draft, editing } from "./draft";
import { ExportPanel } from "./ExportPanel";
import { problemMessage } from "./ProblemPanel";
import { chosenPlane } from "./SlicePanel";
import { ask, busy, connected, errors, notice, run, say, source, STARTING, status } from "./state";
import { StillWorking } from "./StillWorking";

const STATES = { idle: "Ready.", running: "Training and growing…", paused: "Paused.", ended: "Finished." };

/** Epochs to train on for after the end; empty for as many again. */
const more = signal("");

export function RunPanel() {
  const state = status.value;
  const begun = state !== "idle";
  const send = (what: string) => {
    say("run", "");
    source.value?.send({ do: what });
  };
  return (
    <section aria-labelledby="run-title">
      <h2 id="run-title"><b class="number">3</b> Run</h2>
      <div class="row run">
        {state === "running" && <button class="main" onClick={() => send("pause")}>Pause</button>}
        {state === "paused" && <button class="main" onClick={() => send("go")}>Resume</button>}
        <button class={begun ? "" : "main"} onClick={start} disabled={!connected.value || draft.value.kind === "model"} title={draft.value.kind === "model" ? "A model file can only be viewed: choose another tab to train" : undefined}>{begun ? "Restart" : "Start"}</button>
      </div>
      {state === "ended" && (
        <form class="row" onSubmit={trainOn}>
          <label>
            More epochs
            <input type="number" min={1} value={more.value} placeholder="auto" title="Default: as many epochs as before" onInput={(event) => (more.value = event.currentTarget.value)} />
          </label>
          <button class="main" type="submit" title="Continue from the last epoch">Continue training</button>
        </form>
      )}
      <div class="row">
        <button onClick={() => send("step")} disabled={state !== "paused"} title="Train for one epoch">Step</button>
        <button onClick={() => send("grow")} disabled={state !== "running" && state !== "paused"} title="Add units now">Grow now</button>
        <button onClick={() => send("undo")} disabled={!begun || !run.value?.records.some((record) => record.pays)} title="Undo the last growth step">Undo</button>
      </div>
      <p class="state" role="status">{busy.value || notice.value || (state === "running" && run.value?.phase) || STATES[state]}</p>
      <StillWorking />
      <p class="error" role="alert">{errors.value.run}</p>
      <ExportPanel />
    </section>
  );
}

function trainOn(event: Event): void {
  event.preventDefault();
  ask({ do: "train_on", epochs: more.value.trim() === "" ? undefined : Number(more.value) }, "", "run");
}

/** The slice that was chosen before the start, if the problem has its columns. */
function planeOf(inputs: number): { columns: number[] } | undefined {
  const columns = chosenPlane.value;
  return columns && inputs > 2 && Math.max(...columns) < inputs ? { columns } : undefined;
}

function start(): void {
  errors.value = {};
  const problem = problemMessage();
  if (!problem) return;
  const { how, where, when, hidden, seed } = draft.value;
  const automatic = hidden.trim() === "auto";
  const widths = hidden.split(",").map((part) => Number(part.trim()));
  if (!automatic && !widths.every((width) => Number.isInteger(width) && width > 0)) {
    say("method", `Hidden layers must be auto or widths such as 2 or 4,4; got “${hidden}”.`);
    return;
  }
  const [lr, epochs] = [draft.value.lr, draft.value.epochs].map((text) => (text.trim() === "auto" ? undefined : Number(text)));
  if (lr !== undefined && !(lr > 0)) return say("method", "Learning rate must be auto or a positive number such as 0.01.");
  if (epochs !== undefined && !(Number.isInteger(epochs) && epochs > 0)) return say("method", "Epochs must be auto or a positive integer such as 200.");
  editing.value = false;
  ask({ do: "start", problem, how, where, when, hidden: automatic ? "auto" : widths, seed, lr, epochs, slice: planeOf(run.value?.problem.features.length ?? 0) }, STARTING, "run");
  if (innerWidth <= 1000) document.querySelector(".middle")?.scrollIntoView();
}
