import { describe, expect, it } from "vitest";
import { placeKnot, roundStep, roundTo, withKnot } from "../src/knots";

describe("the knots of a curve", () => {
  it("stop at round places", () => {
    expect(roundStep(200)).toBe(1);
    expect(roundStep(43)).toBeCloseTo(0.2, 12);
    expect(roundStep(0)).toBe(1);
    expect(roundTo(2763.7, 20)).toBe(2760);
    expect(roundTo(0.30000000000000004, 0.1)).toBe(0.3);
    expect(placeKnot([0, 50, 200], 1, 61.4)).toBe(61);
  });

  it("stay between their neighbors", () => {
    expect(placeKnot([0, 50, 100, 200], 1, 500)).toBeCloseTo(99.8, 9);
    expect(placeKnot([0, 50, 100, 200], 2, -7)).toBeCloseTo(50.2, 9);
  });

  it("stay in place at the ends, and where there is no room", () => {
    expect(placeKnot([0, 50, 200], 0, 30)).toBe(0);
    expect(placeKnot([0, 50, 200], 2, 30)).toBe(200);
    expect(placeKnot([0, 0.1, 0.2, 1000], 1, 0.15)).toBe(0.1);
  });

  it("move without moving others", () => {
    const curve = { kind: "line", x: [0, 1, 2], y: [5, 6, 7] };
    expect(withKnot(curve, 1, 1.5, -1)).toEqual({ kind: "line", x: [0, 1.5, 2], y: [5, -1, 7] });
    expect(curve.x).toEqual([0, 1, 2]);
  });
});
