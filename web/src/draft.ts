/** What the user has chosen and not yet started; address.ts keeps it in the address. */

import { signal } from "@preact/signals";

export type Kind = "builtin" | "csv" | "formula" | "draw";
export type Draft = {
  kind: Kind;
  name: string;
  formula: string;
  rows: number;
  noise: number;
  target: string;
  how: string;
  where: string;
  when: string;
  hidden: string;
  seed: number;
};

const FIRST: Draft = {
  kind: "builtin", name: "xor_circles", formula: "sin(3*x)", rows: 400, noise: 0, target: "",
  how: "fold", where: "bottleneck", when: "plateau", hidden: "2", seed: 0,
};

export const draft = signal<Draft>(fromAddress());
export const drawn = signal<{ x: [number, number]; label: number }[]>([]);
export const brush = signal(0);

export function change(part: Partial<Draft>): void {
  draft.value = { ...draft.value, ...part };
}

function fromAddress(): Draft {
  const given = new URLSearchParams(location.hash.slice(1));
  const found: Record<string, unknown> = { ...FIRST };
  for (const [key, value] of given) {
    if (!(key in FIRST)) continue;
    const usual = FIRST[key as keyof Draft];
    if (typeof usual !== "number") found[key] = value;
    else if (Number.isFinite(Number(value))) found[key] = Number(value);
  }
  return found as Draft;
}

/** What of the draft differs from the usual. */
export function changes(): [string, string][] {
  return Object.entries(draft.value)
    .filter(([key, value]) => value !== FIRST[key as keyof Draft])
    .map(([key, value]) => [key, String(value)]);
}
