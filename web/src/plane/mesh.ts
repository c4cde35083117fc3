/** The mesh of a partition for the GPU: triangles with colors, creases and the boundary as segments. */

import { blend, classColor, rgb, valueColor, type Paper, type RGB } from "../colors";
import { MANY } from "./gl";
import { unitPlace, type PlaneFrame } from "../frame";

/** The class of a plane without a network. */
export const NO_CLASS = 255;

export type Coloring = "class" | "value" | "regions";

/** The smallest and the largest value of a regression, between which colors run. */
export type Scale = [number, number];

export type Sheet = { positions: Float32Array; colors: Uint8Array; indices: Uint32Array };

/** All parts of all regions as fans of triangles; corners are not shared, because colors are flat. */
export function sheet(frame: PlaneFrame, coloring: Coloring, paper: Paper, names: number, scale: Scale | null = null): Sheet {
  const { vertices, part_corners, part_starts } = frame;
  const corners = part_corners.length;
  const positions = new Float32Array(2 * corners);
  for (let c = 0; c < corners; c++) {
    positions[2 * c] = vertices[2 * part_corners[c]];
    positions[2 * c + 1] = vertices[2 * part_corners[c] + 1];
  }
  const parts = part_starts.length - 1;
  const indices = new Uint32Array(3 * Math.max(0, corners - 2 * parts));
  let at = 0;
  for (let p = 0; p < parts; p++) {
    const first = part_starts[p];
    for (let c = first + 1; c + 1 < part_starts[p + 1]; c++) {
      indices[at++] = first;
      indices[at++] = c;
      indices[at++] = c + 1;
    }
  }
  return { positions, colors: colors(frame, coloring, paper, names, scale), indices: indices.subarray(0, at) };
}

function colors(frame: PlaneFrame, coloring: Coloring, paper: Paper, names: number, scale: Scale | null): Uint8Array {
  const { part_starts, part_class, part_region, part_corners } = frame;
  const out = new Uint8Array(4 * part_corners.length);
  const put = (c: number, [r, g, b]: RGB) => {
    out[4 * c] = r;
    out[4 * c + 1] = g;
    out[4 * c + 2] = b;
    out[4 * c + 3] = 255;
  };
  const shade = shades(frame);
  const classes = Array.from({ length: 256 }, (_, k) => rgb(classColor(k, paper.dark)));
  if (scale && coloring !== "regions" && part_class[0] !== NO_CLASS) {
    const { values, outputs } = frame; // the parts are the regions, whose corners all have a value
    for (let c = 0; c < part_corners.length; c++) put(c, valueColor(values[part_corners[c] * outputs], scale, paper.dark));
    return out;
  }
  const height = coloring === "value" ? heights(frame) : null;
  for (let p = 0; p + 1 < part_starts.length; p++) {
    const region = part_region[p];
    const flat =
      part_class[p] === NO_CLASS
        ? paper.paper
        : coloring === "regions"
        ? blend(paper.sheet[0], paper.sheet[1], shade[region])
        : blend(paper.paper, classes[part_class[p]], names > 1 ? 0.14 + 0.3 * shade[region] : 0.1 + 0.3 * shade[region]);
    for (let c = part_starts[p]; c < part_starts[p + 1]; c++) {
      if (!height) put(c, flat);
      else put(c, blend(paper.paper, classes[part_class[p]], 0.75 * height[part_corners[c]]));
    }
  }
  return out;
}

/** The margin at every vertex, scaled to 0 .. 1; it is 0 on the boundary. */
function heights(frame: PlaneFrame): Float32Array {
  const { values, outputs, vertices } = frame;
  const out = new Float32Array(vertices.length / 2);
  let most = 0;
  for (let v = 0; v * outputs < values.length; v++) {
    let first = -Infinity, second = -Infinity;
    for (let k = 0; k < outputs; k++) {
      const y = values[v * outputs + k];
      if (y > first) [first, second] = [y, first];
      else if (y > second) second = y;
    }
    out[v] = outputs === 1 ? Math.abs(first) : first - second;
    if (out[v] > most) most = out[v];
  }
  if (most > 0) for (let v = 0; v < out.length; v++) out[v] /= most;
  return out;
}

