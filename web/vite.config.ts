import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** Put the two pages beside the bundle: the studio's, and the report's, whose marks the report's writer fills. */
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
    },
  };
}

export default defineConfig({
  plugins: [pages()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    outDir: "../src/creases/show/viewer/built",
    emptyOutDir: true,
    modulePreload: false,
    rollupOptions: {
      input: "src/main.tsx",
      output: { entryFileNames: "studio.js", assetFileNames: "studio[extname]" },
    },
  },
});
