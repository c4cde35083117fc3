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
        <summary>More settings</summary>
        <Choice name="where" label="Where to grow" options={choices.value.where} />
        <Choice name="when" label="When to grow" options={choices.value.when} />
        <div class="row">
          <label>
            Hidden layers
            <input class="code" value={draft.value.hidden} onInput={(event) => change({ hidden: event.currentTarget.value })} title="Initial widths: auto, or for example 2 or 4,4" />
          </label>
          <label>
            Learning rate
            <input class="code" value={draft.value.lr} onInput={(event) => change({ lr: event.currentTarget.value })} title="Initial value: auto, or for example 0.01; it decays to zero" />
          </label>
        </div>
        <div class="row">
          <label>
            Epochs
            <input class="code" value={draft.value.epochs} onInput={(event) => change({ epochs: event.currentTarget.value })} title="Maximum number of epochs, including growth stages that are undone: auto, or a number" />
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
