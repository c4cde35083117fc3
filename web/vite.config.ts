import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** What the built files are made from; a test compares the digest of these with the one that was kept. */
const SOURCES = ["package.json", "package-lock.json", "page.html", "tsconfig.json", "vite.config.ts"];

/** The digest of all sources: of each, in the order of their names, the name, a zero byte, the content, a zero byte. */
function digest(): string {
  const hash = createHash("sha256");
  const inside = readdirSync("src", { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.replaceAll("\\", "/"));
  for (const name of [...SOURCES, ...inside].sort()) hash.update(`${name}\0`).update(readFileSync(name)).update("\0");
  return `${hash.digest("hex")}\n`;
}

/** Put beside the bundle the two pages, the studio's and the report's, whose marks the report's writer fills; and the digest. */
function pages(): Plugin {
  const page = readFileSync("page.html", "utf8");
  const studio: [string, string][] = [
    ["<!--title-->", "creases studio"],
    ["<!--style-->", '<link rel="stylesheet" href="studio.css" />'],
    ["<!--script-->", '<script type="module" src="studio.js"></script>'],
  ];
  return {
    name: "pages",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "report.html", source: page });
      const source = studio.reduce((text, [mark, put]) => text.replace(mark, put), page);
      this.emitFile({ type: "asset", fileName: "index.html", source });
      this.emitFile({ type: "asset", fileName: "source.sha256", source: digest() });
    },
  };
}

export default defineConfig({
  plugins: [pages()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    outDir: process.env.VIEWER_OUT ?? "../src/creases/show/_viewer/built",
    emptyOutDir: true,
    modulePreload: false,
    rollupOptions: {
      input: "src/main.tsx",
      output: { entryFileNames: "studio.js", assetFileNames: "studio[extname]" },
    },
  },
});
