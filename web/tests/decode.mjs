// node tests/decode.mjs: the reader and the locator against what creases itself says (out/big_expected.json).
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "vite";
writeFileSync("out/entry.ts", 'export * from "../src/frame"; export * from "../src/plane/locate"; export * from "../src/plane/mesh"; export { paper } from "../src/colours"; export { Painter } from "../src/plane/gl";');
await build({ configFile: false, logLevel: "error", build: { outDir: "out/lib", lib: { entry: "out/entry.ts", formats: ["es"], fileName: "lib" }, minify: false } });
const { readFrame, locator, area, unitOn, sheet, creases, boundary, paper } = await import("../out/lib/lib.js");
const bytes = readFileSync("out/big.frame");
const expected = JSON.parse(readFileSync("out/big_expected.json", "utf8"));
let t = performance.now();
const frame = readFrame(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
console.log("read", (performance.now() - t).toFixed(1), "ms;", frame.regions, "regions, expected", expected.count);
t = performance.now();
const find = locator(frame);
console.log("locator", (performance.now() - t).toFixed(1), "ms");
const [[x0, x1], [y0, y1]] = frame.box;
t = performance.now();
const got = expected.points.map(([a, b]) => find.at((a - x0) / (x1 - x0), (b - y0) / (y1 - y0)));
console.log("2000 look-ups", (performance.now() - t).toFixed(1), "ms");
const wrong = got.filter((r, i) => r !== expected.regions[i]).length;
let worst = 0, most = 0;
got.forEach((r, i) => {
  if (r !== expected.regions[i]) return;
  for (let k = 0; k < frame.outputs; k++) {
    const at = r * frame.outputs + k, [a, b] = expected.points[i];
    worst = Math.max(worst, Math.abs(frame.J[2 * at] * a + frame.J[2 * at + 1] * b + frame.y[at] - expected.value[i][k]));
    most = Math.max(most, Math.abs(expected.value[i][k]));
  }
});
const areas = expected.areas.map((a, r) => Math.abs(area(frame, r) - a));
let total = 0;
for (let r = 0; r < frame.regions; r++) total += area(frame, r);
console.log(`regions that differ: ${wrong} of ${got.length}; largest |piece - f| ${worst.toExponential(2)} of ${most.toFixed(2)}; largest error of an area ${Math.max(...areas).toExponential(2)}; areas sum to ${total}`);
t = performance.now();
const s = sheet(frame, "class", paper(false), 3), c = creases(frame, paper(false)), b = boundary(frame, paper(false));
console.log("tessellate", (performance.now() - t).toFixed(1), "ms;", s.indices.length / 3, "triangles,", c.ends.length / 4, "creases,", b.ends.length / 4, "boundary segments", unitOn(frame, 0, 0));
