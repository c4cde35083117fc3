/** A small chart: lines, points and bars over two named axes. */

import type { ComponentChildren } from "preact";
import { classColor } from "./colors";
import { logTicks, ticks } from "./plane/overlay";
import { dark, tick } from "./state";
import type { Axis, ChartData, Series } from "./types";

const W = 380, HIGH = 230, LOW = 136, LEFT = 56, RIGHT = 16, TOP = 10;

/** From values to places in the drawing, whose corners are in units of its view box. */
export type Place = { x: (value: number) => number; y: (value: number) => number; left: number; right: number; top: number; bottom: number };

/** Share of the height that the density of rows takes. */
const DENSITY = 0.2;

/** A chart; `children` draws on top of it. */
export function Chart({ title, x, y, series, diagonal, label, low: flat, children }: ChartData & { children?: (place: Place) => ComponentChildren }) {
  const H = flat ? LOW : HIGH, BOTTOM = x.name ? 40 : 22;
  const [left, right] = extent(x, series.flatMap((one) => one.x));
  const values = series.filter((one) => one.kind !== "density").flatMap((one) => [...one.y, ...(one.top ?? []), ...(one.kind === "bars" ? [0] : [])]);
  const [low, high] = extent(y, values);
  const place: Place = {
    x: (value) => LEFT + ((W - LEFT - RIGHT) * (scaled(x, value) - left)) / (right - left || 1),
    y: (value) => H - BOTTOM - ((H - BOTTOM - TOP) * (scaled(y, value) - low)) / (high - low || 1),
    left: LEFT, right: W - RIGHT, top: TOP, bottom: H - BOTTOM,
  };
  const named = series.filter((one) => one.name);
  const from = Math.max(left, low), to = Math.min(right, high);
  return (
    <figure class="chart">
      {title && <figcaption>{title}</figcaption>}
      <svg viewBox={`0 0 ${W} ${H}`} role={children ? "group" : "img"} aria-label={label || title || `${y.name} by ${x.name}`}>
        {(y.log ? logTicks(low, high) : ticks(low, high, 4)).map((value) => (
          <g key={`y${value}`}>
            <line class="grid" x1={LEFT} x2={W - RIGHT} y1={place.y(value)} y2={place.y(value)} />
            <text x={LEFT - (children ? 12 : 6)} y={place.y(value) + 4} text-anchor="end">{tick(value, 4)}</text>
          </g>
        ))}
        {x.ticks
          ? x.ticks.map(([value, text]) => <text key={text} x={place.x(value)} y={H - BOTTOM + 15} text-anchor="middle">{text}</text>)
          : x.labels
          ? x.labels.map((text, k) => <text key={text} x={place.x(k)} y={H - BOTTOM + 15} text-anchor="middle">{short(text, x.labels!.length)}</text>)
          : (x.log ? logTicks(left, right) : ticks(left, right, 5)).map((value) => <text key={`x${value}`} x={place.x(value)} y={H - BOTTOM + 15} text-anchor="middle">{tick(value)}</text>)}
        {flat && low < 0 && high > 0 && <line class="zero" x1={LEFT} x2={W - RIGHT} y1={place.y(0)} y2={place.y(0)} />}
        <path class="axis" d={`M${LEFT} ${TOP}V${H - BOTTOM}H${W - RIGHT}`} />
        {x.name && <text class="name" x={(LEFT + W - RIGHT) / 2} y={H - 8} text-anchor="middle">{x.name}</text>}
        <text class="name" transform={`translate(12 ${(TOP + H - BOTTOM) / 2}) rotate(-90)`} text-anchor="middle">{y.name}</text>
        {diagonal && <line class="diagonal" x1={place.x(from)} y1={place.y(from)} x2={place.x(to)} y2={place.y(to)} />}
        {series.map((one, k) => <Drawn key={k} {...one} place={place} count={series.length} floor={H - BOTTOM} />)}
        {children?.(place)}
      </svg>
      {named.length > 0 && (
        <p class="key">{named.map((one) => <span key={one.name}><i style={{ borderColor: tone(one) }} /> {one.name}</span>)}</p>
      )}
    </figure>
  );
}

function Drawn({ kind, x, y, top, color, faint, marks, place, floor }: Series & { place: Place; count: number; floor: number }) {
  const stroke = tone({ color });
  if (kind === "density") {
    const most = Math.max(...y, 1), height = DENSITY * (floor - TOP);
    return <g class="density">{y.map((count, i) => <rect key={i} x={place.x(x[i])} y={floor - (height * count) / most} width={Math.max(0.5, place.x(x[i + 1]) - place.x(x[i]))} height={(height * count) / most} />)}</g>;
  }
  if (kind === "band") {
    const upper = x.map((value, i) => `${i ? "L" : "M"}${place.x(value).toFixed(1)} ${place.y(top![i]).toFixed(1)}`).join("");
    const lower = x.map((value, i) => `L${place.x(value).toFixed(1)} ${place.y(y[i]).toFixed(1)}`).reverse().join("");
    return <path d={`${upper}${lower}Z`} fill={stroke} opacity={0.18} />;
  }
  if (kind === "points")
    return <g opacity={faint ? 0.35 : 0.75}>{x.map((value, i) => <circle key={i} cx={place.x(value)} cy={place.y(y[i])} r={2.6} fill={stroke} />)}</g>;
  if (kind === "bars") {
    const wide = x.length > 1 ? Math.abs(place.x(x[1]) - place.x(x[0])) - 1 : 30;
    const base = place.y(0);
    return (
      <g opacity={faint ? 0.45 : 0.85}>
        {x.map((value, i) => <rect key={i} x={place.x(value) - wide / 2} y={Math.min(base, place.y(y[i]))} width={Math.max(1, wide)} height={Math.abs(place.y(y[i]) - base)} fill={stroke} />)}
      </g>
    );
  }
  const path = x.map((value, i) => `${i ? "L" : "M"}${place.x(value).toFixed(1)} ${place.y(y[i]).toFixed(1)}`).join("");
  return (
    <>
      <path d={path} fill="none" stroke={stroke} stroke-width={faint ? 0.8 : 2} opacity={faint ? 0.3 : 1} />
      {marks && x.slice(1, -1).map((value, i) => <circle key={i} class="knot" cx={place.x(value)} cy={place.y(y[i + 1])} r={2.8} stroke={stroke} />)}
    </>
  );
}

/** The color of a series: that of a class, or the ink. */
function tone({ color }: Pick<Series, "color">): string {
  return color === undefined ? "var(--ink)" : classColor(color, dark.value);
}

/** A value as its axis counts: its logarithm where that is logarithmic. */
function scaled({ log }: Axis, value: number): number {
  return log ? Math.log10(value) : value;
}

function extent(axis: Axis, all: number[]): [number, number] {
  if (axis.range) return axis.log ? [Math.log10(axis.range[0]), Math.log10(axis.range[1])] : axis.range;
  const values = axis.log ? all.map(Math.log10) : all;
  const low = values.reduce((a, b) => Math.min(a, b), Infinity), high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!Number.isFinite(low)) return [0, 1];
  const more = high > low ? 0.03 * (high - low) : 0.5;
  return [low - more, high + more];
}

function short(text: string, count: number): string {
  const most = Math.max(4, Math.floor(52 / count));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
