/** Drawing with WebGL2: triangles of the sheet, segments as smooth strips, points as discs. */

import type { RGB } from "../colours";
import type { Segments, Sheet } from "./mesh";

/** Where the box lies on the canvas: pixel = at + size * u, y upwards from the bottom. */
export type View = { x: number; y: number; width: number; height: number };

const SHEET = `#version 300 es
layout(location=0) in vec2 position; layout(location=1) in vec4 colour;
uniform vec4 view; uniform vec2 canvas; out vec4 tone;
void main() { gl_Position = vec4((view.xy + view.zw * position) / canvas * 2. - 1., 0, 1); tone = colour; }`;
const FLAT = `#version 300 es
precision highp float; in vec4 tone; out vec4 pixel; void main() { pixel = tone; }`;
const STRIP = `#version 300 es
layout(location=0) in vec4 ends; layout(location=1) in vec4 colour;
uniform vec4 view; uniform vec2 canvas; uniform float width; out vec4 tone; out float off;
void main() {
  vec2 a = view.xy + view.zw * ends.xy, b = view.xy + view.zw * ends.zw, along = b - a;
  float size = length(along); along = size > 0. ? along / size : vec2(1, 0);
  float side = float(gl_VertexID & 1) * 2. - 1., half_width = width / 2. + 1.;
  vec2 end = (gl_VertexID & 2) == 0 ? a - along * width * .25 : b + along * width * .25;
  off = side * half_width; tone = colour;
  gl_Position = vec4((end + vec2(-along.y, along.x) * off) / canvas * 2. - 1., 0, 1);
}`;
const SOFT = `#version 300 es
precision highp float; in vec4 tone; in float off; uniform float width; out vec4 pixel;
void main() { pixel = tone; pixel.a *= clamp(width / 2. + .5 - abs(off), 0., 1.); }`;
const DISC = `#version 300 es
layout(location=0) in vec2 position; layout(location=1) in vec4 colour;
uniform vec4 view; uniform vec2 canvas; uniform float size; out vec4 tone;
void main() {
  gl_Position = vec4((view.xy + view.zw * position) / canvas * 2. - 1., 0, 1); gl_PointSize = size; tone = colour;
}`;
const ROUND = `#version 300 es
precision highp float; in vec4 tone; uniform float size; uniform vec3 rim; out vec4 pixel;
void main() {
  float r = length(gl_PointCoord - .5) * size, edge = size / 2. - 1.;
  pixel = vec4(mix(tone.rgb, rim, clamp(r - edge + 1., 0., 1.)), clamp(edge + .8 - r, 0., 1.));
}`;
type Program = { program: WebGLProgram; at: Record<string, WebGLUniformLocation | null> };
type Batch = { vao: WebGLVertexArrayObject; buffers: WebGLBuffer[]; count: number };
type Target = { texture: WebGLTexture; buffer: WebGLFramebuffer; view: View; stale: boolean };

/** Creases above which they are drawn as lines one pixel wide. */
export const MANY = 20_000;

/** Fewest and most items, triangles or segments, that one frame draws; between them it goes by what the GPU manages. */
const FEWEST = 8_000, MOST = 1e7;

/** Milliseconds without a move after which it has ended. */
const STILL = 90;

/** Milliseconds between parts on a machine that is slow even with the smallest. */
const PAUSE = 120;

export class Painter {
  private readonly gl: WebGL2RenderingContext;
  private readonly programs: Record<"sheet" | "strip" | "disc", Program>;
  private batches: Partial<Record<"sheet" | "creases" | "boundary" | "points", Batch>> = {};
  private front: Target | null = null;
  private back: Target | null = null;
  private done = 0; // items of the back picture that are drawn
  private budget = 40_000; // items that one frame draws
  private fence: WebGLSync | null = null;
  private late = false;
  private last: View | null = null; // the view asked for last, and since when
  private moved = 0;
  private before = 0; // when the GPU was last given something
  private painted = 0; // when the last frame was
  private slow = false; // whether frames come slowly
  private canvas: [number, number] = [1, 1];
  private ratio = 1;
  private hair = false; // whether creases are lines one pixel wide
  private background: RGB = [255, 255, 255];

