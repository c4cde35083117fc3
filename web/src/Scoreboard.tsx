/** Where the run is: epoch, loss and scores, always in sight. */

import { number, run } from "./state";

export function Scoreboard() {
  const all = run.value;
  if (!all) return null;
  const { epochs, measure } = all;
  const last = epochs.epoch.length - 1;
  const cells: [string, string][] = [
    ["Epoch", last < 0 ? "–" : String(epochs.epoch[last])],
    ["Loss", number(epochs.loss[last])],
    [`Training ${measure}`, number(epochs.score[last])],
    [`Validation ${measure}`, number(epochs.validation_score[last])],
  ];
  return (
    <dl class="scoreboard" aria-label="Progress">
      {cells.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}
