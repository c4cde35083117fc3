/** Controls of the picture: colors, data, slice, comparison, reset of the view. */

import { named } from "./PicturePanel";
import type { Frame } from "./frame";
import { camera, WHOLE } from "./plane/camera";
import type { Coloring } from "./plane/mesh";
import { coloring, moment, pinned, run, showData, slice } from "./state";

const COLORINGS: [Coloring, string][] = [["class", "Class"], ["value", "Confidence"], ["regions", "Regions"]];

export function Toolbar({ now }: { now: Frame | null }) {
  const all = run.value;
  const slices = all?.slices ?? [];
  const pin = () => {
    if (pinned.value || !now || !all) return (pinned.value = null);
    pinned.value = { run: all, moment: moment.value, frame: now, label: named(all, moment.value) };
  };
  const classes = (all?.problem.classes?.length ?? 0) > 0;
  return (
    <div class="toolbar">
      {now?.kind === "plane" && (
        <div class="tabs" role="group" aria-label="Colors">
          {COLORINGS.filter(([key]) => classes || key !== "value").map(([key, text]) => (
            <button key={key} aria-pressed={coloring.value === key || (key === "class" && !classes && coloring.value === "value")} onClick={() => (coloring.value = key)}>
              {key === "class" && !classes ? "Value" : text}
            </button>
          ))}
        </div>
      )}
      {now && !!all?.problem.X.length && (
        <label class="check">
          <input type="checkbox" checked={showData.value} onChange={() => (showData.value = !showData.value)} /> Data
        </label>
      )}
      {slices.length > 1 && (
        <label class="slice">
          {all?.slices_are ?? "Slice"}
          <select value={slice.value} onChange={(event) => (slice.value = Number(event.currentTarget.value))}>
            {slices.map((name, k) => <option key={k} value={k}>{name}</option>)}
          </select>
        </label>
      )}
      {now?.kind === "plane" && camera.value !== WHOLE && <button onClick={() => (camera.value = WHOLE)}>Reset view</button>}
      {now && <button class="end" aria-pressed={!!pinned.value} title={pinned.value ? "Unpin the other view" : "Pin this view for comparison"} onClick={pin}>{pinned.value ? "End comparison" : "Compare"}</button>}
    </div>
  );
}
