// node tests/speed.mjs PAGE: first paint and frames a second with software GL.
import { chromium } from "playwright-core";
import { readdirSync, readFileSync } from "node:fs";
/** CPU time in ms of each process under one, by what it does: what a frame costs whatever else the machine is doing. */
function cpu(root) {
  const rows = readdirSync("/proc").filter((n) => /^[0-9]+$/.test(n)).flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8"), rest = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const kind = /--type=([a-z-]+)/.exec(readFileSync(`/proc/${pid}/cmdline`, "utf8"))?.[1] ?? "browser";
      return [{ pid: +pid, parent: +rest[1], ms: 10 * (+rest[11] + +rest[12]), kind }];
    } catch { return []; }
  });
  const inside = new Set([root]), out = {};
  for (let k = 0; k < 6; k++) for (const r of rows) if (inside.has(r.parent)) inside.add(r.pid);
  for (const r of rows) if (inside.has(r.pid)) out[r.kind] = (out[r.kind] ?? 0) + r.ms;
  return out;
}
const server = await chromium.launchServer({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] });
const browser = await chromium.connect(server.wsEndpoint());
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
page.on("pageerror", (e) => console.log("pageerror", e.message));
await page.goto(process.argv[2]);
await page.waitForFunction(() => window.creasesTiming?.first > 0, null, { timeout: 60000 });
console.log("first whole picture (ms):", await page.evaluate(() => JSON.stringify({ ...window.creasesTiming, fcp: performance.getEntriesByName("first-contentful-paint")[0]?.startTime })));
await page.waitForTimeout(1500);
await page.screenshot({ path: "out/big.png" });
const box = await page.locator(".plane").boundingBox();
if (process.argv[3]) await page.addStyleTag({ content: process.argv[3] });
const measure = (kind) => page.evaluate(async ([kind, box]) => {
  const plane = document.querySelector(".plane");
  const send = (type, x, y, more = {}) => plane.dispatchEvent(new (type === "wheel" ? WheelEvent : PointerEvent)(type, { clientX: x, clientY: y, pointerId: 1, bubbles: true, cancelable: true, ...more }));
  plane.setPointerCapture = () => {};
  const cx = box.x + box.width / 2, cy = box.y + box.height / 2;
  const stamps = [];
  if (kind === "pan") send("pointerdown", cx, cy);
  await new Promise((done) => {
    let k = 0;
    const tick = (now) => {
      stamps.push(now);
      if (k++ > 90) return done();
      if (kind === "hover") send("pointermove", cx + 200 * Math.cos(k / 9), cy + 180 * Math.sin(k / 7));
      if (kind === "pan") send("pointermove", cx + 80 * Math.sin(k / 10), cy + 60 * Math.sin(k / 14));
      if (kind === "zoom") send("wheel", cx, cy, { deltaY: 60 * Math.sin(k / 12) });
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  if (kind === "pan") send("pointerup", cx, cy);
  const gaps = stamps.slice(1).map((t, i) => t - stamps[i]).sort((a, b) => a - b);
  return `${kind}: ${(1000 * gaps.length / (stamps.at(-1) - stamps[0])).toFixed(1)} frames/s; median ${gaps[gaps.length >> 1].toFixed(1)} ms, 95% ${gaps[Math.floor(gaps.length * .95)].toFixed(1)} ms`;
}, [kind, box]);
for (const kind of ["idle", "hover", "pan", "zoom"]) { const before = cpu(server.process().pid); const said = await measure(kind); const after = cpu(server.process().pid); console.log(said, "; CPU ms a frame:", Object.entries(after).map(([k, v]) => `${k} ${((v - (before[k] ?? 0)) / 91).toFixed(1)}`).join(", ")); await page.waitForTimeout(1500); }
await browser.close();
await server.close();
