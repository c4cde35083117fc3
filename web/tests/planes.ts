/** A small plane frame: the box from (0, 0) to (4, 2), cut in the middle into two regions. */

import type { PlaneFrame } from "../src/frame";

export function halves(): PlaneFrame {
  return {
    kind: "plane", moment: 0, slice: 0, outputs: 1, layers: [{ name: "0", width: 1 }], affine: [],
    box: [[0, 4], [0, 2]], origin: [0, 0], basis: [[1, 0], [0, 1]], regions: 2,
    vertices: new Float32Array([0, 0, 0.5, 0, 1, 0, 1, 1, 0.5, 1, 0, 1]),
    values: new Float32Array([-1, 0, 1, 1, 0, -1]),
    edges: new Uint32Array([0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0, 1, 4]),
    edge_units: new Int32Array([-1, -1, -1, -1, -1, -1, 0]),
    corners: new Uint32Array([0, 1, 4, 5, 1, 2, 3, 4]), starts: new Uint32Array([0, 4, 8]),
    patterns: new Uint8Array([0, 1]), pattern_bytes: 1,
    J: new Float32Array([0.5, 0, 0.5, 0]), y: new Float32Array([-1, -1]), boundary_edges: new Uint32Array([1, 4]),
    part_corners: new Uint32Array([0, 1, 4, 5, 1, 2, 3, 4]), part_starts: new Uint32Array([0, 4, 8]),
    part_class: new Uint8Array([0, 1]), part_region: new Uint32Array([0, 1]),
  };
}
