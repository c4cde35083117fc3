/** What two columns add together: a table of two categories, or a map of two numbers with its creases. */

import { useMemo } from "preact/hooks";
import { Chart } from "./Chart";
import { blend, classColor, css, paper, rgb, type RGB } from "./colors";
import { Levels } from "./Levels";
import { ticks } from "./plane/overlay";
import { dark, number, tick } from "./state";
import type { AnyChartData, Axis, CellsData, MapData } from "./types";

/** Share of a class's color that the largest effect has. */
const STRENGTH = 0.75;

/** A drawing of its map: width and height in all, of the map, and its corner. */
const W = 380, H = 250, WIDE = 240, HIGH = 190, LEFT = 66, TOP = 8;

/** A chart of any kind, which its data tell; without its title where the page has that already. */
export function AnyChart({ chart, untitled = false }: { chart: AnyChartData; untitled?: boolean }) {
  const title = untitled ? undefined : chart.title;
  if ("levels" in chart) return <Levels {...chart} title={title ?? ""} />;
  if ("texts" in chart) return <Cells {...chart} />;
  if ("shades" in chart) return <PairMap {...chart} />;
  return <Chart {...chart} title={title} />;
}

/** The color of an effect as a share of the largest: class 0 below zero, the paper at zero, class 1 above. */
function shade(share: number): RGB {
  const { paper: ground } = paper(dark.value);
  return blend(ground, rgb(classColor(share < 0 ? 0 : 1, dark.value)), STRENGTH * Math.abs(share));
}

/** Ink or paper, whichever has more contrast with a color, nearly as WCAG defines it. */
function readable(color: RGB): string {
  const { ink, paper: ground } = paper(dark.value);
  const light = (one: RGB) => one.reduce((sum, part, k) => sum + [0.2126, 0.7152, 0.0722][k] * (part / 255) ** 2.2, 0.05);
  const contrast = (one: RGB) => Math.max(light(one) / light(color), light(color) / light(one));
  return contrast(rgb(ink)) > contrast(ground) ? ink : css(ground);
}

function Cells({ title, down, across, values, texts, limit, note }: CellsData) {
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <div class="scroll" tabIndex={0} role="region" aria-label={title}>
        <table class="matrix">
          <thead>
            <tr><td /><th colSpan={across.levels.length} scope="colgroup">{across.name}</th></tr>
            <tr><th scope="col">{down.name}</th>{across.levels.map((name) => <th key={name} scope="col">{name}</th>)}</tr>
          </thead>
          <tbody>
            {down.levels.map((name, i) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {texts[i].map((text, k) => {
                  const color = shade(values[i][k] / limit);
                  return <td key={k} style={{ background: css(color), color: readable(color) }}>{text}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {note && <p class="quiet">{note}</p>}
    </figure>
  );
}

function PairMap({ title, x, y, shades, samples, limit, creases, rows }: MapData) {
  const image = useMemo(() => paint(shades, samples), [shades, dark.value]);
  const [[left, right], [low, high]] = [x.range!, y.range!];
  const atX = (value: number) => LEFT + (WIDE * (value - left)) / (right - left || 1);
  const atY = (value: number) => TOP + HIGH - (HIGH * (value - low)) / (high - low || 1);
  const at = ([u, v]: number[]) => `${atX(u).toFixed(1)} ${atY(v).toFixed(1)}`;
  const { creaseLast, ink } = paper(dark.value);
  const ends: [string, number][] = [[`+${number(limit, 2)}`, 10], ["0", HIGH / 2 + 4], [`−${number(limit, 2)}`, HIGH]];
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${W} ${H}`} role="img" aria-label={`Map of ${title}`}>
        <image x={LEFT} y={TOP} width={WIDE} height={HIGH} preserveAspectRatio="none" href={image} />
        <path class="crease" d={creases.map((line) => `M${line.map(at).join("L")}`).join("")} fill="none" stroke={css(creaseLast)} stroke-width={0.6} opacity={0.55} />
        <path d={rows.map((row) => `M${at(row)}h0`).join("")} stroke={ink} stroke-width={2.4} stroke-linecap="round" opacity={0.45} />
        <rect class="axis" x={LEFT} y={TOP} width={WIDE} height={HIGH} fill="none" />
        {marks(x, left, right).map(([value, text]) => <text key={text} x={atX(value)} y={TOP + HIGH + 15} text-anchor="middle">{text}</text>)}
        {marks(y, low, high).map(([value, text]) => <text key={text} x={LEFT - 6} y={atY(value) + 4} text-anchor="end">{text}</text>)}
        <text class="name" x={LEFT + WIDE / 2} y={H - 8} text-anchor="middle">{x.name}</text>
        <text class="name" transform={`translate(12 ${TOP + HIGH / 2}) rotate(-90)`} text-anchor="middle">{y.name}</text>
        {Array.from({ length: 32 }, (_, k) => (
          <rect key={k} x={LEFT + WIDE + 10} y={TOP + (k * HIGH) / 32} width={10} height={HIGH / 32 + 0.5} fill={css(shade(1 - (2 * k) / 31))} />
        ))}
        {ends.map(([text, down]) => <text key={text} x={LEFT + WIDE + 24} y={TOP + down}>{text}</text>)}
      </svg>
    </figure>
  );
}

/** Where an axis has labels: those of dates and words, or round numbers. */
function marks(axis: Axis, low: number, high: number): [number, string][] {
  return axis.ticks ?? ticks(low, high, 5).map((value) => [value, tick(value)]);
}

/** The pixels of a map as a data URI: its values as bytes, in base64, from the upper left. */
function paint(shades: string, [columns, rows]: [number, number]): string {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext("2d")!, pixels = context.createImageData(columns, rows);
  const bytes = Int8Array.from(atob(shades), (letter) => letter.charCodeAt(0));
  bytes.forEach((byte, k) => pixels.data.set([...shade(byte / 127), 255], 4 * k));
  context.putImageData(pixels, 0, 0);
  return canvas.toDataURL();
}
