/** The run of a report: inlined in the page as deflated, base64-coded bytes. */

import { readFrame, readReport, type Frame } from "./frame";
import type { Source } from "./state";
import type { Run } from "./types";

export async function openReport(text: string): Promise<{ run: Run; source: Source }> {
  const letters = atob(text.trim());
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { run, frames } = readReport(await new Response(stream).arrayBuffer());
  const read = new Map<string, Frame>();
  const source: Source = {
    live: false,
    async frame(moment, slice) {
      const name = slice ? `${moment}/${slice}` : `${moment}`;
      const bytes = frames.get(name);
      if (!bytes) throw new Error(`This report contains no map for moment ${name}.`);
      if (!read.has(name)) read.set(name, readFrame(bytes));
      return read.get(name)!;
    },
    send() {},
  };
  return { run, source };
}
