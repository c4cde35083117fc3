/** Knots of a curve that is changed by hand: where they may go, and at which places they stop. */

/** A round step, at most a share of a span: 1, 2 or 5 times a power of ten. */
export function roundStep(span: number, share = 1 / 200): number {
  const most = span * share;
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most) + 1e-9);
  return [5, 2, 1].find((digit) => digit * power <= most * (1 + 1e-9))! * power;
}

/** The multiple of a step next to a value, without the noise of binary fractions. */
export function roundTo(value: number, step: number): number {
  return Number((Math.round(value / step) * step).toPrecision(12));
}

/** Where a knot goes that is moved to x: between its neighbors, at a round place; the first and the last keep theirs. */
export function placeKnot(knots: number[], k: number, x: number): number {
  if (k === 0 || k === knots.length - 1) return knots[k];
  const step = roundStep(knots[knots.length - 1] - knots[0]);
  const gap = 0.001 * (knots[knots.length - 1] - knots[0]);
  const low = knots[k - 1] + gap, high = knots[k + 1] - gap;
  if (low >= high) return knots[k];
  const round = roundTo(x, step);
  return round >= low && round <= high ? round : Math.max(low, Math.min(high, x));
}

/** The same series with knot k of the curve at another place and height. */
export function withKnot<S extends { x: number[]; y: number[] }>(series: S, k: number, x: number, y: number): S {
  return { ...series, x: series.x.map((value, i) => (i === k ? x : value)), y: series.y.map((value, i) => (i === k ? y : value)) };
}
