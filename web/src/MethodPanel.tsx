/** How to grow: the method, and in a drawer where, when, from what layers, how fast, by which seed. */

import { change, draft, type Draft } from "./draft";
import { errors } from "./state";

const METHODS: [string, string][] = [
  ["fold", "Fold: at a typical mistake"],
  ["tiny", "TINY: best first-order unit"],
  ["gradmax", "GradMax: largest gradient"],
  ["search", "Search: best of many"],
  ["split", "Split a unit"],
  ["random", "Random"],
];
const WHERE: [string, string][] = [["bottleneck", "At the bottleneck"], ["round-robin", "Layers in turn"], ["gain", "Where it gains most"]];
const WHEN: [string, string][] = [["plateau", "When the loss stands still"], ["10", "Every 10 epochs"], ["50", "Every 50 epochs"]];

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
            Learning rate
            <input type="number" min={0} step="any" value={draft.value.lr} onInput={(event) => change({ lr: event.currentTarget.valueAsNumber })} />
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
