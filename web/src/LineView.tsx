/** One-input problems: the function with its breakpoints, and below it the slope change at each. */

import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { classColor } from "./colors";
import type { LineFrame } from "./frame";
import { ticks } from "./plane/overlay";
import { atStep, count, dark, hovered, isBefore, newest, number, region, showData, step, stepNumbers, tick, unit } from "./state";
import type { Problem } from "./types";

const LEFT = 52, RIGHT = 12, TOP = 22;

/** Dots that are drawn at most, and breakpoints that are stops of the Tab key. */
const MOST_DOTS = 3000, MOST_STOPS = 60;

type Props = { frame: LineFrame; problem: Problem; second?: boolean };

export function LineView({ frame, problem, second = false }: Props) {
  const svg = useRef<SVGSVGElement>(null);
  const size = useSignal<[number, number]>([640, 520]);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => (size.value = [Math.max(240, entry.contentRect.width), Math.max(240, entry.contentRect.height)]));
    watch.observe(svg.current!);
    return () => watch.disconnect();
  }, []);
  const [W, H] = size.value;
  const BOTTOM = H - 38, SPLIT = TOP + 0.72 * (BOTTOM - TOP);
  const decides = problem.classes !== null;
  const rows = showData.value ? problem.X.slice(0, MOST_DOTS).map((x, i) => [x[0], problem.y[i]]) : [];
  const [x0, x1] = frame.range;
  const [y0, y1] = padded([...frame.values, ...(decides ? [] : rows.map((row) => row[1]))]);
  const X = (x: number) => LEFT + ((x - x0) / (x1 - x0)) * (W - LEFT - RIGHT);
  const Y = (y: number) => SPLIT - ((y - y0) / (y1 - y0)) * (SPLIT - TOP);
  const value = (i: number, k = 0) => frame.values[i * frame.outputs + k];
  const known = Number.isFinite(value(0));
  const path = (k: number) => Array.from(frame.x, (x, i) => `${i ? "L" : "M"}${X(x).toFixed(2)} ${Y(value(i, k)).toFixed(2)}`).join("");
  const jumps = changes(frame);
  const most = Math.max(1e-12, ...jumps.map(Math.abs));
  const middle = (SPLIT + BOTTOM) / 2 + 12;
  const D = (jump: number) => middle - (jump / most) * ((BOTTOM - SPLIT) / 2 - 18);
  const lit = second ? [] : unit.value !== null ? [unit.value] : atStep.value ? newest.value : [];

  const look = (event: { clientX: number }) => {
    if (second || !known) return null;
    const bounds = svg.current!.getBoundingClientRect();
    const x = x0 + ((((event.clientX - bounds.left) / bounds.width) * W - LEFT) / (W - LEFT - RIGHT)) * (x1 - x0);
    hovered.value = x < x0 || x > x1 ? null : Math.max(0, Math.min(frame.regions - 1, frame.x.findLastIndex((end) => end <= x)));
    return hovered.value;
  };
  const key = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };
    if (!moves[event.key] || second || !known) return;
    event.preventDefault();
    region.value = Math.max(0, Math.min(frame.regions - 1, (region.value ?? 0) + moves[event.key]));
  };
  const chosen = second ? null : (hovered.value ?? region.value);
  const discs: number[] = []; // heights of the numbers above breakpoints: above those that are close
  jumps.forEach((_, i) => {
    const close = discs.filter((_, k) => X(frame.x[i + 1]) - X(frame.x[k + 1]) < 18).sort((a, b) => b - a);
    discs.push(close.reduce((y, other) => (Math.abs(y - other) < 19 ? other - 19 : y), Y(value(i + 1)) - 16));
  });
  const numbersOf = (units: number[]) => [...new Set(second ? [] : units.map((u) => stepNumbers.value[u]).filter((number) => number > 0))];
  const marks = atStep.value && !second ? step.value?.marks : undefined;
  const told = known
    ? `The network as a function of ${problem.features[0]}: ${count(frame.regions - 1, "breakpoint")} and the slope change at each. Arrow keys move between pieces.`
    : `The data plotted against ${problem.features[0]}`;
  return (
    <svg
      ref={svg}
      class="line"
      viewBox={`0 0 ${W} ${H}`}
      role="application"
      tabindex={0}
      aria-label={told}
      onKeyDown={key}
      onPointerMove={look}
      onPointerLeave={() => !second && (hovered.value = null)}
      onClick={(event) => (region.value = look(event))}
    >
      {chosen !== null && chosen < frame.regions && (
        <rect class="chosen" x={X(frame.x[chosen])} width={Math.max(1, X(frame.x[chosen + 1]) - X(frame.x[chosen]))} y={TOP} height={SPLIT - TOP} />
      )}
      {ticks(x0, x1, W / 90).map((x) => (
        <g key={x}>
          <line class="tick" x1={X(x)} x2={X(x)} y1={BOTTOM} y2={BOTTOM + 4} />
          <text x={X(x)} y={BOTTOM + 18} text-anchor="middle">{tick(x)}</text>
        </g>
      ))}
      {ticks(y0, y1, 6).map((y) => (
        <g key={y}>
          <line class="tick" x1={LEFT - 4} x2={LEFT} y1={Y(y)} y2={Y(y)} />
          <text x={LEFT - 7} y={Y(y) + 4} text-anchor="end">{tick(y)}</text>
        </g>
      ))}
      <path class="axis" d={`M${LEFT} ${TOP}V${BOTTOM}H${W - RIGHT}`} />
      <text class="name" x={(LEFT + W - RIGHT) / 2} y={H - 4} text-anchor="middle">{problem.features[0]}</text>
      {rows.map(([x, y], i) =>
        decides ? (
          <line key={i} x1={X(x)} x2={X(x)} y1={SPLIT} y2={SPLIT - 9} stroke={classColor(y, dark.value)} stroke-opacity={0.6} />
        ) : (
          <circle class="datum" key={i} cx={X(x)} cy={Y(y)} r={2.6} />
        ),
      )}
      {jumps.map((_, i) => <line class="breakpoint" key={i} x1={X(frame.x[i + 1])} x2={X(frame.x[i + 1])} y1={TOP} y2={SPLIT} />)}
      {known && Array.from({ length: frame.outputs }, (_, k) => (
        <path key={k} class="function" style={decides && frame.outputs > 1 ? { stroke: classColor(k, dark.value) } : undefined} d={path(k)} />
      ))}
      {jumps.map((jump, i) => {
        const mine = Array.from(frame.unit_ids.slice(frame.unit_starts[i], frame.unit_starts[i + 1]));
        const choose = () => (unit.value = unit.value === mine[0] ? null : mine[0]);
        return (
          <g
            key={i}
            class={mine.some((u) => lit.includes(u)) ? "knot lit" : "knot"}
            role="button"
            tabindex={jumps.length <= MOST_STOPS && !second ? 0 : -1}
            aria-label={`Breakpoint at ${number(frame.x[i + 1])} of unit ${mine.join(", ")}: slope change ${number(jump)}`}
            onClick={(event) => (event.stopPropagation(), second || choose())}
            onKeyDown={(event) => event.key === "Enter" && choose()}
          >
            <circle cx={X(frame.x[i + 1])} cy={Y(value(i + 1))} r={4.5} />
            <line x1={X(frame.x[i + 1])} x2={X(frame.x[i + 1])} y1={middle} y2={D(jump)} />
            <circle cx={X(frame.x[i + 1])} cy={D(jump)} r={4.5} />
            {numbersOf(mine).map((number, k) => (
              <g key={number} class={number === step.value?.number && atStep.value ? "disc newest" : "disc"}>
                <circle cx={X(frame.x[i + 1])} cy={discs[i] - 19 * k} r={8.5} />
                <text x={X(frame.x[i + 1])} y={discs[i] + 4 - 19 * k} text-anchor="middle">{number}</text>
              </g>
            ))}
          </g>
        );
      })}
      {isBefore.value && marks?.fold_point?.length === 1 && (
        <line class="put" x1={X(marks.fold_point[0])} x2={X(marks.fold_point[0])} y1={TOP} y2={SPLIT} />
      )}
      {!decides && marks?.mistakes?.filter((row) => problem.X[row] && row !== marks.instance).map((row) => (
        <circle class="alike" key={row} cx={X(problem.X[row][0])} cy={Y(problem.y[row])} r={6} />
      ))}
      {marks?.instance !== undefined && problem.X[marks.instance] && !decides && (
        <g>
          <circle class="typical" cx={X(problem.X[marks.instance][0])} cy={Y(problem.y[marks.instance])} r={8} />
          <text class="name" x={X(problem.X[marks.instance][0]) + 12} y={Y(problem.y[marks.instance]) + 4}>typical mistake</text>
        </g>
      )}
      {known && <line class="tick" x1={LEFT} x2={W - RIGHT} y1={middle} y2={middle} />}
      {known && <text class="name" x={LEFT + 6} y={SPLIT + 16}>slope change at breakpoints{jumps.length ? (W > 420 ? ` (up to ${number(most)})` : "") : ": none yet"}</text>}
      <text class="name" x={LEFT + 6} y={TOP - 8}>{known ? `f(${problem.features[0]}): ${count(frame.regions, "piece")}` : "data"}</text>
    </svg>
  );
}

/** The slope change at each breakpoint: of the only output, or of the one whose slope changes most. */
function changes({ slopes, outputs, regions }: LineFrame): number[] {
  return Array.from({ length: Math.max(0, regions - 1) }, (_, i) => {
    let best = 0;
    for (let k = 0; k < outputs; k++) {
      const jump = slopes[(i + 1) * outputs + k] - slopes[i * outputs + k];
      if (Math.abs(jump) > Math.abs(best)) best = jump;
    }
    return best;
  });
}

function padded(values: number[]): [number, number] {
  const finite = values.filter(Number.isFinite);
  if (!finite.length) return [-1, 1];
  const low = finite.reduce((a, b) => Math.min(a, b)), high = finite.reduce((a, b) => Math.max(a, b));
  const more = high > low ? 0.06 * (high - low) : 1;
  return [low - more, high + more];
}
