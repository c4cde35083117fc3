/** What each value of a category adds to a prediction: bars or dots around 0, with their names and numbers. */

import { classColor } from "./colors";
import { dark } from "./state";
import type { LevelsData } from "./types";

export function Levels({ title, levels, limit, more }: LevelsData) {
  const at = (value: number) => 50 + (50 * Math.max(-1, Math.min(1, value / limit)));
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <ul class="levels" aria-label={title}>
        {levels.map(({ name, values, error, text }) => (
          <li key={name}>
            <span>{name}</span>
            <i>
              {values.length === 1
                ? <b style={{ left: `${Math.min(50, at(values[0]))}%`, width: `${Math.abs(at(values[0]) - 50)}%`, background: classColor(0, dark.value) }} />
                : values.map((value, k) => <u key={k} style={{ left: `${at(value)}%`, background: classColor(k, dark.value) }} />)}
              {error !== undefined && <s style={{ left: `${at(values[0] - error)}%`, width: `${at(values[0] + error) - at(values[0] - error)}%` }} />}
            </i>
            <em>{text}</em>
          </li>
        ))}
      </ul>
      {more && <p class="quiet">{more}</p>}
    </figure>
  );
}
