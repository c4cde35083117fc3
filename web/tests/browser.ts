/** Stand-ins for the parts of a browser that modules use when they are imported. */

import { vi } from "vitest";

export const replaced: string[] = [];

/** A page at an address with this hash; modules are imported again after it. */
export function openPage(hash = ""): void {
  vi.resetModules();
  replaced.length = 0;
  vi.stubGlobal("location", { hash, pathname: "/", search: "", href: `http://localhost/${hash}` });
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("document", { documentElement: { dataset: {} } });
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });
  vi.stubGlobal("history", { replaceState: (_state: unknown, _title: string, url: string) => replaced.push(url) });
}
