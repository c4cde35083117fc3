/** A report's sections: text, code, tables, pictures. */

import { dark, run } from "./state";
import type { Section } from "./types";

export function Sections() {
  return (
    <div class="sections">
      {run.value?.sections.map((section) => <Part key={section.title} {...section} />)}
    </div>
  );
}

function Part({ title, text, code, table, picture }: Section) {
  const wide = table !== undefined && table.columns.length > 4;
  return (
    <section class={wide ? "wide" : ""}>
      <h2>{title}</h2>
      {text && <p>{text}</p>}
      {code && <pre tabIndex={0}><code>{code}</code></pre>}
      {picture && <img src={typeof picture === "string" ? picture : dark.value ? picture.dark : picture.light} alt={title} />}
      {table && (
        <div class="scroll" tabIndex={0} role="region" aria-label={title}>
          <table>
            <thead><tr>{table.columns.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
            <tbody>{table.rows.map((row, i) => <tr key={i}>{row.map((cell, k) => <td key={k}>{cell}</td>)}</tr>)}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}
