// node tests/report.mjs FILE.html: a report opened from disk, without a network: regions, cards, keys, no errors.
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { chromium } from "playwright-core";
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] });
for (const [width, height] of [[1280, 800], [390, 844]]) {
  const context = await browser.newContext({ viewport: { width, height }, offline: true });
  const page = await context.newPage();
  const problems = [], asked = [];
  page.on("console", (m) => m.type() === "error" && problems.push(m.text()));
  page.on("pageerror", (e) => problems.push(e.message));
  page.on("request", (r) => asked.push(r.url()));
  await page.goto(`file://${resolve(process.argv[2])}`);
  await page.waitForFunction(() => window.creasesTiming?.first > 0);
  assert.equal(asked.length, 1, `nothing is fetched: ${asked}`);
  // the whole page by keyboard: the timeline, a unit, the plane
  const track = page.locator(".track");
  const told = (what) => page.locator(".when").filter({ hasText: what }).waitFor();
  await track.focus();
  await page.keyboard.press("Home");
  await told(/^Start/);
  await page.keyboard.press("PageDown");
  await told(/^Growth step 1/);
  await page.locator(".card").filter({ hasText: "because" }).waitFor();
  await page.getByRole("button", { name: /^Unit 1 of/ }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^Unit 1 of/, pressed: true }).waitFor();
  await page.locator(".plane").focus();
  for (let k = 0; k < 3; k++) await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Enter");
  await page.locator(".region").filter({ hasText: /Region\s*\d+ of \d+, area .*Piece.*Pattern\s*[01]+\s*Data in it/ }).waitFor();
  // every tab stop shows where it is
  await page.locator("header button").focus();
  for (let k = 0; k < 12; k++) {
    await page.keyboard.press("Tab");
    const seen = await page.evaluate(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== "none" || document.activeElement.closest("svg") !== null; });
    assert(seen, "the focus is visible");
  }
  await page.locator(".plane").focus();
  await page.keyboard.press("+");
  await page.keyboard.press("0");
  // the timeline by dragging
  await track.scrollIntoViewIfNeeded();
  const box = await track.boundingBox();
  await page.mouse.move(box.x + 5, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 1, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  await told(/was kept/);
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByRole("button", { name: "Paper" }).click();
  await track.focus();
  await page.keyboard.press("Home");
  for (let k = 0; k < 4; k++) await page.keyboard.press("PageDown");
  await page.waitForTimeout(600);
  await page.screenshot({ path: `out/compare-${width}.png` });
  const unnamed = await page.evaluate(() => [...document.querySelectorAll("button, input, select, [role]")].filter((e) => !e.closest("[aria-hidden]") && !e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby") && !e.textContent.trim() && !e.labels?.length && !["alert", "status"].includes(e.getAttribute("role"))).map((e) => e.outerHTML.slice(0, 90)));
  assert.deepEqual(unnamed, []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
  assert.deepEqual(problems, []);
  console.log(`${width} px: report ok`);
  await context.close();
}
await browser.close();
