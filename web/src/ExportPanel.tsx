/** Files to download. */

import { ask, busy, errors, EXPORTING, run } from "./state";

const EXPORTS: [string, string][] = [
  ["model", "Network"], ["onnx", "ONNX"], ["report", "Report (HTML)"], ["animation", "Animation (GIF)"], ["code", "Python code"],
];

export function ExportPanel() {
  const nothing = !run.value?.moments.length;
  return (
    <details>
      <summary>Export</summary>
      <div class="row wrap">
        {EXPORTS.map(([what, label]) => (
          <button key={what} disabled={nothing || !!busy.value} onClick={() => ask({ do: "export", what }, `${EXPORTING}${label}…`, "export")}>{label}</button>
        ))}
      </div>
      {nothing && <p class="quiet">Start a run to export its results.</p>}
      <p class="error" role="alert">{errors.value.export}</p>
    </details>
  );
}
