/** A plane with nothing on it yet, around the data or from -1 to 1. */

import type { PlaneFrame } from "../frame";
import { NO_CLASS } from "./mesh";
import type { Problem } from "../types";

export function blank(problem: Problem | null): PlaneFrame {
  const box = [0, 1].map((axis) => {
    const values = problem?.X.map((x) => x[axis]) ?? [];
    if (!values.length) return [-1, 1];
    const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    const more = high > low ? 0.05 * (high - low) : 1;
    return [low - more, high + more];
  }) as PlaneFrame["box"];
  const whole = new Uint32Array([0, 1, 2, 3]), starts = new Uint32Array([0, 4]);
  return {
    kind: "plane", moment: -1, slice: 0, outputs: 1, layers: [], affine: [], box, origin: [0, 0], basis: [[1, 0], [0, 1]],
    regions: 1, vertices: new Float32Array([0, 0, 1, 0, 1, 1, 0, 1]), values: new Float32Array(4), edges: new Uint32Array(),
    edge_units: new Int32Array(), corners: whole, starts, patterns: new Uint8Array(), pattern_bytes: 0,
    J: new Float32Array(2), y: new Float32Array(1), boundary_edges: new Uint32Array(), part_corners: whole,
    part_starts: starts, part_class: new Uint8Array([NO_CLASS]), part_region: new Uint32Array([0]),
  };
}
