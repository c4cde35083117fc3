/** Where the run is: epoch, loss and scores, always in sight; of a model file, its size. */

import { frame, number, run, untrained } from "./state";

export function Scoreboard() {
  const all = run.value;
  if (!all) return null;
  const { epochs, measure } = all;
  const last = epochs.epoch.length - 1;
  const size: [string, string][] = [
    ["Inputs", String(all.problem.features.length)],
    ["Units", String(frame.value?.layers.reduce((sum, layer) => sum + layer.width, 0) ?? "–")],
    ["Regions on this slice", frame.value?.regions.toLocaleString("en") ?? "–"],
  ];
  const progress: [string, string][] = [
    ["Epoch", last < 0 ? "–" : String(epochs.epoch[last])],
    ["Loss", number(epochs.loss[last])],
    [`Training ${measure}`, number(epochs.score[last])],
    [`Validation ${measure}`, number(epochs.validation_score[last])],
  ];
  return (
    <dl class="scoreboard" aria-label={untrained.value ? "Network" : "Progress"}>
      {(untrained.value ? size : progress).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}
