// node tests/studio.mjs: the studio against a stand-in for its server that plays a real run (out/xor_circles.frame).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";
const { readReport } = await import("../out/lib/lib.js");
const bytes = readFileSync("out/xor_circles.frame");
const { run, frames } = readReport(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const FILES = { "/": "index.html", "/studio.js": "studio.js", "/studio.css": "studio.css" };
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css" };
const nothing = Object.fromEntries(Object.keys(run.epochs).map((k) => [k, []]));

/** The server's side of the protocol. */
function serve(ws, heard) {
  let shown = 0, timer = null;
  const tell = (message) => ws.send(JSON.stringify(message));
  const fresh = (moments) => ({ ...run, epochs: nothing, records: [], moments, ended: "", sections: [] });
  const upTo = (epoch, before) => Object.fromEntries(Object.entries(run.epochs).map(([k, v]) => [k, v.slice(before, epoch)]));
  const advance = () => {
    if (shown >= run.moments.length - 1) return clearInterval(timer), tell({ type: "status", state: "ended", message: "It ended: nothing more was worth adding." });
    const from = run.moments[shown - 1]?.epoch ?? 0, m = run.moments[shown++];
    tell({ type: "changes", moments: [m], records: run.records.filter((r) => r.number === m.record), epochs: upTo(m.epoch, from) });
  };
  const go = () => { clearInterval(timer); timer = setInterval(advance, 200); tell({ type: "status", state: "running" }); };
  const acts = {
    problem: ({ problem }) => problem.kind === "csv" && problem.text.includes("x") && !/[0-9]/.test(problem.text) ? tell({ type: "error", where: "problem", message: "table: column 'a' holds text ('x' in row 1); give numbers, or leave the column out" }) : tell({ type: "run", run: fresh([]) }),
    start: () => { shown = 0; tell({ type: "run", run: fresh([]) }); go(); },
    pause: () => { clearInterval(timer); tell({ type: "status", state: "paused" }); },
    go, step: advance, grow: advance,
    undo: () => { let k = shown; while (k > 0 && run.moments[--k].record === null); shown = k; const e = run.moments[k - 1]; tell({ type: "changes", keep: { moments: k, epochs: e.epoch, records: run.records.filter((r) => run.moments.slice(0, k).some((m) => m.record === r.number)).length } }); },
    frame: ({ moment }) => ws.send(Buffer.from(frames.get(String(moment)))),
    export: ({ what }) => tell({ type: "exported", url: `data:text/plain,${what}`, name: `${what}.txt` }),
  };
  tell({ type: "session", session: "s1", fresh: true });
  tell({ type: "status", state: "idle" });
  ws.onMessage((text) => { const message = JSON.parse(text); heard.push(message); acts[message.do](message); });
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] });
for (const [width, height] of [[1280, 800], [390, 844]]) {
  const page = await browser.newPage({ viewport: { width, height }, acceptDownloads: true });
  const problems = [], heard = [];
  page.on("console", (m) => m.type() === "error" && problems.push(m.text()));
  page.on("pageerror", (e) => problems.push(e.message));
  await page.route("http://studio.test/**", (r) => { const name = FILES[new URL(r.request().url()).pathname]; r.fulfill(name ? { body: readFileSync(`dist/${name}`), contentType: TYPES[name.split(".")[1]] } : { status: 404 }); });
  await page.routeWebSocket(/studio\.test\/ws/, (ws) => { assert.match(ws.url(), /token=secret/); serve(ws, heard); });
  await page.goto("http://studio.test/?token=secret");
  await page.getByRole("button", { name: "Start", exact: true }).waitFor();
  assert(!page.url().includes("secret"), "the token leaves the address");
  await page.waitForTimeout(400);
  await page.screenshot({ path: `out/studio-empty-${width}.png`, fullPage: width < 500 });
  // a bad table is refused in place
  await page.getByRole("tab", { name: "My table" }).click();
  await page.setInputFiles("input[type=file]", { name: "bad.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\nx,y\n") });
  await page.getByText("holds text").waitFor();
  // drawn points
  await page.getByRole("tab", { name: "Draw" }).click();
  const plane = page.getByRole("application");
  const box = await plane.boundingBox();
  for (let k = 0; k < 12; k++) { if (k === 6) await page.getByRole("radio", { name: /B/ }).click(); await plane.click({ position: { x: box.width * (.3 + .03 * k), y: box.height * (.3 + .03 * (k % 5)) } }); }
  assert.match(await page.getByRole("radio", { name: /A/ }).textContent(), /6/);
  await page.waitForTimeout(300);
  await page.screenshot({ path: `out/studio-draw-${width}.png` });
  // a formula, kept in the address
  await page.getByRole("tab", { name: "Formula" }).click();
  await page.getByLabel("Class").fill("cos(2*x)");
  await page.getByRole("button", { name: "Show" }).click();
  assert.match(page.url(), /formula=cos/);
  assert.equal(heard.at(-1).problem.formula, "cos(2*x)");
  await page.getByRole("tab", { name: "Built-in" }).click();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByText("Growth step 2", { exact: false }).first().waitFor({ timeout: 30000 });
  await page.getByRole("button", { name: "Pause", exact: true }).first().click();
  const count = () => page.locator(".track").getAttribute("aria-valuemax").then(Number);
  const before = await count();
  await page.getByRole("button", { name: "Step", exact: true }).click();
  await page.waitForFunction((n) => Number(document.querySelector(".track").getAttribute("aria-valuemax")) === n + 1, before);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.waitForFunction((n) => Number(document.querySelector(".track").getAttribute("aria-valuemax")) <= n, before);
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("It ended").first().waitFor({ timeout: 60000 });
  // scrub by keyboard to the first growth step, read its card
  await page.locator(".track").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("PageDown");
  await page.getByRole("heading", { name: /growth step 1/ }).waitFor();
  assert.match(await page.locator(".card").textContent(), /because 37 points of class even/);
  await page.waitForTimeout(500);
  await page.screenshot({ path: `out/studio-run-${width}.png`, fullPage: width < 500 });
  await page.getByRole("button", { name: /^Unit 0 of/ }).click();
  await page.getByRole("button", { name: /^Unit 0 of/, pressed: true }).waitFor();
  await page.getByText("Export").click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Python code" }).click()]);
  assert.equal(download.suggestedFilename(), "code.txt");
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, "nothing sticks out at the side");
  assert.deepEqual(problems, []);
  console.log(`${width} px: studio ok`);
  await page.close();
}
await browser.close();
