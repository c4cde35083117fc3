/** The plane with its exact regions, as a component around the stage that draws it. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { PlaneFrame } from "../frame";
import { count } from "../state";
import type { Problem } from "../types";
import { frameColumns } from "./overlay";
import { Stage, type Editor } from "./stage";

type Props = { frame: PlaneFrame; problem: Problem; label: string; second?: boolean; editor?: Editor };

export function PlaneView({ frame, problem, label, second = false, editor }: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const stage = useRef<Stage | null>(null);
  const trouble = useSignal("");

  useLayoutEffect(() => {
    try {
      stage.current = new Stage(holder.current!, (message) => (trouble.value = message));
    } catch (caught) {
      trouble.value = (caught as Error).message;
      return;
    }
    return () => stage.current?.close();
  }, []);
  useLayoutEffect(() => stage.current?.show({ frame, problem, editor, second }), [frame, problem, editor]);

  const [across, up] = frameColumns(frame, problem.features);
  const keys = editor
    ? "Arrow keys move the cursor, Enter adds a point."
    : "Arrow keys pan, plus and minus zoom, 0 resets the view; Shift and arrow keys move a cursor that inspects regions, Enter selects one.";
  const told = `${label}: ${count(frame.regions, "region")} in the plane of ${across} and ${up}. ${keys}`;
  return (
    <div class="plane" ref={holder} tabIndex={0} role="application" aria-label={told}>
      <canvas class="sheet" aria-hidden="true" />
      <canvas aria-hidden="true" hidden />
      <canvas aria-hidden="true" hidden />
      <canvas aria-hidden="true" hidden />
      <canvas aria-hidden="true" />
      <canvas aria-hidden="true" />
      <p class="error trouble" role="alert">{trouble}</p>
    </div>
  );
}
