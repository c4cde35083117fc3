/** The address restores the view: the draft, the moment, the slice and the camera. */

import { batch, effect } from "@preact/signals";
import { changes } from "./draft";
import { camera, WHOLE } from "./plane/camera";
import { following, moment, run, slice } from "./state";

const entries = new URLSearchParams(location.hash.slice(1));

/** The moment in the address; null if there is none, or if the run does not have it. */
export function momentFromAddress(): number | null {
  const index = Number(entries.get("moment") ?? NaN);
  const count = run.peek()?.moments.length ?? 0;
  return Number.isInteger(index) && index >= 0 && index < count ? index : null;
}

/** Restore the view from the address, once there is a run. */
export function fromAddress(): void {
  batch(() => {
    const index = momentFromAddress();
    if (index !== null) [moment.value, following.value] = [index, false];
    const number = Number(entries.get("slice") ?? NaN);
    if (Number.isInteger(number) && number > 0 && number < (run.peek()?.slices?.length ?? 0)) slice.value = number;
    const [u, v, zoom] = (entries.get("view") ?? "").split(",").map(Number);
    if (u >= 0 && u <= 1 && v >= 0 && v <= 1 && zoom >= 0.5 && zoom <= 5000) camera.value = { u, v, zoom };
  });
}

/** Keep the address up to date, with a delay: browsers limit how often it may change. */
export function keepInAddress(live: boolean): void {
  let timer = 0;
  effect(() => {
    const { u, v, zoom } = camera.value;
    const parts: [string, string][] = live ? changes() : [];
    const all = run.value;
    if (all && moment.value !== all.moments.length - 1 && all.moments.length > 1) parts.push(["moment", String(moment.value)]);
    if (slice.value) parts.push(["slice", String(slice.value)]);
    if (camera.value !== WHOLE) parts.push(["view", [u, v, zoom].map((value) => Number(value.toPrecision(6))).join(",")]);
    const text = new URLSearchParams(parts).toString();
    clearTimeout(timer);
    timer = window.setTimeout(() => history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search), 150);
  });
}
