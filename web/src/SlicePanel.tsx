/** For more than two inputs: which plane through them is shown. */

import { signal } from "@preact/signals";
import { ask, errors, run, say } from "./state";

const plane = signal<[number, number]>([0, 1]);
const rows = signal("0, 1, 2");

export function SlicePanel() {
  const features = run.value?.problem.features ?? [];
  if (features.length <= 2 || !run.value?.moments.length) return null;
  const columns = plane.value.map((k) => Math.min(k, features.length - 1)) as [number, number];
  const show = (to: [number, number]) => {
    plane.value = to;
    if (to[0] === to[1]) say("slice", "Choose two different columns.");
    else ask({ do: "slice", columns: to }, "Cutting the slice…", "slice");
  };
  const through = (event: Event) => {
    event.preventDefault();
    const numbers = rows.value.split(",").map((part) => Number(part.trim()));
    if (numbers.length === 3 && numbers.every(Number.isInteger)) ask({ do: "slice", rows: numbers }, "Cutting the slice…", "slice");
    else say("slice", `Rows must be three numbers such as 0, 50, 100, got “${rows.value}”.`);
  };
  return (
    <section aria-labelledby="slice-title">
      <h2 id="slice-title">Slice through {features.length} inputs</h2>
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
      <form class="row" onSubmit={through}>
        <label>
          Or through three rows
          <input class="code" value={rows.value} onInput={(event) => (rows.value = event.currentTarget.value)} />
        </label>
        <button type="submit">Cut</button>
      </form>
      <p class="error" role="alert">{errors.value.slice}</p>
    </section>
  );
}
