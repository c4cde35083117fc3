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

function line({ action, place, units, removed, epoch, outcome: { fixed, broken } }: Step): string {
  const what = {
    grow: `unit ${units.join(", ")} added`,
    deepen: `layer ${place} inserted`,
    recycle: `unit ${removed.join(", ")} replaced`,
    revive: `unit ${units.join(", ")} revived`,
  }[action];
  return `epoch ${epoch}: ${what}${fixed.length || broken.length ? `; ${fixed.length} put right, ${broken.length} broken` : ""}`;
}
