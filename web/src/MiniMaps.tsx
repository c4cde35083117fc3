/** Small multiples: the slice in each category of a column, side by side. */

import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { classColor, css, paper, rgb, valueColor } from "./colors";
import type { PlaneFrame } from "./frame";
import { boundary, creases, sheet } from "./plane/mesh";
import { solidity, valueScale } from "./plane/points";
import { coloring, dark, moment, run, showData, slice, source } from "./state";
import type { Problem } from "./types";
import type { Scale } from "./plane/mesh";

export function MiniMaps() {
  const multiples = run.value?.multiples;
  if (!multiples || !run.value?.moments.length) return null;
  return (
    <div class="minis" role="group" aria-label={`The slice by ${multiples.column}`}>
      {multiples.slices.map((k, i) => <MiniMap key={k} number={k} title={`${multiples.column} = ${multiples.levels[i]}`} />)}
    </div>
  );
}

function MiniMap({ number, title }: { number: number; title: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useSignal<PlaneFrame | null>(null);
  const { problem, moments } = run.value!;
  const id = moments[Math.min(moment.value, moments.length - 1)].id;
  useEffect(() => {
    let wanted = true;
    source.value!.frame(id, number).then((found) => wanted && found.kind === "plane" && (frame.value = found), () => {});
    return () => void (wanted = false);
  }, [id, number]);
  useEffect(() => {
    if (canvas.current && frame.value) draw(canvas.current, frame.value, problem);
  }, [frame.value, problem, dark.value, coloring.value, showData.value]);
  return (
    <button class="mini" aria-pressed={slice.value === number} onClick={() => (slice.value = number)}>
      <canvas ref={canvas} width={320} height={220} aria-hidden="true" />
      <span>{title}</span>
    </button>
  );
}

/** Draw a slice on a small canvas: its sheet, creases, boundary and points. */
function draw(canvas: HTMLCanvasElement, frame: PlaneFrame, problem: Problem): void {
  const context = canvas.getContext("2d")!;
  const { width, height } = canvas;
  const tones = paper(dark.value), scale = valueScale(problem);
  context.fillStyle = css(tones.paper);
  context.fillRect(0, 0, width, height);
  if (scale && coloring.value !== "regions") shadeValues(context, frame, scale);
  else {
  const { positions, colors, indices } = sheet(frame, coloring.value, tones, problem.classes?.length ?? 1, scale);
  for (let t = 0; t < indices.length; t += 3) {
    const at = [0, 1, 2].map((k) => [width * positions[2 * indices[t + k]], height * (1 - positions[2 * indices[t + k] + 1])]);
    const tone = [0, 1, 2].map((c) => (colors[4 * indices[t] + c] + colors[4 * indices[t + 1] + c] + colors[4 * indices[t + 2] + c]) / 3);
    context.fillStyle = context.strokeStyle = css(tone as [number, number, number]);
    context.beginPath();
    for (const [x, y] of at) context.lineTo(x, y);
    context.closePath();
    context.fill();
    context.stroke(); // closes the seams between triangles
  }
  }
  for (const [{ ends, colors: tints }, wide] of [[creases(frame, tones), 1], [boundary(frame, tones), 3]] as const) {
    context.lineWidth = wide;
    for (let i = 0; 4 * i < ends.length; i++) {
      context.strokeStyle = css([tints[4 * i], tints[4 * i + 1], tints[4 * i + 2]]);
      context.beginPath();
      context.moveTo(width * ends[4 * i], height * (1 - ends[4 * i + 1]));
      context.lineTo(width * ends[4 * i + 2], height * (1 - ends[4 * i + 3]));
      context.stroke();
    }
  }
  const { points, distance } = frame;
  if (!points || !showData.value) return;
  for (let i = 0; 2 * i < points.length; i++) {
    const solid = solidity(distance?.[i] ?? 0, frame.origin.length);
    context.globalAlpha = Math.max(0, (solid - 0.12) / 0.88); // rows of other categories are far away
    context.fillStyle = scale ? css(valueColor(problem.y[i], scale, dark.value)) : css(rgb(classColor(problem.classes ? problem.y[i] : 0, dark.value)));
    context.strokeStyle = css(tones.paper);
    context.lineWidth = 1;
    context.beginPath();
    context.arc(width * points[2 * i], height * (1 - points[2 * i + 1]), 4, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
  context.globalAlpha = 1;
}

/** Fill each region with the colors of its values, which an affine function gives: a linear gradient. */
function shadeValues(context: CanvasRenderingContext2D, frame: PlaneFrame, scale: Scale): void {
  const { width, height } = context.canvas;
  const { vertices, corners, starts, values, outputs, J, box } = frame;
  const tones = scale.map((value) => css(valueColor(value, scale, dark.value)));
  for (let r = 0; r + 1 < starts.length; r++) {
    const at = (c: number) => [width * vertices[2 * corners[c]], height * (1 - vertices[2 * corners[c] + 1])];
    const gx = (J[2 * r * outputs] * (box[0][1] - box[0][0])) / width, gy = (-J[2 * r * outputs + 1] * (box[1][1] - box[1][0])) / height;
    const [x, y] = at(starts[r]);
    const value = values[corners[starts[r]] * outputs], size = gx * gx + gy * gy;
    let fill: string | CanvasGradient = css(valueColor(value, scale, dark.value));
    if (size > 1e-30) {
      const [a, b] = scale.map((end) => [x + (gx * (end - value)) / size, y + (gy * (end - value)) / size]);
      fill = context.createLinearGradient(a[0], a[1], b[0], b[1]);
      fill.addColorStop(0, tones[0]);
      fill.addColorStop(1, tones[1]);
    }
    context.fillStyle = context.strokeStyle = fill;
    context.beginPath();
    for (let c = starts[r]; c < starts[r + 1]; c++) context.lineTo(...(at(c) as [number, number]));
    context.closePath();
    context.fill();
    context.stroke();
  }
}
