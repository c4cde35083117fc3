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
  rows?: number; // of the whole table, if X is a sample of it
  target?: string; // name of what is predicted
  columns?: TableColumn[]; // of a table
};

/** A column of a table: its kind, and what it is used for. */
export type TableColumn = { column: string; kind: string; use: "input" | "target" | "left out"; missing: number; note: string };

/** Small multiples: a slice for each category of a column. */
export type Multiples = { column: string; slices: number[]; levels: string[] };

export type Measured = { loss?: number | null; score?: number | null; validation_loss?: number | null; validation_score?: number | null };

export type Step = {
  number: number;
  action: "grow" | "narrow" | "revive";
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
  marks: { instance?: number; mistakes?: number[]; fold_point?: number[]; direction?: [number, number] };
  near: { size?: number | null; wrong?: number | null; share?: number | null };
  outcome: { fixed: number[]; broken: number[]; moved?: number | null; turned?: number | null };
};

export type Moment = {
  id: number;
  epoch: number;
  kind: "start" | "training" | "before" | "grown" | "end";
  record: number | null;
  regions: number | null; // of the first slice; null if not known yet
  steps?: number[]; // of each unit, the growth step that added it (0: the start); empty if they are too many to number
};

export type Epochs = Record<"epoch" | "loss" | "score" | "validation_loss" | "validation_score" | "parameters", (number | null)[]>;

/** A picture as a data URI, or one for each theme. */
export type Image = string | { light: string; dark: string };

export type Table = { columns: string[]; rows: string[][] };

/** A bar: a share of the longest, and its number as text; the main one stands out. */
export type Bar = { name: string; share: number; text: string; main?: boolean };

/** Counts by true class (rows) and predicted class (columns). */
export type Matrix = { rows: string[]; columns: string[]; values: number[][]; down: string; across: string };

/** An axis: its name with the unit, its range (by default that of the values), names of the places 0, 1, 2, ..., or ticks with their names; and
 * whether it is logarithmic. */
export type Axis = { name: string; range?: [number, number]; labels?: string[]; ticks?: [number, string][]; log?: boolean };

/** Values to draw; the color is that of a class, by default the ink; marks: breakpoints of a line. A band is between y and top; a density of
 * rows stands at the bottom: heights y between the edges x. */
export type Series = { kind: "line" | "points" | "bars" | "band" | "density"; x: number[]; y: number[]; top?: number[]; name?: string; color?: number; faint?: boolean; marks?: boolean };

/** A chart; a low one is half as high. */
export type ChartData = { title?: string; x: Axis; y: Axis; series: Series[]; diagonal?: boolean; label?: string; low?: boolean };

/** What each value of a category adds: a bar, or of several classes a dot of each one's color, around 0. */
export type LevelsData = { title: string; levels: { name: string; values: number[]; error?: number; text: string }[]; limit: number; more?: string };

/** What two categories add together: a number for each two values, colored by its share of the limit. */
export type CellsData = { title: string; down: Names; across: Names; values: number[][]; texts: string[][]; limit: number; note?: string };
type Names = { name: string; levels: string[] };

/** What two numbers add together: values as shares of the limit (signed bytes in base64, by rows from the upper left), where these bend, rows. */
export type MapData = { title: string; x: Axis; y: Axis; shades: string; samples: [number, number]; limit: number; creases: number[][][]; rows: number[][] };

export type AnyChartData = ChartData | LevelsData | CellsData | MapData;

/** A part of a report; one with `viewer` says where among the others the viewer is. */
export type Section = {
  title: string;
  group?: string; // the question it answers
  viewer?: boolean;
  size?: "" | "narrow" | "wide" | "full";
  text?: string;
  code?: string;
  table?: Table;
  bars?: Bar[];
  matrix?: Matrix;
  charts?: AnyChartData[];
  picture?: Image;
  note?: string;
};

/** What a column adds to the prediction; the curve of an input can be changed by hand, one without an input cannot. Bars have the levels that
 * they stand for; those left out have none. */
export type ColumnCurve = { column: string; input: string; outputs: string[]; size: number; chart: ChartData | LevelsData; levels?: string[]; left_out?: string[] };

/** What two columns add together; curves are without those of the levels left out. */
export type ColumnPlane = { columns: [string, string]; chart: AnyChartData; left_out?: string[] };

/** Scores before and after the changes: of rows held out (neither fitted nor tested with), rows fitted, and test rows. */
export type PartScore = { part: "held-out" | "train" | "test" | "test_rmse"; rows: number | null; before: number; after: number | null };

/** What all changes of a model do together: of classes, rows decided otherwise; of values, by how much they move. */
export type Effect = {
  scores: PartScore[];
  rows: number; // all but the test rows, as in what follows
  flips: number | null;
  righted?: number; // rows that are right after the changes only
  wronged?: number;
  examples: { row: number; before: string; after: string; truth: string }[];
  moved?: number; // rows whose value is another one
  most?: number;
};

/** A model of a table: its curves and planes in the order of importance, and what was changed by hand. */
export type TableModel = {
  name: string;
  unit: string;
  opening: string;
  words: string[];
  curves: ColumnCurve[];
  planes: ColumnPlane[];
  changes: string[];
  effect: Effect; // of all changes together
};

export type Run = {
  table?: TableModel; // instead of a network that grows
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
  fixed?: string[]; // of each slice, what the other columns are
  multiples?: Multiples;
  lead?: string; // one sentence about the report
};

export type Status = "idle" | "running" | "paused" | "ended";

/** A value that can be chosen, and its label. */
export type Option = [string, string];

/** What the server offers to choose from. */
export type Choices = Record<"problems" | "methods" | "where" | "when", Option[]>;
