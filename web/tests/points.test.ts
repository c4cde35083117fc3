import { expect, it } from "vitest";
import { firstPlane, solidity, valueScale } from "../src/plane/points";
import type { Problem } from "../src/types";

const table = (X: number[][]) => ({ X, features: X[0].map((_, k) => `x${k}`) });

it("shows numbers before categories", () => {
  expect(firstPlane(table([[0, 1, 5, 7], [1, 0, 6, 8], [0, 1, 7, 9]]))).toEqual([2, 3]);
  expect(firstPlane(table([[0, 5, 1], [1, 6, 0], [1, 7, 0]]))).toEqual([1, 0]);
  expect(firstPlane(table([[0, 1, 1], [1, 0, 0]]))).toEqual([0, 1]);
});

it("fades points with their distance, per input", () => {
  expect(solidity(0, 5)).toBe(1);
  expect(solidity(2, 3)).toBeLessThan(solidity(2, 18));
  expect(solidity(100, 3)).toBeCloseTo(0.12, 9);
});

it("has a scale of values for a regression only", () => {
  const problem: Problem = { name: "", about: "", task: "regression", features: ["x"], classes: null, X: [[0], [1]], y: [3, -1], split: [0, 0] };
  expect(valueScale(problem)).toEqual([-1, 3]);
  expect(valueScale({ ...problem, task: "classification", classes: ["a", "b"] })).toBeNull();
});
