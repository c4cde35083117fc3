import { beforeAll, expect, it } from "vitest";
import type * as Overlay from "../src/plane/overlay";
import type * as State from "../src/state";
import { openPage } from "./browser";

let state: typeof State, overlay: typeof Overlay;
beforeAll(async () => {
  openPage();
  state = await import("../src/state");
  overlay = await import("../src/plane/overlay");
});

it("writes numbers as people do, with powers of ten only at the extremes", () => {
  const written = [0, 0.0005, 1.23456, 39400, -152345.6, 1.5e6].map((value) => state.number(value));
  expect(written).toEqual(["0", "0.0005", "1.23", "39,400", "−152,000", "1,500,000"]);
  expect([null, NaN, Infinity].map((value) => state.number(value))).toEqual(["–", "–", "–"]);
  expect(state.number(-2.5e-7)).toBe("−2.50e−7");
});

it("keeps numbers beside an axis short", () => {
  const written = [0, 0.5, 2020, 1e4, 1e5, -5e4, 1.5e6].map((value) => state.tick(value));
  expect(written).toEqual(["0", "0.5", "2020", "10k", "100k", "−50k", "1.5M"]);
});

it("lets counts and nouns agree", () => {
  const written = ([[1, "growth step"], [0, "point"], [1234, "region"]] as const).map(([size, noun]) => state.count(size, noun));
  expect(written).toEqual(["1 growth step", "0 points", "1,234 regions"]);
});

it("gives an axis two ticks at least, whatever its range", async () => {
  const { ticks } = await import("../src/plane/overlay");
  for (let low = -3; low < 3; low += 0.37)
    for (let span = 0.01; span < 100; span *= 1.13) {
      const found = ticks(low, low + span, 4);
      expect(found.length).toBeGreaterThan(1);
      expect(found.length).toBeLessThan(11);
      expect(found[0]).toBeGreaterThanOrEqual(low);
    }
});

it("has ticks of a logarithmic axis at powers of ten, or between them where it is short", () => {
  expect(overlay.logTicks(-2.3, 1)).toEqual([0.01, 0.1, 1, 10]);
  expect(overlay.logTicks(0, 1.05)).toEqual([1, 2, 5, 10]);
});
