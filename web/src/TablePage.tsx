/** A model of a table: a card for each column, with its curve to change by hand, and one for each plane. */

import { Chart } from "./Chart";
import { classColor } from "./colors";
import { CurveEditor } from "./CurveEditor";
import { LevelEditor } from "./LevelEditor";
import { AnyChart } from "./Pairs";
import { ask, busy, dark } from "./state";
import type { ColumnCurve, ColumnPlane, TableModel } from "./types";

export function TablePage({ table }: { table: TableModel }) {
  const { curves, planes, words, opening, unit } = table;
  const outputs = curves[0]?.outputs ?? [];
  return (
    <div class="cards" aria-label="Curves and planes">
      <section class="words">
        <h2>{table.name}</h2>
        <details><summary>{opening[0]?.toUpperCase() + opening.slice(1)}</summary><ul>{words.map((line) => <li key={line}>{line}</li>)}</ul></details>
        <p class="quiet">Curves are in {unit}, the most important first; gray at the bottom shows where the rows are.</p>
        {outputs.length > 1 && <p class="key" aria-label="Colors">{outputs.map((name, k) => <span key={name}><i style={{ borderColor: classColor(k, dark.value) }} /> {name}</span>)}</p>}
      </section>
      {curves.map((curve) => <Column key={`${curve.column}/${curve.input}/${curve.chart.title}`} {...curve} />)}
      {planes.map((plane) => <Plane key={plane.columns.join("/")} {...plane} />)}
    </div>
  );
}

function Column(curve: ColumnCurve) {
  const { column, chart, input } = curve;
  const change = () => ask({ do: "edit", change: "flatten", column }, "Changing the model…", "table");
  return (
    <section class="card">
      <div class="head"><h2>{chart.title}</h2><button disabled={!!busy.value} onClick={change} aria-label={`Flatten ${column}`} title="Let this column add nothing">Flatten</button></div>
      {"levels" in chart ? <LevelEditor {...curve} chart={chart} /> : input ? <CurveEditor {...curve} chart={chart} /> : <Chart {...chart} title={undefined} />}
      <LeftOut levels={curve.left_out} />
    </section>
  );
}

function LeftOut({ levels = [] }: { levels?: string[] }) {
  return levels.length ? <p class="quiet">Left out here, with smaller effects: {levels.join(", ")}.</p> : null;
}

function Plane({ columns, chart, left_out }: ColumnPlane) {
  const name = columns.join(" and ");
  const change = () => ask({ do: "edit", change: "forbid", columns }, "Changing the model…", "table");
  return (
    <section class="card">
      <div class="head"><h2>{name}</h2><button disabled={!!busy.value} onClick={change} aria-label={`Forbid ${name}`} title="Let these columns add nothing together">Forbid</button></div>
      <AnyChart chart={chart} untitled />
      <LeftOut levels={left_out} />
    </section>
  );
}
