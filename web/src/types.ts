/** The JSON of a run, as PROTOCOL.md describes it. */

export type Problem = {
  name: string;
  about: string;
  task: "classification" | "regression";
  features: string[];
  classes: string[] | null;
  X: number[][];
  y: number[];
  split: number[]; // 0 train, 1 validation, 2 test
};

export type Measured = { loss?: number | null; score?: number | null; validation_loss?: number | null; validation_score?: number | null };

export type Step = {
  number: number;
  action: "grow" | "deepen" | "recycle" | "revive";
  epoch: number;
  place: string;
  method: string;
  units: number[];
  removed: number[];
  width: [number, number];
  parameters: [number, number];
  before: Measured;
  after: Measured;
  later: Measured;
  changed: number | null;
  pays: boolean; // false once its stage did not pay
  undone: boolean;
  tag: string; // why it is undone, "" if it is not
  why: string;
  text: string;
  marks: { instance?: number; mistakes?: number[]; fold_point?: number[] };
  near: { size?: number | null; wrong?: number | null; share?: number | null };
  outcome: { fixed: number[]; broken: number[]; moved?: number | null; turned?: number | null };
};

export type Moment = {
  id: number;
  epoch: number;
  kind: "start" | "training" | "before" | "grown" | "end";
  record: number | null;
  regions: number | null; // of the first slice; null if not known yet
};

export type Epochs = Record<"epoch" | "loss" | "score" | "validation_loss" | "validation_score" | "parameters", (number | null)[]>;

/** A picture as a data URI, or one for each theme. */
export type Image = string | { light: string; dark: string };

export type Section = { title: string; text?: string; code?: string; table?: { columns: string[]; rows: string[][] }; picture?: Image };

export type Run = {
  problem: Problem;
  setting: Record<string, unknown>;
  measure: string;
  epochs: Epochs;
  records: Step[];
  moments: Moment[];
  growth_ended?: string;
  ended: string;
  kept: number | null; // 0: the linear model of the start; null before the end of the run
  phase?: string; // of a live run: what is being trained
  sections: Section[];
  slices?: string[]; // names of the slices, if there are several
  slices_are?: string; // label of the slices, "Slice" by default
};

export type Status = "idle" | "running" | "paused" | "ended";

/** A value that can be chosen, and its label. */
export type Option = [string, string];

/** What the server offers to choose from. */
export type Choices = Record<"problems" | "methods" | "where" | "when", Option[]>;
