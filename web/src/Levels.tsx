/** What each value of a category adds to a prediction: bars or dots around 0, with their names and numbers. */

import type { ComponentChildren } from "preact";
import { classColor } from "./colors";
import { dark } from "./state";
import type { LevelsData } from "./types";

/** Bars; `children` draws on each of their ends, at a place from the left. */
export function Levels({ title, levels, limit, more, children }: LevelsData & { children?: (row: number, output: number, left: string) => ComponentChildren }) {
  const at = (value: number) => 50 + (50 * Math.max(-1, Math.min(1, value / limit)));
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <ul class="levels" aria-label={title || undefined}>
        {levels.map(({ name, values, error, text }, row) => (
          <li key={name}>
            <span title={name}>{name}</span>
            <i>
              {values.length === 1
                ? <b style={{ left: `${Math.min(50, at(values[0]))}%`, width: `${Math.abs(at(values[0]) - 50)}%`, background: classColor(0, dark.value) }} />
                : values.map((value, k) => <u key={k} style={{ left: `${at(value)}%`, background: classColor(k, dark.value) }} />)}
              {error !== undefined && <s style={{ left: `${at(values[0] - error)}%`, width: `${at(values[0] + error) - at(values[0] - error)}%` }} />}
              {children && values.map((value, output) => children(row, output, `${at(value)}%`))}
            </i>
            <em>{text}</em>
          </li>
        ))}
      </ul>
      {more && <p class="quiet">{more}</p>}
    </figure>
  );
}
