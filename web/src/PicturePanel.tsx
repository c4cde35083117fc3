/** The picture of the current moment, a pinned one beside it, and the legend. */

import { useMemo } from "preact/hooks";
import { Curves } from "./Curves";
import { draft, drawn, editing, put } from "./draft";
import type { Frame } from "./frame";
import { Legend } from "./Legend";
import { LineView } from "./LineView";
import { MiniMaps } from "./MiniMaps";
import { blank, EMPTY } from "./plane/blank";
import { PlaneView } from "./plane/PlaneView";
import type { Editor } from "./plane/stage";
import { chosenPlane } from "./SlicePanel";
import { errors, frame, moment, pinned, run, slice, source, waiting } from "./state";
import { Toolbar } from "./Toolbar";
import type { Run } from "./types";

export function PicturePanel() {
  const all = run.value;
  const drawing = source.value!.live && draft.value.kind === "draw" && (editing.value || !all?.moments.length);
  const problem = (drawing ? null : all?.problem) ?? EMPTY;
  const empty = useMemo(() => blank(problem, chosenPlane.value ?? undefined), [problem, chosenPlane.value]);
  const editor = useMemo<Editor | undefined>(
    () => (drawing ? { points: drawn.value, add: put } : undefined),
    [drawing, drawn.value],
  );
  const now = drawing ? null : frame.value;
  const kept = pinned.value;
  return (
    <figure class={kept ? "picture two" : "picture"}>
      <Toolbar now={now} />
      <div class="planes">
        <Shown frame={now ?? empty} shown={{ ...(all ?? NOTHING), problem }} at={moment.value} editor={editor} label={problem.name || "An empty plane"} side={!!kept} />
        {kept && <Shown frame={kept.frame} shown={kept.run} at={kept.moment} label={kept.label} second side />}
      </div>
      {waiting.value && <p class="quiet" role="status">Drawing…</p>}
      <p class="error" role="alert">{errors.value.plane}</p>
      {!drawing && <MiniMaps />}
      <Legend now={now} drawing={drawing} />
    </figure>
  );
}

const NOTHING: Run = {
  problem: EMPTY, setting: {}, measure: "", records: [], moments: [], ended: "", kept: null, sections: [],
  epochs: { epoch: [], loss: [], score: [], validation_loss: [], validation_score: [], parameters: [] },
};

type Props = { frame: Frame; shown: Run; at: number; label: string; second?: boolean; side: boolean; editor?: Editor };

/** A picture; beside another one it has a name and its own curves. */
function Shown({ frame, shown, at, label, second = false, side, editor }: Props) {
  const { problem } = shown;
  return (
    <div class="shown">
      {side && <p class="pin">{second ? `Pinned: ${label}` : named(shown, at)}</p>}
      {frame.kind === "line" ? (
        <LineView frame={frame} problem={problem} second={second} />
      ) : (
        <PlaneView frame={frame} problem={problem} label={second ? `Pinned for comparison: ${label}` : label} second={second} editor={editor} />
      )}
      {side && shown.epochs.epoch.length > 1 && <Curves of={shown} at={at} small />}
    </div>
  );
}

/** The name of a moment in a comparison. */
export function named(shown: Run, at: number): string {
  const now = shown.moments[at];
  if (!now) return shown.problem.name;
  if (!shown.epochs.epoch.length && shown.slices) return shown.slices[slice.value];
  const what = shown.problem.features.length === 1 ? "pieces" : "regions";
  const regions = now.regions === null ? "" : `, ${now.regions.toLocaleString("en")} ${what}`;
  return `${String(shown.setting.how ?? shown.problem.name)}, epoch ${now.epoch}${regions}`;
}
