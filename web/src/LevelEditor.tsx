/** The bars of a category with their ends as handles: drag one, or move it by the arrow keys. */

import { useState } from "preact/hooks";
import { classColor } from "./colors";
import { useDrag } from "./drag";
import { roundStep, roundTo } from "./knots";
import { Levels } from "./Levels";
import { ask, dark, number } from "./state";
import type { ColumnCurve, LevelsData } from "./types";

/** How far bars can be dragged, in lengths of the longest. */
const ROOM = 1.3;

/** Pixels of a dot that is dragged with a mouse, and with a finger. */
const MOUSE = 13, FINGER = 20;

type Held = { row: number; output: number; y: number };

export function LevelEditor({ column, outputs, levels = [], chart }: ColumnCurve & { chart: LevelsData }) {
  const several = outputs.length > 1;
  const label = ({ row, output, y }: Held) => `${levels[row]}${several ? `, ${outputs[output]}` : ""}: ${number(y)}`;
  const { held, take, move, release, cancel, press, flush } = useDrag<Held>(chart, label, ({ row, output, y }) => {
    const moved = y !== chart.levels[row].values[output];
    if (moved) ask({ do: "edit", change: "level", column, level: levels[row], output, y }, "Changing the model…", "table");
    return moved;
  });
  const [picked, pick] = useState<{ row: number; output: number } | null>(null);
  const limit = ROOM * chart.limit, step = roundStep(2 * limit);
  const value = (row: number, output: number) => (held?.row === row && held.output === output ? held.y : chart.levels[row].values[output]);
  const bars = chart.levels.map((bar, row) =>
    held?.row !== row ? bar : { ...bar, error: undefined, text: several ? "" : number(held.y), values: bar.values.map((_, output) => value(row, output)) });

  const at = (event: PointerEvent, row: number, output: number): Held => {
    const { left, width } = (event.currentTarget as Element).parentElement!.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - left) / (width || 1)));
    return { row, output, y: roundTo((2 * share - 1) * limit, step) };
  };
  const type = (event: KeyboardEvent, row: number, output: number) => {
    const right = ({ ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 } as Record<string, number>)[event.key];
    if (!right) return;
    event.preventDefault();
    press({ row, output, y: roundTo(value(row, output) + right * 5 * step, step) });
  };
  const handle = (row: number, output: number, place: { left: string; top?: string }) => (
    <div
      key={`grip${output}`}
      class={`grip${several ? " dot" : ""}${picked?.row === row && picked.output === output ? " picked" : ""}`}
      style={several ? { ...place, background: classColor(output, dark.value) } : place}
      tabIndex={0} role="slider" aria-orientation="horizontal"
      aria-label={`${column}, ${levels[row]}${several ? `, ${outputs[output]}` : ""}`}
      aria-valuenow={value(row, output)} aria-valuemin={-limit} aria-valuemax={limit}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        pick({ row, output });
        take({ row, output, y: chart.levels[row].values[output] });
      }}
      onPointerMove={(event) => move(() => at(event, row, output))}
      onPointerUp={release}
      onPointerCancel={cancel}
      onKeyDown={(event) => type(event, row, output)}
      onBlur={flush}
      onFocus={() => pick({ row, output })}
    />
  );
  const shown = held ?? (picked && chart.levels[picked.row] ? { ...picked, y: value(picked.row, picked.output) } : null);
  return (
    <div class="editor">
      <Levels {...chart} title="" levels={bars} limit={limit} lane={matchMedia("(pointer: coarse)").matches ? FINGER : MOUSE}>{handle}</Levels>
      <p class="quiet knot-tools">{shown ? label(shown) : `Drag ${several ? "a dot" : "the end of a bar"} to change its value.`}</p>
    </div>
  );
}
