/** What each value of a category adds to a prediction: bars or dots around 0, with their names and numbers. */

import type { ComponentChildren } from "preact";
import { classColor } from "./colors";
import { dark } from "./state";
import type { LevelsData } from "./types";

/** Pixels between the dots of two classes, each of which has a lane of its own. */
const LANE = 8;

type Place = { left: string; top?: string };

/** Bars; `children` draws on each of their ends, at a place in their row. */
export function Levels({ title, levels, limit, more, lane = LANE, children }: LevelsData & { lane?: number; children?: (row: number, output: number, place: Place) => ComponentChildren }) {
  const at = (value: number) => 50 + (50 * Math.max(-1, Math.min(1, value / limit)));
  const place = (value: number, k: number, count: number): Place => (count === 1 ? { left: `${at(value)}%` } : { left: `${at(value)}%`, top: `${2 + k * lane}px` });
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <ul class="levels" aria-label={title || undefined}>
        {levels.map(({ name, values, error, text }, row) => (
          <li key={name}>
            <span title={name}>{name}</span>
            <i style={values.length > 1 ? { height: `${3 + values.length * lane}px` } : undefined}>
              {values.length === 1
                ? <b style={{ left: `${Math.min(50, at(values[0]))}%`, width: `${Math.abs(at(values[0]) - 50)}%`, background: classColor(0, dark.value) }} />
                : values.map((value, k) => <u key={k} style={{ ...place(value, k, values.length), background: classColor(k, dark.value) }} />)}
              {error !== undefined && <s style={{ left: `${at(values[0] - error)}%`, width: `${at(values[0] + error) - at(values[0] - error)}%` }} />}
              {children && values.map((value, output) => children(row, output, place(value, output, values.length)))}
            </i>
            <em>{text}</em>
          </li>
        ))}
      </ul>
      {more && <p class="quiet">{more}</p>}
    </figure>
  );
}
