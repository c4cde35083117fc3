/** The network: inputs, units, outputs; the newest unit marked; a click on a unit lights its crease. */

import { classColor } from "./colors";
import { unitOn, type Frame } from "./frame";
import { dark, frame, looked, newest, region, run, stepNumbers, unit } from "./state";

const W = 320, MOST_LINKS = 1500, MOST_STOPS = 60, MOST_DRAWN = 300;

/** Whether the network of a frame is small enough to draw, and has layers. */
export function isDrawn(now: Frame): boolean {
  return now.layers.length > 0 && Math.max(now.affine[0]?.in ?? run.value?.problem.features.length ?? 0, now.outputs, ...now.layers.map((layer) => layer.width)) <= MOST_DRAWN;
}

/** A network that has no drawing, such as one of convolutions, in words. */
function TooLarge({ frame: now, inputs }: { frame: Frame; inputs: number }) {
  const layers = now.layers.map((layer) => `${layer.width.toLocaleString("en")} units`);
  const parts = [`${inputs.toLocaleString("en")} inputs`, ...layers, `${now.outputs} output${now.outputs > 1 ? "s" : ""}`];
  return <p class="quiet">{parts.join(" → ")}. {now.layers.length ? "Too large to draw." : "Its layers cannot be drawn; the map shows its regions."}</p>;
}

export function NetworkDrawing() {
  const now = frame.value;
  const problem = run.value?.problem;
  if (!now || !problem) return <p class="quiet">The network is drawn here once the run starts.</p>;
  const columns = [now.affine[0]?.in ?? problem.features.length, ...now.layers.map((layer) => layer.width), now.outputs];
  const tallest = Math.max(...columns);
  if (!isDrawn(now)) return <TooLarge frame={now} inputs={columns[0]} />;
  const gap = Math.max(7, Math.min(24, 220 / tallest));
  const height = Math.max(90, tallest * gap + 44);
  const radius = Math.min(8, gap * 0.4);
  const left = 74, right = W - 58;
  const x = (column: number) => left + ((right - left) * column) / (columns.length - 1);
  const apart = (column: number) => Math.min(24, (height - 44) / columns[column]);
  const y = (column: number, k: number) => 26 + (height - 44) / 2 + (k - (columns[column] - 1) / 2) * apart(column);
  const named = (column: number) => apart(column) > 11;
  let first = 0;
  const starts = now.layers.map((layer) => (first += layer.width) - layer.width);
  const few = first <= MOST_STOPS;
  const chosen = few ? (looked.value ?? region.value) : null; // large drawings do not follow the pointer: too slow
  return (
    <svg class="network" viewBox={`0 0 ${W} ${height}`} role="group" aria-label={`Network with layer widths ${columns.join(", ")}`}>
      {links(now, columns, x, y)}
      {Array.from({ length: Math.min(columns[0], 40) }, (_, k) => (
        <g key={`i${k}`}>
          <rect class="input" x={x(0) - radius} y={y(0, k) - radius} width={2 * radius} height={2 * radius} />
          {named(0) && <text x={x(0) - radius - 4} y={y(0, k) + 4} text-anchor="end">{short(problem.features[k] ?? `x${k + 1}`)}</text>}
        </g>
      ))}
      {now.layers.map((layer, l) => (
        <g key={layer.name}>
          <text class="name" x={x(l + 1)} y={14} text-anchor="middle">{layer.name}</text>
          {Array.from({ length: layer.width }, (_, k) => {
            const u = starts[l] + k;
            const on = chosen !== null && chosen < now.regions && unitOn(now, chosen, u);
            const kind = ["unit", newest.value.includes(u) && "newest", unit.value === u && "lit", chosen !== null && (on ? "on" : "off")];
            const choose = () => (unit.value = unit.value === u ? null : u);
            return (
              <g
                key={k}
                class={kind.filter(Boolean).join(" ")}
                role="button"
                tabindex={few ? 0 : -1}
                aria-pressed={unit.value === u}
                aria-label={`Unit ${k} of ${layer.name}${newest.value.includes(u) ? " (new)" : ""}: highlight its crease`}
                onClick={choose}
                onKeyDown={(event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), choose())}
              >
                <circle cx={x(l + 1)} cy={y(l + 1, k)} r={radius} />
                {gap > 15 && <text class="inside" x={x(l + 1)} y={y(l + 1, k) + 3} text-anchor="middle">{stepNumbers.value[u] || k}</text>}
                <title>{`Unit ${k} of ${layer.name}${stepNumbers.value[u] ? `, added by growth step ${stepNumbers.value[u]}` : ""}`}</title>
              </g>
            );
          })}
        </g>
      ))}
      {Array.from({ length: now.outputs }, (_, k) => (
        <g key={`o${k}`}>
          <circle class="output" style={{ fill: problem.classes ? classColor(k, dark.value) : undefined }} cx={x(columns.length - 1)} cy={y(columns.length - 1, k)} r={radius} />
          {named(columns.length - 1) && <text x={x(columns.length - 1) + radius + 4} y={y(columns.length - 1, k) + 4}>{short(problem.classes?.[k] ?? "f")}</text>}
        </g>
      ))}
    </svg>
  );
}

/** Connections, stronger where the weight is: full where positive, broken where negative. */
function links(now: Frame, columns: number[], x: (c: number) => number, y: (c: number, k: number) => number) {
  if (now.affine.reduce((sum, { W }) => sum + W.length, 0) > MOST_LINKS || now.affine.length !== columns.length - 1) return null;
  return now.affine.flatMap(({ W, out, in: inputs }, layer) => {
    const most = W.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-12);
    return Array.from({ length: out * inputs }, (_, i) => {
      const [to, from] = [Math.floor(i / inputs), i % inputs];
      const size = Math.abs(W[i]) / most;
      return (
        <line
          key={`${layer}-${i}`}
          class={W[i] < 0 ? "link negative" : "link"}
          x1={x(layer)} y1={y(layer, from)} x2={x(layer + 1)} y2={y(layer + 1, to)}
          stroke-width={0.4 + 2 * size}
          stroke-opacity={0.15 + 0.6 * size}
        />
      );
    });
  });
}

function short(name: string): string {
  return name.length > 8 ? `${name.slice(0, 7)}…` : name;
}
