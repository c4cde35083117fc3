import { beforeEach, expect, it } from "vitest";
import { camera, clamp, inBox, MARGIN, pan, place, WHOLE, zoomAt } from "../src/plane/camera";
import { halves } from "./planes";

const SIZE: [number, number] = [470, 248]; // a window of 400 x 200 CSS pixels

beforeEach(() => {
  camera.value = WHOLE;
});

it("fits the whole box into the window, in proportion", () => {
  const placed = place(halves(), SIZE, WHOLE);
  expect(placed).toEqual({ x: MARGIN.left, y: MARGIN.top + 200, width: 400, height: 200 });
});

it("keeps strips within four to one", () => {
  const { width, height } = place({ ...halves(), box: [[0, 100], [0, 1]] }, SIZE, WHOLE);
  expect(width / height).toBe(4);
});

it("fills the window where the axes have unlike units", () => {
  const { width, height } = place({ ...halves(), box: [[0, 100], [0, 1]], fills: true }, SIZE, WHOLE);
  expect([width, height]).toEqual([400, 200]);
});

it("pans by pixels, and not out of the box", () => {
  const placed = place(halves(), SIZE, WHOLE);
  pan(100, -50, placed);
  expect(camera.value).toEqual({ u: 0.25, v: 0.25, zoom: 1 });
  pan(1e6, 1e6, placed);
  expect(camera.value).toEqual({ u: 0, v: 1, zoom: 1 });
});

it("zooms about a point that stays where it is", () => {
  const frame = halves();
  const screen = (u: number) => {
    const { x, width } = place(frame, SIZE, camera.value);
    return x + u * width;
  };
  const before = screen(0.75);
  zoomAt(3, [0.75, 0.5]);
  expect(camera.value.zoom).toBe(3);
  expect(screen(0.75)).toBeCloseTo(before, 9);
});

it("bounds the zoom", () => {
  zoomAt(1e9, [0.5, 0.5]);
  expect(camera.value.zoom).toBe(5000);
  zoomAt(1e-9, [0.5, 0.5]);
  expect(camera.value.zoom).toBe(0.5);
});

it("converts slice coordinates to units of the box", () => {
  expect(inBox(halves(), [1, 2])).toEqual([0.25, 1]);
});

it("clamps to the unit interval", () => {
  expect([-1, 0.5, 2].map(clamp)).toEqual([0, 0.5, 1]);
});
