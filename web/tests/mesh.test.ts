import { expect, it } from "vitest";
import { classColor, paper, rgb } from "../src/colors";
import { boundary, creases, shades, sheet } from "../src/plane/mesh";
import { halves } from "./planes";

const LIGHT = paper(false);

it("draws each part as a fan of triangles", () => {
  const { positions, indices } = sheet(halves(), "class", LIGHT, 2);
  expect(positions.length).toBe(16);
  expect([...indices]).toEqual([0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7]);
});

it("colors by certainty: the paper at the boundary, the class where the output is largest", () => {
  const { colors } = sheet(halves(), "value", LIGHT, 2);
  const corner = (c: number) => [...colors.slice(4 * c, 4 * c + 3)];
  expect(corner(1)).toEqual([255, 255, 255]);
  expect(corner(0)).toEqual(rgb(classColor(0, false)).map((tone) => Math.trunc(255 + 0.75 * (tone - 255))));
});

it("draws inner edges as creases and the boundary apart", () => {
  expect([...creases(halves(), LIGHT).ends]).toEqual([0.5, 0, 0.5, 1]);
  expect([...boundary(halves(), LIGHT).ends]).toEqual([0.5, 0, 0.5, 1]);
});

it("shades regions of one slope alike", () => {
  const [left, right] = shades(halves());
  expect(left).toBe(right);
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(1);
});
