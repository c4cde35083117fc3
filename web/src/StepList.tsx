/** All growth steps, one line each. */

import { goToStep, run, step } from "./state";
import type { Step } from "./types";

export function StepList() {
  const all = run.value;
  if (!all?.records.length) return null;
  return (
    <ol class="steps" aria-label="Growth steps">
      {all.records.map((record) => (
        <li key={record.number}>
          <button
            class={`${step.value?.number === record.number ? "here" : ""} ${record.undone ? "undone" : ""}`.trim()}
            aria-current={step.value?.number === record.number ? "step" : undefined}
            onClick={() => goToStep(record.number)}
          >
            <b>{record.number}</b>
            <span>
              {line(record)}
              {record.tag && <em class="tag">{record.tag}</em>}
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}

function line({ action, units, removed, epoch, outcome: { fixed, broken } }: Step): string {
  const what = {
    grow: units.length > 1 ? `${units.length} units added` : "a unit added",
    narrow: `${named(removed)} removed`,
    revive: `${named(units)} revived`,
  }[action];
  return `epoch ${epoch}: ${what}${fixed.length || broken.length ? `; ${fixed.length} corrected, ${broken.length} newly wrong` : ""}`;
}

/** Units by their numbers, or how many, if they are many. */
function named(units: number[]): string {
  if (units.length > 4) return `${units.length} units`;
  return `unit${units.length === 1 ? "" : "s"} ${units.join(", ")}`;
}
