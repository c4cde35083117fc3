/** One-input problems: the function with its breakpoints, and below it the change of slope at each. */

import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { LineFrame } from "./frame";
import { ACCENT, ticks } from "./plane/overlay";
import { atStep, hovered, newest, number, region, run, showData, step, unit } from "./state";

const LEFT = 52, RIGHT = 12, TOP = 22;

export function LineView({ frame }: { frame: LineFrame }) {
  const svg = useRef<SVGSVGElement>(null);
  const size = useSignal<[number, number]>([640, 520]);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => (size.value = [Math.max(240, entry.contentRect.width), Math.max(240, entry.contentRect.height)]));
    watch.observe(svg.current!);
    return () => watch.disconnect();
  }, []);
  const [W, H] = size.value;
  const BOTTOM = H - 38, SPLIT = TOP + 0.72 * (BOTTOM - TOP);
  const problem = run.value!.problem;
  const rows = showData.value ? problem.X.map((x, i) => [x[0], problem.y[i]]) : [];
  const [x0, x1] = frame.range;
  const heights = [...frame.values.filter((_, i) => i % frame.outputs === 0), ...rows.map((row) => row[1])];
  const [y0, y1] = padded(heights);
  const X = (x: number) => LEFT + ((x - x0) / (x1 - x0)) * (W - LEFT - RIGHT);
  const Y = (y: number) => SPLIT - ((y - y0) / (y1 - y0)) * (SPLIT - TOP);
  const value = (i: number) => frame.values[i * frame.outputs];
  const path = Array.from(frame.x, (x, i) => `${i ? "L" : "M"}${X(x).toFixed(2)} ${Y(value(i)).toFixed(2)}`).join("");
  const jumps = Array.from({ length: frame.regions - 1 }, (_, i) => frame.slopes[(i + 1) * frame.outputs] - frame.slopes[i * frame.outputs]);
  const most = Math.max(1e-12, ...jumps.map(Math.abs));
  const middle = (SPLIT + BOTTOM) / 2 + 12;
  const D = (jump: number) => middle - (jump / most) * ((BOTTOM - SPLIT) / 2 - 18);
  const units = (i: number) => Array.from(frame.unit_ids.slice(frame.unit_starts[i], frame.unit_starts[i + 1]));
  const lit = unit.value !== null ? [unit.value] : atStep.value ? newest.value : [];

  const look = (event: PointerEvent) => {
    const bounds = svg.current!.getBoundingClientRect();
    const x = x0 + ((((event.clientX - bounds.left) / bounds.width) * W - LEFT) / (W - LEFT - RIGHT)) * (x1 - x0);
    hovered.value = x < x0 || x > x1 ? null : Math.max(0, Math.min(frame.regions - 1, frame.x.findLastIndex((end) => end <= x)));
    return hovered.value;
  };
  const chosen = hovered.value ?? region.value;
  const marks = atStep.value ? step.value?.marks : undefined;
  return (
    <svg
      ref={svg}
      class="line"
      viewBox={`0 0 ${W} ${H}`}
      role="img"
      aria-label={`The function of ${problem.features[0]} with ${frame.regions - 1} breakpoints, and the change of slope at each`}
      onPointerMove={look}
      onPointerLeave={() => (hovered.value = null)}
      onClick={(event) => (region.value = look(event as unknown as PointerEvent))}
    >
      {chosen !== null && chosen < frame.regions && (
        <rect class="chosen" x={X(frame.x[chosen])} width={X(frame.x[chosen + 1]) - X(frame.x[chosen])} y={TOP} height={SPLIT - TOP} />
      )}
      {ticks(x0, x1, W / 90).map((x) => (
        <g key={x}>
          <line class="tick" x1={X(x)} x2={X(x)} y1={BOTTOM} y2={BOTTOM + 4} />
          <text x={X(x)} y={BOTTOM + 18} text-anchor="middle">{number(x, 5)}</text>
        </g>
      ))}
      {ticks(y0, y1, 6).map((y) => (
        <g key={y}>
          <line class="tick" x1={LEFT - 4} x2={LEFT} y1={Y(y)} y2={Y(y)} />
          <text x={LEFT - 7} y={Y(y) + 4} text-anchor="end">{number(y, 5)}</text>
        </g>
      ))}
      <path class="axis" d={`M${LEFT} ${TOP}V${BOTTOM}H${W - RIGHT}`} />
      <text class="name" x={(LEFT + W - RIGHT) / 2} y={H - 4} text-anchor="middle">{problem.features[0]}</text>
      {rows.map(([x, y], i) => <circle class="datum" key={i} cx={X(x)} cy={Y(y)} r={2.6} />)}
      {jumps.map((_, i) => <line class="breakpoint" key={i} x1={X(frame.x[i + 1])} x2={X(frame.x[i + 1])} y1={TOP} y2={SPLIT} />)}
      <path class="function" d={path} />
      {jumps.map((jump, i) => {
        const mine = units(i);
        const on = mine.some((u) => lit.includes(u));
        return (
          <g
            key={i}
            class={on ? "knot lit" : "knot"}
            role="button"
            tabindex={jumps.length <= 60 ? 0 : -1}
            aria-label={`Breakpoint at ${number(frame.x[i + 1])} of unit ${mine.join(", ")}: the slope changes by ${number(jump)}`}
            onClick={(event) => {
              event.stopPropagation();
              unit.value = unit.value === mine[0] ? null : mine[0];
            }}
            onKeyDown={(event) => event.key === "Enter" && (unit.value = mine[0])}
          >
            <circle cx={X(frame.x[i + 1])} cy={Y(value(i + 1))} r={on ? 6 : 4} fill={on ? ACCENT : undefined} />
            <line x1={X(frame.x[i + 1])} x2={X(frame.x[i + 1])} y1={middle} y2={D(jump)} stroke={on ? ACCENT : undefined} />
            <circle cx={X(frame.x[i + 1])} cy={D(jump)} r={on ? 6 : 4} fill={on ? ACCENT : undefined} />
          </g>
        );
      })}
      {marks?.instance !== undefined && (
        <g>
          <circle class="typical" cx={X(problem.X[marks.instance][0])} cy={Y(problem.y[marks.instance])} r={8} />
          <text class="name" x={X(problem.X[marks.instance][0]) + 12} y={Y(problem.y[marks.instance]) + 4}>largest error</text>
        </g>
      )}
      <line class="tick" x1={LEFT} x2={W - RIGHT} y1={middle} y2={middle} />
      <text class="name" x={LEFT + 6} y={SPLIT + 16}>change of slope at breakpoints (to {number(most)})</text>
      <text class="name" x={LEFT + 6} y={TOP - 8}>f({problem.features[0]}): {frame.regions} pieces</text>
    </svg>
  );
}

function padded(values: number[]): [number, number] {
  const finite = values.filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity), high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const more = high > low ? 0.06 * (high - low) : 1;
  return [low - more, high + more];
}
