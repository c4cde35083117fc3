/** Loss and score by epoch, with the growth steps and the moment that is shown. */

import { goTo, moment, number, run, tick } from "./state";
import type { Run } from "./types";

const W = 320, H = 118, LEFT = 40, RIGHT = 8, TOP = 18, BOTTOM = 98;

/** The curves of the run and moment shown, or of another run; only those shown can be clicked to go in time. */
export function Curves({ of, at, small = false }: { of?: Run; at?: number; small?: boolean }) {
  const all = of ?? run.value;
  const now = at ?? moment.value;
  if (!all || all.epochs.epoch.length < 2) return <p class="quiet">Training curves appear here once the run starts.</p>;
  const known = { all, now, still: all !== run.value };
  if (small) return <Curve {...known} name={all.measure} train={all.epochs.score} held={all.epochs.validation_score} />;
  return (
    <>
      <Curve {...known} name="loss" train={all.epochs.loss} held={all.epochs.validation_loss} zero />
      <Curve {...known} name={all.measure} train={all.epochs.score} held={all.epochs.validation_score} />
      <p class="key"><i class="train" /> training <i class="held" /> validation <i class="steps" /> growth step</p>
    </>
  );
}

type Props = { all: Run; now: number; still: boolean; name: string; train: (number | null)[]; held: (number | null)[]; zero?: boolean };

function Curve({ all, now: index, still, name, train, held, zero = false }: Props) {
  const values = [...train, ...held].filter((v): v is number => v !== null && Number.isFinite(v));
  if (!values.length) return null;
  const high = values.reduce((a, b) => Math.max(a, b)), least = values.reduce((a, b) => Math.min(a, b));
  const low = zero ? Math.min(0, least) : least;
  const end = all.epochs.epoch.at(-1) ?? 1;
  const x = (epoch: number) => LEFT + ((W - LEFT - RIGHT) * epoch) / end;
  const y = (value: number) => BOTTOM - ((BOTTOM - TOP) * (value - low)) / (high - low || 1);
  const path = (series: (number | null)[]) =>
    series.map((v, i) => (v === null ? "" : `${i && series[i - 1] !== null ? "L" : "M"}${x(all.epochs.epoch[i]!).toFixed(1)} ${y(v).toFixed(1)}`)).join("");
  const now = all.moments[index];
  const here = Math.max(0, Math.min(train.length - 1, (now?.epoch ?? 1) - 1));
  const go = (event: MouseEvent) => {
    if (still) return;
    const bounds = (event.currentTarget as Element).getBoundingClientRect();
    const epoch = ((((event.clientX - bounds.left) / bounds.width) * W - LEFT) / (W - LEFT - RIGHT)) * end;
    let best = 0;
    all.moments.forEach((m, i) => {
      if (m.kind !== "end" && Math.abs(m.epoch - epoch) < Math.abs(all.moments[best].epoch - epoch)) best = i;
    });
    goTo(best);
  };
  const spoken = `${name}: ${number(train[here])} training, ${number(held[here])} validation at epoch ${here + 1}`;
  return (
    <svg class="curve" viewBox={`0 0 ${W} ${H}`} role="img" aria-label={spoken} onClick={go}>
      <text class="name" x={0} y={11}>{name}</text>
      <text x={W - RIGHT} y={11} text-anchor="end">
        {number(train[here])} / {number(held[here])}
      </text>
      {all.records.map((r) => <line key={r.number} class={r.undone ? "growth undone" : "growth"} x1={x(r.epoch)} x2={x(r.epoch)} y1={BOTTOM} y2={BOTTOM - 6} />)}
      <text x={LEFT - 5} y={TOP + 5} text-anchor="end">{tick(high, 3)}</text>
      <text x={LEFT - 5} y={BOTTOM + 2} text-anchor="end">{tick(low, 3)}</text>
      <path class="axis" d={`M${LEFT} ${TOP}V${BOTTOM}H${W - RIGHT}`} />
      <text x={LEFT} y={H - 6}>0</text>
      <text x={W - RIGHT} y={H - 6} text-anchor="end">epoch {end}</text>
      <path class="held" d={path(held)} />
      <path class="train" d={path(train)} />
      {now && <line class="now" x1={x(Math.min(now.epoch, end))} x2={x(Math.min(now.epoch, end))} y1={TOP - 4} y2={BOTTOM} />}
    </svg>
  );
}