/** How far each region is turned away from a light at the upper left, 0 to 1, for the graph of the largest output. */
export function shades(frame: PlaneFrame): Float32Array {
  const { J, outputs, regions, values, corners, starts } = frame;
  const gradients = new Float32Array(2 * regions);
  const sizes = new Float32Array(regions);
  for (let r = 0; r < regions; r++) {
    let best = 0, most = -Infinity;
    for (let k = 0; k < outputs; k++) {
      let sum = 0;
      for (let c = starts[r]; c < starts[r + 1]; c++) sum += values[corners[c] * outputs + k];
      if (sum > most) [best, most] = [k, sum];
    }
    gradients[2 * r] = J[(r * outputs + best) * 2];
    gradients[2 * r + 1] = J[(r * outputs + best) * 2 + 1];
    sizes[r] = Math.hypot(gradients[2 * r], gradients[2 * r + 1]);
  }
  const sorted = sizes.filter((s) => s > 0).sort();
  const usual = sorted.length ? sorted[sorted.length >> 1] : 1;
  const norm = Math.hypot(0.45, 0.65, 0.62);
  return sizes.map((_, r) => {
    const x = -gradients[2 * r] / usual, y = -gradients[2 * r + 1] / usual;
    return (1 - (-0.45 * x + 0.65 * y + 0.62) / (Math.hypot(x, y, 1) * norm)) / 2;
  });
}

export type Segments = { ends: Float32Array; colors: Uint8Array };

/** Creases, those of deeper layers darker and later. */
export function creases(frame: PlaneFrame, paper: Paper): Segments {
  const { edges, edge_units, layers } = frame;
  const units = layers.reduce((sum, layer) => sum + layer.width, 0);
  const depth = Uint8Array.from({ length: units }, (_, u) => unitPlace(layers, u).layer);
  let count = 0;
  for (const unit of edge_units) if (unit >= 0) count++;
  const out = room(count);
  let at = 0;
  layers.forEach((_, k) => {
    const tone = creaseTone(paper, k, layers.length);
    for (let e = 0; e < edge_units.length; e++)
      if (edge_units[e] >= 0 && depth[edge_units[e]] === k) put(out, at++, frame, edges[2 * e], edges[2 * e + 1], tone, count > MANY ? 110 : 255);
  });
  return out;
}

/** The color of the creases of a layer. */
export function creaseTone(paper: Paper, layer: number, layers: number): RGB {
  return blend(paper.creaseFirst, paper.creaseLast, layer / Math.max(1, layers - 1));
}

/** The decision boundary. */
export function boundary(frame: PlaneFrame, paper: Paper): Segments {
  const { boundary_edges: ends } = frame;
  const out = room(ends.length / 2);
  for (let i = 0; 2 * i < ends.length; i++) put(out, i, frame, ends[2 * i], ends[2 * i + 1], paper.boundary, 255);
  return out;
}

function room(count: number): Segments {
  return { ends: new Float32Array(4 * count), colors: new Uint8Array(4 * count) };
}

function put(out: Segments, i: number, { vertices }: PlaneFrame, a: number, b: number, [red, green, blue]: RGB, alpha: number): void {
  const { ends, colors } = out;
  ends[4 * i] = vertices[2 * a];
  ends[4 * i + 1] = vertices[2 * a + 1];
  ends[4 * i + 2] = vertices[2 * b];
  ends[4 * i + 3] = vertices[2 * b + 1];
  colors[4 * i] = red;
  colors[4 * i + 1] = green;
  colors[4 * i + 2] = blue;
  colors[4 * i + 3] = alpha;
}
