import { describe, expect, it } from "vitest";
import { readFrame, readReport, unitNumber, unitOn, unitPlace, unpack } from "../src/frame";
import { halves } from "./planes";

type Item = [name: string, type: string, shape: number[], bytes: Uint8Array];

/** A frame as the Python side writes it: magic, length of the header, header, arrays at multiples of 8. */
function pack(header: Record<string, unknown>, items: Item[]): ArrayBuffer {
  const arrays: Record<string, unknown> = {};
  let end = 0;
  for (const [name, type, shape, bytes] of items) {
    arrays[name] = { type, shape, at: end };
    end += Math.ceil(bytes.length / 8) * 8;
  }
  let text = JSON.stringify({ ...header, arrays });
  while ((8 + text.length) % 8) text += " ";
  const data = new Uint8Array(8 + text.length + end);
  const view = new DataView(data.buffer);
  view.setUint32(0, 0x43525a31, false);
  view.setUint32(4, text.length, true);
  data.set(new TextEncoder().encode(text), 8);
  for (const [name, , , bytes] of items) data.set(bytes, 8 + text.length + (arrays[name] as { at: number }).at);
  return data.buffer;
}

const bytes = (values: Float32Array | Uint32Array | Uint8Array) => new Uint8Array(values.buffer);

describe("unpack", () => {
  it("gives header, arrays and shapes", () => {
    const data = pack({ kind: "plane" }, [["x", "f4", [2, 2], bytes(new Float32Array([1, 2, 3, 4]))], ["n", "u1", [3], new Uint8Array([7, 8, 9])]]);
    const { header, arrays, shapes } = unpack(data);
    expect(header).toEqual({ kind: "plane" });
    expect([...arrays.x]).toEqual([1, 2, 3, 4]);
    expect([...arrays.n]).toEqual([7, 8, 9]);
    expect(shapes.x).toEqual([2, 2]);
  });

  it("refuses other bytes", () => {
    expect(() => unpack(new ArrayBuffer(4))).toThrow("not in the format");
    expect(() => unpack(new ArrayBuffer(64))).toThrow("not in the format");
  });
});

describe("readFrame", () => {
  const patterns: Item = ["patterns", "u1", [3, 2], new Uint8Array(6)];

  it("collects the affine maps and counts the regions", () => {
    const weights: Item[] = [["W0", "f4", [1, 2], bytes(new Float32Array([1, -1]))], ["b0", "f4", [1], bytes(new Float32Array([0.5]))], ["W1", "f4", [1, 1], bytes(new Float32Array([2]))]];
    const frame = readFrame(pack({ kind: "line", layers: [] }, [patterns, ...weights]));
    expect(frame.regions).toBe(3);
    expect(frame.pattern_bytes).toBe(2);
    expect(frame.affine.map(({ out, in: inputs }) => [out, inputs])).toEqual([[1, 2], [1, 1]]);
    expect([...frame.affine[0].b!]).toEqual([0.5]);
    expect(frame.affine[1].b).toBeNull();
  });

  it("refuses kinds that it does not know", () => {
    expect(() => readFrame(pack({ kind: "solid" }, [patterns]))).toThrow("solid");
  });
});

it("reads the frames of a report by name", () => {
  const { run, frames } = readReport(pack({ run: { ended: "" } }, [["0", "u1", [2], new Uint8Array([1, 2])], ["0/1", "u1", [1], new Uint8Array([3])]]));
  expect(run).toEqual({ ended: "" });
  expect([...frames.keys()]).toEqual(["0", "0/1"]);
  expect([...new Uint8Array(frames.get("0")!)]).toEqual([1, 2]);
});

describe("units", () => {
  const layers = [{ name: "a", width: 3 }, { name: "b", width: 2 }];

  it("are numbered through all layers", () => {
    for (let unit = 0; unit < 5; unit++) {
      const { layer, index } = unitPlace(layers, unit);
      expect(unitNumber(layers, layers[layer].name, index)).toBe(unit);
    }
    expect(unitPlace(layers, 3)).toEqual({ layer: 1, index: 0 });
    expect(unitNumber(layers, "b", 2)).toBe(-1);
    expect(unitNumber(layers, "c", 0)).toBe(-1);
  });

  it("are on where their bit is set", () => {
    expect([0, 1].map((region) => unitOn(halves(), region, 0))).toEqual([false, true]);
  });
});
