/** A report's sections by question: text, code, tables, bars, matrices, charts, pictures. */

import { useState } from "preact/hooks";
import { AnyChart } from "./Pairs";
import { dark, run } from "./state";
import type { Bar, Matrix as MatrixData, Section, Table as TableData } from "./types";

/** Rows of a table above which the others are shown on demand, and how many are shown until then; fewer on narrow screens. */
const MANY = { wide: [16, 12], narrow: [8, 5] };

/** Charts that a narrow screen shows until it is asked for all: those of full height, and low ones. */
const FEW = { high: 2, low: 7 };

/** The sections before or after the viewer, under the headings of their groups. */
export function Sections({ part }: { part: "before" | "after" }) {
  const all = run.value?.sections ?? [];
  const at = all.findIndex((section) => section.viewer);
  const shown = part === "before" ? all.slice(0, Math.max(0, at)) : all.slice(at + 1);
  const heading = part === "before" ? undefined : all[at]?.group; // the viewer has it already
  const groups: { title: string; sections: Section[] }[] = [];
  for (const section of shown) {
    const title = section.group ?? "";
    if (groups.at(-1)?.title !== title) groups.push({ title, sections: [] });
    groups.at(-1)!.sections.push(section);
  }
  return (
    <>
      {groups.map(({ title, sections }) => (
        <div key={title} class="group">
          {title && title !== heading && <GroupTitle title={title} />}
          <div class="sections">{sections.map((section) => <Part key={section.title} {...section} />)}</div>
        </div>
      ))}
    </>
  );
}

export function GroupTitle({ title }: { title: string }) {
  return <h2 class="question" id={anchor(title)}>{title}</h2>;
}

/** Links to the groups. */
export function Contents() {
  const titles = [...new Set(run.value?.sections.map((section) => section.group).filter(Boolean))] as string[];
  if (titles.length < 2) return null;
  return <nav class="contents" aria-label="Contents">{titles.map((title) => <a key={title} href={`#${anchor(title)}`} onClick={(event) => go(event, title)}>{title}</a>)}</nav>;
}

/** Scroll to a group; the address holds the state of the viewer and stays. */
function go(event: MouseEvent, title: string): void {
  event.preventDefault();
  document.getElementById(anchor(title))?.scrollIntoView();
}

function anchor(title: string): string {
  return title.toLowerCase().replace(/[^a-z]+/g, "-").replace(/^-|-$/g, "");
}

function Part(section: Section) {
  const { title, text, code, table, picture, bars, matrix, charts } = section;
  const columns = table?.columns.length ?? 0;
  const size = section.size ?? (columns > 7 ? "full" : columns > 4 || (charts?.length ?? 0) > 1 ? "wide" : "");
  return (
    <section class={size}>
      <h2>{title}</h2>
      {text && <p>{text}</p>}
      {code && <Code text={code} />}
      {bars && <Bars rows={bars} title={title} />}
      {matrix && <Matrix {...matrix} />}
      {charts && <Charts charts={charts} />}
      {picture && <img src={typeof picture === "string" ? picture : dark.value ? picture.dark : picture.light} alt={title} />}
      {table && <Table {...table} title={title} />}
      {section.note && <p class="quiet">{section.note}</p>}
    </section>
  );
}

/** Charts side by side; on narrow screens the first ones until asked for all. */
function Charts({ charts }: Required<Pick<Section, "charts">>) {
  const [all, showAll] = useState(false);
  const few = charts.some((chart) => !("levels" in chart || ("low" in chart && chart.low))) ? FEW.high : FEW.low;
  const shown = all || innerWidth > 600 || charts.length <= few + 1 ? charts : charts.slice(0, few);
  return (
    <>
      <div class="charts">{shown.map((chart, k) => <AnyChart key={k} chart={chart} />)}</div>
      {shown.length < charts.length && <button class="link" onClick={() => showAll(true)}>Show all {charts.length} charts</button>}
    </>
  );
}

/** Commands or code, with a button that copies them. */
function Code({ text }: { text: string }) {
  const [said, say] = useState("Copy");
  const copy = async () => {
    say((await copyText(text)) ? "Copied" : "Press Ctrl+C");
    setTimeout(() => say("Copy"), 2000);
  };
  return (
    <div class="copyable">
      <pre tabIndex={0}><code>{text}</code></pre>
      <button class="copy" onClick={copy}>{said}</button>
    </div>
  );
}

/** Copy a text; a page from a file may have no clipboard of its own, then by a selection. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function Table({ columns, rows, title }: TableData & { title: string }) {
  const [all, showAll] = useState(false);
  const [many, few] = innerWidth <= 600 ? MANY.narrow : MANY.wide;
  const shown = all || rows.length <= many ? rows : rows.slice(0, few);
  const numeric = columns.map((_, k) => k > 0 && rows.every((row) => /^([+−±–~-]?[\d.,]+ ?(e[+−-]?\d+|%)?( ± [\d.,]+(e[+−-]?\d+)?)?|–|)$/.test(row[k] ?? "")));
  const long = columns.map((_, k) => rows.some((row) => (row[k] ?? "").length > 60));
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={title}>
        <table class={columns.length > 3 ? "stack" : columns.length < 3 ? "pair" : ""}>
          {columns.some(Boolean) && <thead><tr>{columns.map((name, k) => <th key={k} scope="col" class={numeric[k] ? "number-cell" : ""}>{name}</th>)}</tr></thead>}
          <tbody>
            {shown.map((row, i) => (
              <tr key={i}>{row.map((cell, k) => <td key={k} data-name={columns[k]} class={numeric[k] ? "number-cell" : long[k] ? "long" : ""}>{cell}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < rows.length && <button class="link" onClick={() => showAll(true)}>Show all {rows.length} rows</button>}
    </>
  );
}

/** Horizontal bars with their numbers. */
function Bars({ rows, title }: { rows: Bar[]; title: string }) {
  return (
    <ul class="bars" aria-label={title}>
      {rows.map(({ name, share, text, main }, k) => (
        <li key={k} class={main ? "main" : ""}>
          <span>{name}</span>
          <i><b style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%` }} /></i>
          <em>{text}</em>
        </li>
      ))}
    </ul>
  );
}

/** A confusion matrix: a row for each true class, a column for each predicted one; the diagonal is right. */
function Matrix({ rows, columns, values, down, across }: MatrixData) {
  const sums = values.map((row) => row.reduce((a, b) => a + b, 0) || 1);
  const letters = Math.max(...[...columns, ...down.split(" ")].map((word) => word.length));
  const width = Math.min(Math.max(7 * letters + 8, 44), 96); // the names of most classes fit into one line
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`${down} by ${across}`}>
      <table class="matrix" style={{ minWidth: `${(columns.length + 1) * width}px` }}>
        <thead>
          <tr><td /><th colSpan={columns.length} scope="colgroup">{across}</th></tr>
          <tr><th scope="col">{down}</th>{columns.map((name) => <th key={name} scope="col">{name}</th>)}</tr>
        </thead>
        <tbody>
          {values.map((row, i) => (
            <tr key={i}>
              <th scope="row">{rows[i]}</th>
              {row.map((value, k) => (
                <td key={k} class={i === k ? "correct" : value ? "wrong" : ""} title={`${Math.round((100 * value) / sums[i])}% of ${rows[i]}`}>
                  <i style={{ opacity: 0.75 * (value / sums[i]) }} /><span>{value}</span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
