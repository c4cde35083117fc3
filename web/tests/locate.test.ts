import { describe, expect, it } from "vitest";
import type { PlaneFrame } from "../src/frame";
import { area, locator, rowRegions } from "../src/plane/locate";
import { halves } from "./planes";

/** n x n squares, rows from below. */
function squares(n: number): PlaneFrame {
  const at = (i: number, j: number) => j * (n + 1) + i;
  const vertices = Array.from({ length: (n + 1) ** 2 }, (_, k) => [(k % (n + 1)) / n, Math.floor(k / (n + 1)) / n]).flat();
  const corners = Array.from({ length: n * n }, (_, r) => {
    const i = r % n, j = Math.floor(r / n);
    return [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
  }).flat();
  const starts = Uint32Array.from({ length: n * n + 1 }, (_, r) => 4 * r);
  return { ...halves(), regions: n * n, vertices: new Float32Array(vertices), corners: new Uint32Array(corners), starts };
}

describe("Locator", () => {
  it("finds the region of a point", () => {
    const find = locator(halves());
    expect([find.at(0.2, 0.5), find.at(0.8, 0.5)]).toEqual([0, 1]);
  });

  it("finds every square of a grid by its center", () => {
    const n = 23, frame = squares(n), find = locator(frame);
    for (let r = 0; r < n * n; r++) expect(find.at(((r % n) + 0.5) / n, (Math.floor(r / n) + 0.5) / n)).toBe(r);
  });

  it("gives a point on a crease to one of its sides, and none outside the box", () => {
    const find = locator(halves());
    expect([0, 1]).toContain(find.at(0.5, 0.5));
    expect([0, 1]).toContain(find.at(1, 1));
    expect([find.at(-0.01, 0.5), find.at(0.5, 1.01), find.at(NaN, 0.5)]).toEqual([-1, -1, -1]);
  });

  it("is made once for a frame", () => {
    const frame = halves();
    expect(locator(frame)).toBe(locator(frame));
  });
});

it("finds the regions of all rows, in the units of the data", () => {
  expect([...rowRegions(halves(), [[1, 1], [3, 1], [5, 1]])]).toEqual([0, 1, -1]);
});

it("takes projected points on a slice", () => {
  const frame = { ...halves(), points: new Float32Array([0.9, 0.5]) };
  expect([...rowRegions(frame, [[0, 0, 0]])]).toEqual([1]);
});

it("measures areas in slice coordinates", () => {
  expect([0, 1].map((region) => area(halves(), region))).toEqual([4, 4]);
});
