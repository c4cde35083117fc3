/** For more than two inputs: which plane through them is shown. */

import { signal } from "@preact/signals";
import { firstPlane } from "./plane/points";
import { ask, errors, run, say } from "./state";

const plane = signal<[number, number] | null>(null);
/** The columns that were chosen for the next run; null for those that matter most. */
export const chosenPlane = signal<[number, number] | null>(null);
const rows = signal("0, 1, 2");

/** Inputs up to which they are chosen by name; more, such as pixels, by number. */
const MOST_NAMES = 100;

/** Forget the slice that was chosen: the columns of another problem have other numbers. */
export function resetPlane(): void {
  plane.value = chosenPlane.value = null;
  say("slice", "");
}

export function SlicePanel() {
  const features = run.value?.problem.features ?? [];
  if (features.length <= 2) return null;
  const begun = !!run.value?.moments.length;
  const known = plane.value?.every((k) => k < features.length) ? plane.value : null;
  const columns = known ?? firstPlane(run.value!.problem);
  const show = (to: [number, number]) => {
    plane.value = to;
    chosenPlane.value = to[0] === to[1] ? null : to;
    if (to[0] === to[1]) say("slice", "Choose two different columns.");
    else if (!begun) say("slice", "");
    else ask({ do: "slice", columns: to }, "Computing the slice…", "slice");
  };
  const choose = (axis: 0 | 1, k: number) => {
    if (!Number.isInteger(k) || k < 0 || k >= features.length) return say("slice", `Inputs are numbered from 1 to ${features.length}; got ${k + 1}.`);
    show(axis ? [columns[0], k] : [k, columns[1]]);
  };
  const through = (event: Event) => {
    event.preventDefault();
    const numbers = rows.value.split(",").map((part) => Number(part.trim()));
    if (numbers.length === 3 && numbers.every(Number.isInteger)) ask({ do: "slice", rows: numbers }, "Computing the slice…", "slice");
    else say("slice", `Enter three row numbers such as 0, 50, 100; got “${rows.value}”.`);
  };
  return (
    <section aria-labelledby="slice-title">
      <h2 id="slice-title">Slice through {features.length} inputs</h2>
      <div class="row">
        {([0, 1] as const).map((axis) => (
          <label key={axis}>
            {axis ? "Vertical axis" : "Horizontal axis"}{features.length > MOST_NAMES && `: input 1 to ${features.length}`}
            {features.length > MOST_NAMES ? (
              <input type="number" min={1} max={features.length} value={columns[axis] + 1} onChange={(event) => choose(axis, Number(event.currentTarget.value) - 1)} />
            ) : (
              <select value={columns[axis]} onChange={(event) => choose(axis, Number(event.currentTarget.value))}>
                {features.map((name, k) => <option key={k} value={k}>{name}</option>)}
              </select>
            )}
          </label>
        ))}
      </div>
      {!begun && <p class="quiet">{chosenPlane.value ? "The run will be shown on this slice." : "By default: the two most important columns."}</p>}
      {begun && run.value!.problem.X.length > 0 && <form class="row" onSubmit={through}>
        <label>
          Or a plane through three rows
          <input class="code" value={rows.value} onInput={(event) => (rows.value = event.currentTarget.value)} />
        </label>
        <button type="submit">Show</button>
      </form>}
      <p class="error" role="alert">{errors.value.slice}</p>
    </section>
  );
}