  constructor(element: HTMLCanvasElement) {
    const gl = element.getContext("webgl2", { antialias: false, alpha: false, depth: false, powerPreference: "high-performance" });
    if (!gl) throw new Error("This browser has no WebGL2, which the plane is drawn with. Switch on hardware acceleration, or try another browser.");
    this.gl = gl;
    this.programs = {
      sheet: this.link(SHEET, FLAT, ["view", "canvas"]),
      strip: this.link(STRIP, SOFT, ["view", "canvas", "width"]),
      disc: this.link(DISC, ROUND, ["view", "canvas", "size", "rim"]),
    };
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE);
  }

  /** Give the canvas a size in pixels of the device. */
  resize(width: number, height: number, ratio: number): void {
    this.canvas = [width, height];
    this.ratio = ratio;
    this.gl.canvas.width = width;
    this.gl.canvas.height = height;
    for (const target of [this.front, this.back]) if (target) this.drop(target);
    this.front = null;
    this.back = null;
  }

  load(sheet: Sheet, creases: Segments, boundary: Segments, background: RGB): void {
    this.background = background;
    this.put("sheet", this.indexed(sheet.positions, 2, sheet.colours, sheet.indices));
    this.hair = creases.ends.length / 4 > MANY;
    this.put("creases", this.hair ? this.hairs(creases) : this.strips(creases));
    this.put("boundary", this.strips(boundary));
    this.back = this.abandon();
  }

  loadPoints(positions: Float32Array, colours: Uint8Array): void {
    const { gl } = this;
    const vao = gl.createVertexArray()!;
    gl.bindVertexArray(vao);
    const buffers = [this.attribute(0, positions, 2, gl.FLOAT), this.attribute(1, colours, 4, gl.UNSIGNED_BYTE)];
    this.put("points", { vao, buffers, count: positions.length / 2 });
    this.back = this.abandon();
  }

  /** Draw a part of the picture for a view; the view of the picture that the canvas holds, null before the first. */
  paint(view: View): View | null {
    const now = performance.now();
    this.slow = now - this.painted > 26;
    this.painted = now;
    if (!this.last || !same(this.last, view)) [this.last, this.moved] = [{ ...view }, now];
    if (!this.current(view)) {
      // The first picture, and the one when a move has ended, come whole; in between a part is drawn at a time.
      const whole = !this.front || now - this.moved > STILL;
      if (whole && this.back && !same(this.back.view, view)) this.back = this.abandon();
      if (!this.back) this.begin(view);
      if ((whole || this.ready()) && this.advance(whole ? Infinity : this.budget)) {
        if (this.front) this.drop(this.front);
        this.front = this.back;
        this.back = null;
        this.present();
      }
    }
    return this.front?.view ?? null;
  }

  /** Whether the GPU has done all that it was given: drawing is only asked for above. */
  settled(): boolean {
    return !this.fence || this.gl.getSyncParameter(this.fence, this.gl.SYNC_STATUS) === this.gl.SIGNALED;
  }

  /** Put the front picture on the canvas. */
  private present(): void {
    const { gl } = this;
    const [width, height] = this.canvas;
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.front!.buffer);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
  }

  /** Whether the last whole picture is of this view. */
  current(view: View): boolean {
    return !this.back && !!this.front && !this.front.stale && same(this.front.view, view);
  }

  /** Whether the GPU has done with what it was last given; what it is given next grows or shrinks with that. */
  private ready(): boolean {
    const { gl } = this;
    const now = performance.now();
    if (this.fence) {
      if (gl.getSyncParameter(this.fence, gl.SYNC_STATUS) !== gl.SIGNALED) {
        this.late = true;
        return false;
      }
      gl.deleteSync(this.fence);
      this.fence = null;
      const less = this.late || this.slow;
      this.budget = less ? Math.max(FEWEST, this.budget * 0.7) : Math.min(MOST, this.budget * 1.3);
      this.late = false;
    }
    if (this.slow && this.budget === FEWEST && now - this.before < PAUSE) return false; // moving smoothly comes first
    this.before = now;
    return true;
  }

  private begin(view: View): void {
    const { gl } = this;
    const texture = gl.createTexture()!;
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, ...this.canvas);
    const buffer = gl.createFramebuffer()!;
    gl.bindFramebuffer(gl.FRAMEBUFFER, buffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    this.clear();
    this.back = { texture, buffer, view: { ...view }, stale: false };
    this.done = 0;
  }

  /** Draw the next items of the back picture within the budget; true when all are drawn. */
  private advance(left: number): boolean {
    const { gl, batches, back } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, back!.buffer);
    gl.viewport(0, 0, ...this.canvas);

    let before = 0;
    for (const name of ["sheet", "creases", "boundary", "points"] as const) {
      const batch = batches[name];
      if (!batch) continue;
      const from = Math.max(0, this.done - before);
      const count = Math.min(batch.count - from, name === "points" ? batch.count : Math.max(1, Math.floor(left)));
      before += batch.count;
      if (count <= 0) continue;
      this.draw(name, batch, from, count, back!.view);
      this.done += count;
      left -= count;
      if (left <= 0) break;
    }
    gl.bindVertexArray(null);
    this.fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    return this.done >= this.total();
  }

  private total(): number {
    return Object.values(this.batches).reduce((sum, batch) => sum + batch.count, 0);
  }

  private draw(name: "sheet" | "creases" | "boundary" | "points", batch: Batch, from: number, count: number, view: View): void {
    const { gl } = this;
    const hair = name === "creases" && this.hair;
    const kind = name === "sheet" || hair ? "sheet" : name === "points" ? "disc" : "strip";
    const { program, at } = this.programs[kind];
    gl.useProgram(program);
    gl.uniform4f(at.view, view.x, view.y, view.width, view.height);
    gl.uniform2f(at.canvas, ...this.canvas);
    gl.bindVertexArray(batch.vao);
    if (name === "sheet") {
      gl.disable(gl.BLEND);
      gl.drawElements(gl.TRIANGLES, 3 * count, gl.UNSIGNED_INT, 12 * from);
      return;
    }
    gl.enable(gl.BLEND);
    if (hair) {
      gl.drawArrays(gl.LINES, 2 * from, 2 * count);
      return;
    }
    if (kind === "disc") {
      const size = (batch.count > 2000 ? 6 : 9) * this.ratio;
      gl.uniform1f(at.size, size);
      gl.uniform3f(at.rim, 1, 1, 1);
      gl.drawArrays(gl.POINTS, from, count);
      return;
    }
    gl.uniform1f(at.width, (name === "boundary" ? 2.2 : 1.1) * this.ratio);
    gl.drawElements(gl.TRIANGLES, 6 * count, gl.UNSIGNED_INT, 24 * from);
  }

  private clear(): void {
    const [r, g, b] = this.background;
    this.gl.viewport(0, 0, ...this.canvas);
    this.gl.clearColor(r / 255, g / 255, b / 255, 1);
    this.gl.clear(this.gl.COLOR_BUFFER_BIT);
  }

  private indexed(positions: Float32Array, size: number, colours: Uint8Array, indices: Uint32Array): Batch {
    const { gl } = this;
    const vao = gl.createVertexArray()!;
    gl.bindVertexArray(vao);
    const buffers = [this.attribute(0, positions, size, gl.FLOAT), this.attribute(1, colours, 4, gl.UNSIGNED_BYTE)];
    const elements = gl.createBuffer()!;
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, elements);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices, gl.STATIC_DRAW);
    return { vao, buffers: [...buffers, elements], count: indices.length / 3 };
  }

  /** Segments as strips of two triangles with soft edges; software GL is very slow with instances, so none. */
  private strips({ ends, colours }: Segments): Batch {
    const count = ends.length / 4;
    const wide = new Float32Array(16 * count), tones = new Uint32Array(4 * count), indices = new Uint32Array(6 * count);
    const tone = new Uint32Array(colours.buffer, colours.byteOffset, count);
    for (let i = 0; i < count; i++) {
      for (let k = 0; k < 4; k++) for (let j = 0; j < 4; j++) wide[16 * i + 4 * k + j] = ends[4 * i + j];
      tones.fill(tone[i], 4 * i, 4 * i + 4);
      for (let k = 0; k < 6; k++) indices[6 * i + k] = 4 * i + [0, 1, 2, 2, 1, 3][k];
    }
    return { ...this.indexed(wide, 4, new Uint8Array(tones.buffer), indices), count };
  }

  /** Segments one pixel wide: for many of them, where strips would be slow and a blot. */
  private hairs({ ends, colours }: Segments): Batch {
    const { gl } = this;
    const count = ends.length / 4;
    const tone = new Uint32Array(colours.buffer, colours.byteOffset, count), tones = new Uint32Array(2 * count);
    for (let i = 0; i < count; i++) tones[2 * i] = tones[2 * i + 1] = tone[i];
    const vao = gl.createVertexArray()!;
    gl.bindVertexArray(vao);
    const buffers = [this.attribute(0, ends, 2, gl.FLOAT), this.attribute(1, new Uint8Array(tones.buffer), 4, gl.UNSIGNED_BYTE)];
    return { vao, buffers, count };
  }

  private attribute(index: number, data: Float32Array | Uint8Array, size: number, type: number): WebGLBuffer {
    const { gl } = this;
    const buffer = gl.createBuffer()!;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(index);
    gl.vertexAttribPointer(index, size, type, type !== gl.FLOAT, 0, 0);
    return buffer;
  }

  private put(name: keyof typeof this.batches, batch: Batch): void {
    const old = this.batches[name];
    if (old) {
      this.gl.deleteVertexArray(old.vao);
      for (const buffer of old.buffers) this.gl.deleteBuffer(buffer);
    }
    this.batches[name] = batch;
  }

  private abandon(): null {
    if (this.back) this.drop(this.back);
    if (this.front) this.front.stale = true;
    return null;
  }

  private drop(target: Target): void {
    this.gl.deleteTexture(target.texture);
    this.gl.deleteFramebuffer(target.buffer);
  }

  private link(vertex: string, fragment: string, uniforms: string[]): Program {
    const { gl } = this;
    const program = gl.createProgram()!;
    for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
      const shader = gl.createShader(type)!;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "the drawing program failed");
    return { program, at: Object.fromEntries(uniforms.map((name) => [name, gl.getUniformLocation(program, name)])) };
  }
}

function same(a: View, b: View): boolean {
  return a.x === b.x && a.y === b.y && a.width === b.width && a.height === b.height;
}
