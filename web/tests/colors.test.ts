import { expect, it } from "vitest";
import { blend, classColor, css, paper, rgb, valueColor } from "../src/colors";

it("reads hexadecimal colors", () => {
  expect(rgb("#0077BB")).toEqual([0, 119, 187]);
});

it("begins again after ten classes, in both themes", () => {
  for (const dark of [false, true]) {
    const colors = Array.from({ length: 10 }, (_, k) => classColor(k, dark));
    expect(new Set(colors).size).toBe(10);
    expect(classColor(10, dark)).toBe(colors[0]);
  }
});

it("blends linearly", () => {
  expect(blend([0, 0, 0], [200, 100, 50], 0.5)).toEqual([100, 50, 25]);
});

it("writes colors for CSS", () => {
  expect(css([0.4, 127.6, 255])).toBe("rgb(0 128 255)");
});

it("has a paper for each theme", () => {
  expect([paper(false).dark, paper(true).dark]).toEqual([false, true]);
});

it("runs from the color of the smallest value to that of the largest, and no further", () => {
  const [low, high] = [valueColor(2, [2, 4], false), valueColor(4, [2, 4], false)];
  expect(valueColor(3, [2, 4], false)).toEqual(low.map((part, k) => (part + high[k]) / 2));
  expect(valueColor(9, [2, 4], false)).toEqual(high);
});
