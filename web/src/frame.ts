/** Frames as PROTOCOL.md describes them: magic, length of the header, JSON header, arrays. */

export type Layer = { name: string; width: number };
type Place = { type: keyof typeof TYPES; shape: number[]; at: number };
type Numbers = Uint8Array | Uint32Array | Int32Array | Float32Array;

const TYPES = { u1: Uint8Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array };

/** Weights (out, in) of one affine map, and its biases. */
export type Affine = { W: Float32Array; b: Float32Array | null; out: number; in: number };

type Common = { moment: number; slice: number; outputs: number; layers: Layer[]; affine: Affine[] };

export type PlaneFrame = Common & {
  kind: "plane";
  box: [[number, number], [number, number]];
  origin: number[];
  basis: number[][];
  axes?: [string, string]; // names of the two coordinates
  fills?: boolean; // whether the axes have unlike units, so that the picture fills the canvas
  regions: number;
  vertices: Float32Array; // (V, 2) in units of the box, 0 to 1
  values: Float32Array; // (V0, outputs) at the first V0 vertices; the others lie on the boundary
  edges: Uint32Array; // (E, 2)
  edge_units: Int32Array; // (E,), -1 for a side of the box
  corners: Uint32Array;
  starts: Uint32Array; // (R + 1,)
  patterns: Uint8Array; // (R, bytes)
  pattern_bytes: number;
  J: Float32Array; // (R, outputs, 2) in slice coordinates
  y: Float32Array; // (R, outputs)
  boundary_edges: Uint32Array; // (S, 2)
  part_corners: Uint32Array;
  part_starts: Uint32Array; // (P + 1,)
  part_class: Uint8Array; // (P,)
  part_region: Uint32Array; // (P,)
  points?: Float32Array; // (n, 2) the data projected onto a slice of more inputs, in units of the box
  distance?: Float32Array; // (n,) distances from the slice
};

export type LineFrame = Common & {
  kind: "line";
  range: [number, number];
  regions: number;
  x: Float32Array; // (k + 2,) ends and breakpoints
  values: Float32Array; // (k + 2, outputs)
  slopes: Float32Array; // (k + 1, outputs)
  unit_ids: Uint32Array;
  unit_starts: Uint32Array; // (k + 1,)
  patterns: Uint8Array;
  pattern_bytes: number;
};

export type Frame = PlaneFrame | LineFrame;

/** Header and arrays of any frame. */
export function unpack(data: ArrayBuffer): { header: any; arrays: Record<string, Numbers>; shapes: Record<string, number[]> } {
  const view = new DataView(data);
  if (data.byteLength < 8 || view.getUint32(0, false) !== 0x43525a31) throw new Error("the data are not in the format of this viewer");
  const size = view.getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 8, size)));
  const arrays: Record<string, Numbers> = {};
  const shapes: Record<string, number[]> = {};
  for (const [name, { type, shape, at }] of Object.entries(header.arrays as Record<string, Place>)) {
    const count = shape.reduce((a, b) => a * b, 1);
    arrays[name] = new TYPES[type](data, 8 + size + at, count);
    shapes[name] = shape;
  }
  delete header.arrays;
  return { header, arrays, shapes };
}

/** A frame of a partition. */
export function readFrame(data: ArrayBuffer): Frame {
  const { header, arrays, shapes } = unpack(data);
  const affine: Affine[] = [];
  for (let k = 0; arrays[`W${k}`]; k++) {
    const [out, inputs] = shapes[`W${k}`];
    affine.push({ W: arrays[`W${k}`] as Float32Array, b: (arrays[`b${k}`] as Float32Array) ?? null, out, in: inputs });
  }
  if (header.kind !== "plane" && header.kind !== "line") throw new Error(`unknown frame type: ${header.kind}`);
  const regions = shapes.patterns[0];
  return { ...header, ...arrays, affine, regions, pattern_bytes: shapes.patterns[1] };
}

/** The frames of a report by name, still packed. */
export function readReport(data: ArrayBuffer): { run: any; frames: Map<string, ArrayBuffer> } {
  const { header, arrays } = unpack(data);
  const frames = new Map<string, ArrayBuffer>();
  for (const [name, bytes] of Object.entries(arrays)) {
    const start = bytes.byteOffset;
    frames.set(name, data.slice(start, start + bytes.byteLength));
  }
  return { run: header.run, frames };
}

/** The layer and the number in it of a unit, counted through all layers. */
export function unitPlace(layers: Layer[], unit: number): { layer: number; index: number } {
  let layer = 0;
  while (layer < layers.length - 1 && unit >= layers[layer].width) unit -= layers[layer++].width;
  return { layer, index: unit };
}

/** A unit's number through all layers. */
export function unitNumber(layers: Layer[], place: string, index: number): number {
  let start = 0;
  for (const layer of layers) {
    if (layer.name === place) return index < layer.width ? start + index : -1;
    start += layer.width;
  }
  return -1;
}

/** Whether a unit is on in a region. */
export function unitOn(frame: Frame, region: number, unit: number): boolean {
  return ((frame.patterns[region * frame.pattern_bytes + (unit >> 3)] >> (unit & 7)) & 1) === 1;
}
