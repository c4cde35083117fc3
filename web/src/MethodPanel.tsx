/** How to grow: the method and, in a drawer, the policy, initial layers, learning rate and seed. */

import { change, draft, type Draft } from "./draft";
import { choices, errors } from "./state";
import type { Option } from "./types";

export function MethodPanel() {
  return (
    <section aria-labelledby="method-title">
      <h2 id="method-title"><b class="number">2</b> Growth</h2>
      <Choice name="how" label="Method" options={choices.value.methods} />
      <details>
        <summary>Policy, layers, seed</summary>
        <Choice name="where" label="Where" options={choices.value.where} />
        <Choice name="when" label="When" options={choices.value.when} />
        <div class="row">
          <label>
            Hidden layers
            <input class="code" value={draft.value.hidden} onInput={(event) => change({ hidden: event.currentTarget.value })} title="Widths at the start: auto, or such as 2 or 4,4" />
          </label>
          <label>
            Learning rate
            <input class="code" value={draft.value.lr} onInput={(event) => change({ lr: event.currentTarget.value })} title="At the start: auto, or such as 0.01; it falls to zero" />
          </label>
        </div>
        <div class="row">
          <label>
            Epochs
            <input class="code" value={draft.value.epochs} onInput={(event) => change({ epochs: event.currentTarget.value })} title="What the run may spend, stages that are undone included: auto, or a number" />
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

function Choice({ name, label, options }: { name: "how" | "where" | "when"; label: string; options: Option[] }) {
  return (
    <label>
      {label}
      <select value={draft.value[name]} onChange={(event) => change({ [name]: event.currentTarget.value } as Partial<Draft>)}>
        {options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </label>
  );
}
