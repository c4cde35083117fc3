/** The curve of a column with its knots as handles: drag one, move it by the arrow keys, or remove it. */

import { useRef, useState } from "preact/hooks";
import { Chart, type Place } from "./Chart";
import { classColor } from "./colors";
import { useDrag } from "./drag";
import { placeKnot, roundStep, roundTo, withKnot } from "./knots";
import { ask, busy, dark, number } from "./state";
import type { ChartData, ColumnCurve } from "./types";

/** Room above and below a curve to drag its knots into, as a share of its height. */
const ROOM = 0.2;

type Held = { knot: number; output: number; x: number; y: number };

export function CurveEditor({ column, input, outputs, chart }: ColumnCurve & { chart: ChartData }) {
  const [picked, pick] = useState<{ knot: number; output: number } | null>(null);
  const drawing = useRef<SVGGElement>(null);
  const curves = chart.series.filter((one) => one.kind === "line");
  const [low, high] = chart.y.range!;
  const range: [number, number] = [low - ROOM * (high - low), high + ROOM * (high - low)];
  const step = roundStep(range[1] - range[0]);

  const send = (change: Record<string, unknown>) => ask({ do: "edit", input, ...change }, "Changing the model…", "table");
  const label = ({ x, y, output }: Held) => `${column} at ${number(x, 5)}${outputs.length > 1 ? `, ${outputs[output]}` : ""}: ${number(y)}`;
  const { held, take, move, release, cancel, press, flush } = useDrag<Held>(chart, label, ({ knot, output, x, y }) => {
    const { x: xs, y: ys } = curves[output];
    const moved = x !== xs[knot] || y !== ys[knot];
    if (moved) send({ change: "move", knot, output, x, y });
    return moved;
  });
  const series = held ? chart.series.filter((one) => one.kind !== "band").map((one) => (one === curves[held.output] ? withKnot(one, held.knot, held.x, held.y) : one)) : chart.series;
  const at = (event: PointerEvent, place: Place, knot: number, output: number): Held => {
    const box = drawing.current!.ownerSVGElement!;
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(box.getScreenCTM()!.inverse());
    const inside = Math.max(place.top, Math.min(place.bottom, point.y));
    const xs = curves[output].x, left = xs[0], right = xs[xs.length - 1];
    const x = left + ((point.x - place.x(left)) / (place.x(right) - place.x(left) || 1)) * (right - left);
    const y = range[0] + ((place.y(range[0]) - inside) / (place.y(range[0]) - place.y(range[1]))) * (range[1] - range[0]);
    return { knot, output, x: placeKnot(xs, knot, x), y: roundTo(y, step) };
  };
  const type = (event: KeyboardEvent, knot: number, output: number) => {
    const xs = curves[output].x;
    const { x, y } = held?.knot === knot && held.output === output ? held : { x: xs[knot], y: curves[output].y[knot] };
    if (event.key === "Delete" || event.key === "Backspace") return event.preventDefault(), remove(knot);
    const [right, up] = ({ ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] } as Record<string, number[]>)[event.key] ?? [0, 0];
    if (!right && !up) return;
    event.preventDefault();
    const wide = roundStep(xs[xs.length - 1] - xs[0], 1 / 50);
    press({ knot, output, x: right ? placeKnot(xs, knot, x + right * wide) : x, y: up ? roundTo(y + up * 5 * step, step) : y });
  };
  const remove = (knot: number) => {
    pick(null);
    flush();
    if (curves[0].x.length > 2) send({ change: "remove", knot });
  };
  const handle = (place: Place, knot: number, output: number, x: number, y: number) => (
    <circle
      key={`${output}/${knot}`}
      class={picked?.knot === knot && picked.output === output ? "handle picked" : "handle"}
      cx={place.x(x)} cy={place.y(y)} r={5.5} tabIndex={0} role="button"
      style={outputs.length > 1 ? { "--accent": classColor(output, dark.value) } : undefined}
      aria-label={`Knot of ${column} at ${number(x, 5)}: ${number(y)}${outputs.length > 1 ? ` for ${outputs[output]}` : ""}. Arrow keys move it, Delete removes it.`}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        pick({ knot, output });
        take({ knot, output, x, y });
      }}
      onPointerMove={(event) => move(() => at(event, place, knot, output))}
      onPointerUp={release}
      onPointerCancel={cancel}
      onTouchStart={(event) => event.preventDefault()} // else a finger scrolls: touch-action does nothing within an SVG
      onKeyDown={(event) => type(event, knot, output)}
      onBlur={flush}
      onFocus={() => pick({ knot, output })}
    />
  );
  const shown = held ?? (picked && curves[picked.output]?.x[picked.knot] !== undefined ? { ...picked, x: curves[picked.output].x[picked.knot], y: curves[picked.output].y[picked.knot] } : null);
  return (
    <div class="editor">
      <Chart {...chart} title={undefined} label={`Curve of ${column}`} series={series.map((one) => ({ ...one, marks: false, name: undefined }))} y={{ ...chart.y, range }}>
        {(place) => (
          <g ref={drawing}>
            {curves.map((curve, output) => curve.x.map((x, k) => (held && held.knot === k && held.output === output ? handle(place, k, output, held.x, held.y) : handle(place, k, output, x, curve.y[k]))))}
          </g>
        )}
      </Chart>
      <p class="quiet knot-tools">
        {shown ? <>Knot at {number(shown.x, 5)}: {number(shown.y)} <button class="link" disabled={curves[0].x.length < 3 || !!busy.value} onClick={() => remove(shown.knot)}>Remove knot</button></> : "Drag a knot to change the curve."}
      </p>
    </div>
  );
}
