/** Point location: a grid over the box with the regions that each cell touches, built once. */

import type { PlaneFrame } from "../frame";

const locators = new WeakMap<PlaneFrame, Locator>();
const regionsOfRows = new WeakMap<PlaneFrame, Int32Array>();

/** The locator of a frame, created at first use. */
export function locator(frame: PlaneFrame): Locator {
  if (!locators.has(frame)) locators.set(frame, new Locator(frame));
  return locators.get(frame)!;
}

/** The region of every row of the data (projected, on a slice of more inputs), -1 outside the box. */
export function rowRegions(frame: PlaneFrame, X: number[][]): Int32Array {
  if (!regionsOfRows.has(frame)) {
    const [[x0, x1], [y0, y1]] = frame.box;
    const find = locator(frame), { points } = frame;
    regionsOfRows.set(
      frame,
      Int32Array.from(X, ([a, b], i) => (points ? find.at(points[2 * i], points[2 * i + 1]) : find.at((a - x0) / (x1 - x0), (b - y0) / (y1 - y0)))),
    );
  }
  return regionsOfRows.get(frame)!;
}

export class Locator {
  private readonly side: number;
  private readonly cellStarts: Uint32Array;
  private readonly cellRegions: Uint32Array;

  constructor(private readonly frame: PlaneFrame) {
    const { regions } = frame;
    const n = (this.side = Math.max(1, Math.min(512, Math.ceil(Math.sqrt(regions)))));
    const bounds = new Uint16Array(4 * regions);
    const counts = new Uint32Array(n * n + 1);
    for (let r = 0; r < regions; r++) {
      this.cells(r, bounds);
      for (let j = bounds[4 * r + 2]; j <= bounds[4 * r + 3]; j++)
        for (let i = bounds[4 * r]; i <= bounds[4 * r + 1]; i++) counts[j * n + i + 1]++;
    }
    for (let c = 0; c < n * n; c++) counts[c + 1] += counts[c];
    this.cellStarts = counts.slice();
    this.cellRegions = new Uint32Array(counts[n * n]);
    for (let r = 0; r < regions; r++)
      for (let j = bounds[4 * r + 2]; j <= bounds[4 * r + 3]; j++)
        for (let i = bounds[4 * r]; i <= bounds[4 * r + 1]; i++) this.cellRegions[counts[j * n + i]++] = r;
  }

  /** First and last cell of a region's bounding box, in x and y. */
  private cells(region: number, into: Uint16Array): void {
    const { vertices, corners, starts } = this.frame;
    let left = 1, right = 0, low = 1, high = 0;
    for (let c = starts[region]; c < starts[region + 1]; c++) {
      const x = vertices[2 * corners[c]], y = vertices[2 * corners[c] + 1];
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < low) low = y;
      if (y > high) high = y;
    }
    into[4 * region] = this.cell(left);
    into[4 * region + 1] = this.cell(right);
    into[4 * region + 2] = this.cell(low);
    into[4 * region + 3] = this.cell(high);
  }

  private cell(u: number): number {
    return Math.max(0, Math.min(this.side - 1, Math.floor(u * this.side)));
  }

  /** Region of a point in units of the box; -1 outside it. */
  at(u: number, v: number): number {
    if (!(u >= 0 && u <= 1 && v >= 0 && v <= 1)) return -1;
    const cell = this.cell(v) * this.side + this.cell(u);
    let best = -1, inside = -Infinity;
    for (let k = this.cellStarts[cell]; k < this.cellStarts[cell + 1]; k++) {
      const depth = this.depth(this.cellRegions[k], u, v);
      if (depth > inside) [best, inside] = [this.cellRegions[k], depth];
      if (depth > 0) break;
    }
    return best;
  }

  /** The smallest distance to a region's sides, negative outside: regions are convex and counter-clockwise. */
  private depth(region: number, u: number, v: number): number {
    const { vertices, corners, starts } = this.frame;
    let least = Infinity;
    const last = starts[region + 1];
    let a = 2 * corners[last - 1];
    for (let c = starts[region]; c < last; c++) {
      const b = 2 * corners[c];
      const dx = vertices[b] - vertices[a], dy = vertices[b + 1] - vertices[a + 1];
      const d = (dx * (v - vertices[a + 1]) - dy * (u - vertices[a])) / (Math.hypot(dx, dy) || 1);
      if (d < least) least = d;
      a = b;
    }
    return least;
  }
}

/** Area of a region in slice coordinates. */
export function area(frame: PlaneFrame, region: number): number {
  const { vertices, corners, starts, box } = frame;
  let twice = 0;
  const first = 2 * corners[starts[region]];
  for (let c = starts[region] + 1; c + 1 < starts[region + 1]; c++) {
    const a = 2 * corners[c], b = 2 * corners[c + 1];
    twice +=
      (vertices[a] - vertices[first]) * (vertices[b + 1] - vertices[first + 1]) -
      (vertices[b] - vertices[first]) * (vertices[a + 1] - vertices[first + 1]);
  }
  return (twice / 2) * (box[0][1] - box[0][0]) * (box[1][1] - box[1][0]);
}
