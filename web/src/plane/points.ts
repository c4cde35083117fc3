/** How the rows of a table look on a slice. */

import type { Problem } from "../types";
import type { Scale } from "./mesh";

/** Opacity of a row at some distance from a slice through so many inputs, in standard deviations: 1 on the slice. */
export function solidity(distance: number, inputs: number): number {
  const each = distance / Math.sqrt(Math.max(1, inputs - 2)); // root mean square over the other inputs
  return 0.12 + 0.88 * Math.exp(-0.5 * (each / 0.7) ** 2);
}

const scales = new WeakMap<Problem, Scale>();

/** The range of the targets of a regression; null for classes. */
export function valueScale(problem: Problem): Scale | null {
  if (problem.classes || problem.task !== "regression" || !problem.y.length) return null;
  if (!scales.has(problem)) scales.set(problem, [problem.y.reduce((a, b) => Math.min(a, b)), problem.y.reduce((a, b) => Math.max(a, b))]);
  return scales.get(problem)!;
}

/** The first two inputs that take more than two values: never those of categories, unless there is nothing else. */
export function firstPlane({ X, features }: Pick<Problem, "X" | "features">): [number, number] {
  const numeric = features.map((_, k) => k).filter((k) => new Set(X.slice(0, 500).map((x) => x[k])).size > 2);
  const [first, second] = [...numeric, 0, 1].filter((k, i, all) => all.indexOf(k) === i);
  return numeric.length === 1 ? [first, first === 0 ? 1 : 0] : [first, second];
}
