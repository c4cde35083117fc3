// node tests/shot.mjs PAGE PREFIX [moment-key-presses]: screenshots at 1280 and 390 px.
import { chromium } from "playwright-core";
const [page_, prefix, script = ""] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] });
for (const [width, height, scheme] of [[1280, 800, "light"], [390, 844, "light"], [1280, 800, "dark"]]) {
  if (script.includes("nodark") && scheme === "dark") continue;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, hasTouch: width < 500, deviceScaleFactor: width < 500 ? 2 : 1 });
  const page = await context.newPage();
  page.on("console", (m) => console.log("console", m.type(), m.text()));
  page.on("pageerror", (e) => console.log("pageerror", e.message));
  await page.goto(page_);
  await page.waitForFunction(() => window.creasesTiming?.first > 0 || document.querySelector("svg.line"), null, { timeout: 20000 });
  if (script.includes("step")) { await page.locator(".track").focus(); await page.keyboard.press("Home"); for (let i = 0; i < 3; i++) await page.keyboard.press("PageDown"); }
  if (script.includes("hover") && width > 500) { const b = await page.locator(".plane").boundingBox(); await page.mouse.move(b.x + b.width * .6, b.y + b.height * .45); }
  await page.waitForTimeout(500);
  await page.screenshot({ path: `out/${prefix}-${width}-${scheme}.png`, fullPage: width < 500 });
  console.log(prefix, width, scheme, await page.evaluate(() => [document.documentElement.scrollWidth, JSON.stringify(window.creasesTiming)].join(" ")));
}
await browser.close();
