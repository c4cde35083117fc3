import { describe, expect, it } from "vitest";
import { openPage } from "./browser";

async function load(hash: string) {
  openPage(hash);
  return await import("../src/draft");
}

describe("the draft", () => {
  it("has nothing to keep in the address at first", async () => {
    const { changes, draft } = await load("");
    expect(draft.value.kind).toBe("builtin");
    expect(changes()).toEqual([]);
  });

  it("is read from the address, numbers as numbers", async () => {
    const { changes, draft } = await load("#name=moons&rows=50&unknown=1");
    expect([draft.value.name, draft.value.rows]).toEqual(["moons", 50]);
    expect(changes()).toEqual([["name", "moons"], ["rows", "50"]]);
  });

  it("ignores what is no number", async () => {
    const { draft } = await load("#rows=many&seed=3&lr=0.1");
    expect([draft.value.rows, draft.value.seed, draft.value.lr]).toEqual([400, 3, "0.1"]);
  });

  it("survives the address", async () => {
    const first = await load("");
    first.change({ how: "tiny", seed: 7, formula: "x**2 < y & 1" });
    const again = await load(`#${new URLSearchParams(first.changes())}`);
    expect(again.draft.value).toEqual(first.draft.value);
  });
});

describe("drawn points", () => {
  it("are rounded to thousandths and survive the address", async () => {
    const first = await load("");
    first.change({ kind: "draw" });
    first.put([0.12345, -0.5]);
    first.brush.value = 2;
    first.put([1, 0]);
    expect(first.drawn.value).toEqual([{ x: [0.123, -0.5], label: 0 }, { x: [1, 0], label: 2 }]);
    const again = await load(`#${new URLSearchParams(first.changes())}`);
    expect(again.drawn.value).toEqual(first.drawn.value);
  });

  it("are not kept for other problems", async () => {
    const { changes, put } = await load("");
    put([0, 0]);
    expect(changes()).toEqual([]);
  });

  it("of an unknown class, or cut off, are dropped", async () => {
    const { drawn } = await load("#points=9_0_0_1_500_250_1_7");
    expect(drawn.value).toEqual([{ x: [0.5, 0.25], label: 1 }]);
  });
});
