import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Run } from "../src/types";
import { openPage, replaced } from "./browser";

const RUN = {
  moments: [0, 1, 2].map((id) => ({ id, epoch: 10 * id, kind: "training", record: null, regions: 1 })),
  records: [], slices: ["a", "b"],
} as unknown as Run;

async function load(hash: string) {
  openPage(hash);
  const [address, state, { camera }] = await Promise.all([import("../src/address"), import("../src/state"), import("../src/plane/camera")]);
  state.run.value = RUN;
  return { ...address, state, camera };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the address", () => {
  it("selects moment, slice and view", async () => {
    const { fromAddress, momentFromAddress, state, camera } = await load("#moment=1&slice=1&view=0.25,0.75,4");
    expect(momentFromAddress()).toBe(1);
    fromAddress();
    expect([state.moment.value, state.following.value, state.slice.value]).toEqual([1, false, 1]);
    expect(camera.value).toEqual({ u: 0.25, v: 0.75, zoom: 4 });
  });

  it("is ignored where it names nothing that there is", async () => {
    const { fromAddress, momentFromAddress, state, camera } = await load("#moment=3&slice=2&view=2,0,4");
    expect(momentFromAddress()).toBeNull();
    fromAddress();
    expect([state.moment.value, state.slice.value, camera.value.zoom]).toEqual([0, 0, 1]);
  });

  it("follows what is shown, a little later", async () => {
    const { keepInAddress, state } = await load("");
    keepInAddress(false);
    state.moment.value = 1;
    state.slice.value = 1;
    expect(replaced).toEqual([]);
    vi.advanceTimersByTime(200);
    expect(replaced).toEqual(["#moment=1&slice=1"]);
  });

  it("does not name the last moment", async () => {
    const { keepInAddress, state } = await load("");
    keepInAddress(false);
    state.moment.value = 2;
    vi.advanceTimersByTime(200);
    expect(replaced).toEqual(["/"]);
  });
});
