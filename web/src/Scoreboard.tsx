/** Where the run is: epoch, loss and scores, always in sight; of a model file, its size. */

import { frame, number, run, untrained } from "./state";
import type { TableModel } from "./types";

export function Scoreboard() {
  const all = run.value;
  if (!all) return null;
  const { epochs, measure, table } = all;
  if (table) return <TableScores table={table} measure={measure} />;
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

/** The size of a model of a table, and its score on held-out rows before and after the changes. */
function TableScores({ table, measure }: { table: TableModel; measure: string }) {
  const held = table.effect.scores.find(({ part }) => part === "held-out");
  const values: [string, string][] = [
    ["Curves", String(table.curves.length)],
    ["Planes", String(table.planes.length)],
    ["Changes", String(table.changes.length)],
  ];
  if (held) values.push([`Held-out ${measure}`, table.changes.length ? `${number(held.before, 4)} → ${number(held.after, 4)}` : number(held.before, 4)]);
  return <dl class="scoreboard" aria-label="Model">{values.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}
