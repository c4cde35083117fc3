import { describe, expect, it } from "vitest";
import { decision, nearestFlip, scales } from "../src/plane/flip";
import type { Problem } from "../src/types";
import { halves } from "./planes";

const problem = { features: ["a", "b"], X: [[0, 0], [4, 2], [0, 2], [4, 0]], classes: ["no", "yes"] } as unknown as Problem;

describe("nearestFlip", () => {
  it("is the foot on the nearest segment, in slice coordinates", () => {
    const flip = nearestFlip(halves(), [0.25, 0.5], [1, 1])!;
    expect(flip.to).toEqual([0.5, 0.5]);
    expect(flip.change).toEqual([1, 0]);
    expect([flip.distance, flip.decided, flip.reached]).toEqual([1, 0, 1]);
  });

  it("says when the boundary outside the box may be nearer", () => {
    expect(nearestFlip(halves(), [0.45, 0.5], [1, 1])!.certain).toBe(true);
    expect(nearestFlip(halves(), [0.05, 0.5], [1, 1])!.certain).toBe(false);
  });

  it("ends at the end of a segment", () => {
    const frame = { ...halves(), vertices: new Float32Array([0, 0, 0.5, 0.5, 1, 0, 1, 1, 0.5, 1, 0, 1]) };
    expect(nearestFlip(frame, [0.25, 0.25], [1, 1])!.to).toEqual([0.5, 0.5]);
  });

  it("is none without a boundary", () => {
    expect(nearestFlip({ ...halves(), boundary_edges: new Uint32Array() }, [0.5, 0.5], [1, 1])).toBeNull();
  });
});

it("measures in standard deviations where units are unlike", () => {
  expect(scales(halves(), problem)).toEqual([1, 1]);
  expect(scales({ ...halves(), fills: true }, problem)).toEqual([2, 1]);
});

it("decides by the sign of a single output", () => {
  expect([decision(halves(), 0.2, 0.5), decision(halves(), 0.8, 0.5), decision(halves(), 2, 0.5)]).toEqual([0, 1, -1]);
});
