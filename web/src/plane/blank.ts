/** Empty frames, shown before there is a network: a plane or a line around the data, or from -1 to 1. */

import type { Frame, LineFrame, PlaneFrame } from "../frame";
import type { Problem } from "../types";
import { NO_CLASS } from "./mesh";
import { firstPlane } from "./points";

/** The problem shown before there is any: a plane of x and y. */
export const EMPTY: Problem = { name: "", about: "", task: "classification", features: ["x", "y"], classes: null, X: [], y: [], split: [] };

export function blank(problem: Problem, columns: [number, number] = problem.features.length > 2 ? firstPlane(problem) : [0, 1]): Frame {
  return problem.features.length === 1 ? blankLine(problem) : blankPlane(problem, columns);
}

function blankPlane({ X, features, target }: Problem, columns: [number, number]): PlaneFrame {
  const [first, second] = columns.every((k) => k < features.length) ? columns : [0, 1];
  const box: PlaneFrame["box"] = [around(X, first), around(X, second)];
  const whole = new Uint32Array([0, 1, 2, 3]), starts = new Uint32Array([0, 4]);
  const points = features.length > 2 ? Float32Array.from(X.flatMap((x) => box.map(([low, high], k) => (x[k ? second : first] - low) / (high - low)))) : undefined;
  return {
    axes: [features[first] ?? "x", features[second] ?? "y"], fills: features.length > 2 || !!target,
    kind: "plane", moment: -1, slice: 0, outputs: 1, layers: [], affine: [], box, points, origin: [0, 0], basis: [[1, 0], [0, 1]],
    regions: 1, vertices: new Float32Array([0, 0, 1, 0, 1, 1, 0, 1]), values: new Float32Array(4), edges: new Uint32Array(),
    edge_units: new Int32Array(), corners: whole, starts, patterns: new Uint8Array(), pattern_bytes: 0,
    J: new Float32Array(2), y: new Float32Array(1), boundary_edges: new Uint32Array(), part_corners: whole,
    part_starts: starts, part_class: new Uint8Array([NO_CLASS]), part_region: new Uint32Array([0]),
  };
}

function blankLine({ X }: Problem): LineFrame {
  const range = around(X, 0);
  return {
    kind: "line", moment: -1, slice: 0, outputs: 1, layers: [], affine: [], range, regions: 1, x: new Float32Array(range),
    values: new Float32Array([NaN, NaN]), slopes: new Float32Array(1), unit_ids: new Uint32Array(), unit_starts: new Uint32Array([0]),
    patterns: new Uint8Array(), pattern_bytes: 0,
  };
}

function around(X: number[][], axis: number): [number, number] {
  if (!X.length) return [-1, 1];
  const values = X.map((x) => x[axis]);
  const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
  const more = high > low ? 0.05 * (high - low) : 1;
  return [low - more, high + more];
}
