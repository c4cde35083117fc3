/** The nearest change of decision in a plane: all segments of the boundary are known, so nothing is searched. */

import type { PlaneFrame } from "../frame";
import type { Problem } from "../types";
import { locator } from "./locate";

export type Flip = {
  from: [number, number]; // in units of the box
  to: [number, number];
  change: [number, number]; // in slice coordinates
  distance: number; // in standard deviations of the axes where their units are unlike
  decided: number; // class here
  reached: number; // class beyond
  certain: boolean; // false if the boundary outside the box may be nearer
};

/** What counts as 1 along each axis, in slice coordinates: a standard deviation of the data where units are unlike. */
export function scales(frame: PlaneFrame, problem: Problem): [number, number] {
  if (!frame.fills) return [1, 1];
  return [0, 1].map((axis) => {
    const [low, high] = frame.box[axis];
    const values = frame.points
      ? Array.from({ length: frame.points.length / 2 }, (_, i) => low + frame.points![2 * i + axis] * (high - low))
      : problem.X.map((row) => row[axis]);
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const spread = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length);
    return spread > 0 ? spread : 1;
  }) as [number, number];
}

/** The nearest point of the boundary to a point in units of the box; null without a boundary in the box. */
export function nearestFlip(frame: PlaneFrame, [u, v]: [number, number], [sx, sy]: [number, number]): Flip | null {
  const { vertices, boundary_edges: ends, box } = frame;
  const [wide, high] = [(box[0][1] - box[0][0]) / sx, (box[1][1] - box[1][0]) / sy];
  let best = Infinity, to: [number, number] | null = null;
  for (let e = 0; e < ends.length; e += 2) {
    const [a, b] = [2 * ends[e], 2 * ends[e + 1]];
    const [ax, ay] = [(vertices[a] - u) * wide, (vertices[a + 1] - v) * high];
    const [dx, dy] = [(vertices[b] - vertices[a]) * wide, (vertices[b + 1] - vertices[a + 1]) * high];
    const length = dx * dx + dy * dy;
    const share = length > 0 ? Math.max(0, Math.min(1, -(ax * dx + ay * dy) / length)) : 0;
    const distance = Math.hypot(ax + share * dx, ay + share * dy);
    if (distance >= best) continue;
    best = distance;
    to = [vertices[a] + share * (vertices[b] - vertices[a]), vertices[a + 1] + share * (vertices[b + 1] - vertices[a + 1])];
  }
  if (!to) return null;
  const decided = decision(frame, u, v);
  return {
    from: [u, v],
    to,
    change: [(to[0] - u) * wide * sx, (to[1] - v) * high * sy],
    distance: best,
    decided,
    reached: beyond(frame, [u, v], to, decided),
    certain: best <= Math.min(u * wide, (1 - u) * wide, v * high, (1 - v) * high),
  };
}

/** The class at a point in units of the box. */
export function decision(frame: PlaneFrame, u: number, v: number): number {
  const region = locator(frame).at(u, v), { box, outputs, J, y } = frame;
  if (region < 0) return -1;
  const t = [box[0][0] + u * (box[0][1] - box[0][0]), box[1][0] + v * (box[1][1] - box[1][0])];
  const values = Array.from({ length: outputs }, (_, k) => {
    const at = region * outputs + k;
    return J[2 * at] * t[0] + J[2 * at + 1] * t[1] + y[at];
  });
  return outputs === 1 ? Number(values[0] > 0) : values.indexOf(Math.max(...values));
}

/** The first other class on the way through a point of the boundary. */
function beyond(frame: PlaneFrame, from: [number, number], to: [number, number], decided: number): number {
  for (const further of [1e-5, 1e-4, 1e-3, 1e-2]) {
    const way = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
    const found = decision(frame, to[0] + ((to[0] - from[0]) / way) * further, to[1] + ((to[1] - from[1]) / way) * further);
    if (found >= 0 && found !== decided) return found;
  }
  return -1;
}
