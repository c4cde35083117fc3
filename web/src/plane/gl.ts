/** Drawing with WebGL2: triangles of the sheet, segments as smooth strips, points as discs. */

import type { RGB } from "../colors";
import type { Segments, Sheet } from "./mesh";

/** Where the box lies on the canvas: pixel = at + size * u, y upwards from the bottom. */
export type View = { x: number; y: number; width: number; height: number };

const SHEET = `#version 300 es
layout(location=0) in vec2 position; layout(location=1) in vec4 color;
uniform vec4 view; uniform vec2 canvas; out vec4 tone;
void main() { gl_Position = vec4((view.xy + view.zw * position) / canvas * 2. - 1., 0, 1); tone = color; }`;
const FLAT = `#version 300 es
precision highp float; in vec4 tone; out vec4 pixel; void main() { pixel = tone; }`;
const STRIP = `#version 300 es
layout(location=0) in vec4 ends; layout(location=1) in vec4 color;
uniform vec4 view; uniform vec2 canvas; uniform float width; out vec4 tone; out float off;
void main() {
  vec2 a = view.xy + view.zw * ends.xy, b = view.xy + view.zw * ends.zw, along = b - a;
  float size = length(along); along = size > 0. ? along / size : vec2(1, 0);
  float side = float(gl_VertexID & 1) * 2. - 1., half_width = width / 2. + 1.;
  vec2 end = (gl_VertexID & 2) == 0 ? a - along * width * .25 : b + along * width * .25;
  off = side * half_width; tone = color;
  gl_Position = vec4((end + vec2(-along.y, along.x) * off) / canvas * 2. - 1., 0, 1);
}`;
const SOFT = `#version 300 es
precision highp float; in vec4 tone; in float off; uniform float width; out vec4 pixel;
void main() { pixel = tone; pixel.a *= clamp(width / 2. + .5 - abs(off), 0., 1.); }`;
const DISC = `#version 300 es
layout(location=0) in vec2 position; layout(location=1) in vec4 color;
uniform vec4 view; uniform vec2 canvas; uniform float size; out vec4 tone;
void main() {
  gl_Position = vec4((view.xy + view.zw * position) / canvas * 2. - 1., 0, 1); gl_PointSize = size; tone = color;
}`;
const ROUND = `#version 300 es
precision highp float; in vec4 tone; uniform float size; uniform vec3 rim; out vec4 pixel;
void main() {
  float r = length(gl_PointCoord - .5) * size, edge = size / 2. - 1.;
  pixel = vec4(mix(tone.rgb, rim, clamp(r - edge + 1., 0., 1.)), tone.a * clamp(edge + .8 - r, 0., 1.));
}`;
const COPY = `#version 300 es
uniform vec4 place; out vec2 at;
void main() { at = vec2(gl_VertexID & 1, gl_VertexID >> 1); gl_Position = vec4((place.xy + place.zw * at) * 2. - 1., 0, 1); }`;
const LOOK = `#version 300 es
precision highp float; in vec2 at; uniform sampler2D picture; out vec4 pixel; void main() { pixel = texture(picture, at); }`;
type Program = { program: WebGLProgram; at: Record<string, WebGLUniformLocation | null> };
type Batch = { vao: WebGLVertexArrayObject; buffers: WebGLBuffer[]; count: number };
/** A picture of a view that the GPU holds. */
export type Target = { texture: WebGLTexture; buffer: WebGLFramebuffer; view: View };
type Name = "sheet" | "creases" | "boundary" | "points";

const ORDER: Name[] = ["sheet", "creases", "boundary", "points"];

/** Creases above which they are drawn as lines one pixel wide. */
export const MANY = 20_000;

/** Draws a partition into pictures that the GPU holds, and those onto the canvas. */
export class Painter {
  private readonly gl: WebGL2RenderingContext;
  private programs!: Record<"sheet" | "strip" | "disc" | "copy", Program>;
  private batches: Partial<Record<Name, Batch>> = {};
  private ratio = 1;
  private hair = false; // whether creases are lines one pixel wide
  private background: RGB = [255, 255, 255];
  private target: Target | null = null; // what is being drawn
  private done = 0; // items of the picture that are drawn
  private fence: WebGLSync | null = null;

  constructor(readonly canvas: HTMLCanvasElement, lost: () => void, restored: () => void) {
    const gl = canvas.getContext("webgl2", { antialias: false, depth: false });
    if (!gl) throw new Error("The map needs WebGL2, which this browser does not provide. Turn on hardware acceleration or try another browser.");
    this.gl = gl;
    this.prepare();
    this.canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // asks for it to be given back
      this.batches = {};
      this.fence = null;
      lost();
    });
    this.canvas.addEventListener("webglcontextrestored", () => {
      this.prepare();
      restored();
    });
  }

  get lost(): boolean {
    return this.gl.isContextLost();
  }

  /** Give all that the GPU holds back. */
  close(): void {
    for (const name of ORDER) this.free(name);
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  /** Give the canvas a size in pixels of the device. */
  resize(width: number, height: number, ratio: number): void {
    this.ratio = ratio;
    this.canvas.width = width;
    this.canvas.height = height;
  }

  load(sheet: Sheet, creases: Segments, boundary: Segments, background: RGB): void {
    this.background = background;
    this.put("sheet", this.indexed(sheet.positions, 2, sheet.colors, sheet.indices));
    this.hair = creases.ends.length / 4 > MANY;
    this.put("creases", this.hair ? this.hairs(creases) : this.strips(creases));
    this.put("boundary", this.strips(boundary));
  }

  loadPoints(positions: Float32Array, colors: Uint8Array): void {
    const { gl } = this;
    const vao = gl.createVertexArray()!;
    gl.bindVertexArray(vao);
    const buffers = [this.attribute(0, positions, 2, gl.FLOAT), this.attribute(1, colors, 4, gl.UNSIGNED_BYTE)];
    this.put("points", { vao, buffers, count: positions.length / 2 });
  }

  /** Begin a picture of a view. */
  begin(view: View): Target {
    const { gl } = this;
    const [r, g, b] = this.background;
    const texture = gl.createTexture()!;
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, this.canvas.width, this.canvas.height);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    const buffer = gl.createFramebuffer()!;
    gl.bindFramebuffer(gl.FRAMEBUFFER, buffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(r / 255, g / 255, b / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.done = 0;
    return (this.target = { texture, buffer, view });
  }

  drop(target: Target): void {
    this.gl.deleteTexture(target.texture);
    this.gl.deleteFramebuffer(target.buffer);
  }

  /** Put pictures onto the canvas, each where it belongs in a view. */
  show(targets: Target[], view: View): void {
    const { gl } = this;
    const { program, at } = this.programs.copy;
    const { width, height } = this.canvas;
    const [r, g, b] = this.background;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.clearColor(r / 255, g / 255, b / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.disable(gl.BLEND);
    gl.useProgram(program);
    for (const { texture, view: old } of targets) {
      const across = view.width / old.width, up = view.height / old.height;
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, across === 1 ? gl.NEAREST : gl.LINEAR);
      gl.uniform4f(at.place, (view.x - old.x * across) / width, (view.y - old.y * up) / height, across, up);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
  }

  /** Whether the GPU has done all that it was given. */
  settled(): boolean {
    const { gl } = this;
    return !this.fence || gl.getSyncParameter(this.fence, gl.SYNC_STATUS) === gl.SIGNALED;
  }

  /** Draw the next items of the picture, so many at most; true when all are drawn. */
  advance(left: number): boolean {
    const { gl, batches, target } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, target!.buffer);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    let before = 0, whole = true;
    for (const name of ORDER) {
      const batch = batches[name];
      if (!batch) continue;
      const from = Math.max(0, this.done - before);
      const count = Math.max(0, Math.min(batch.count - from, left));
      before += batch.count;
      if (count > 0) this.draw(name, batch, from, count, target!.view);
      this.done += count;
      left -= count;
      whole = whole && this.done >= before;
    }
    gl.bindVertexArray(null);
    if (this.fence) gl.deleteSync(this.fence);
    this.fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    return whole;
  }

  private draw(name: Name, batch: Batch, from: number, count: number, view: View): void {
    const { gl } = this;
    const hair = name === "creases" && this.hair;
    const kind = name === "sheet" || hair ? "sheet" : name === "points" ? "disc" : "strip";
    const { program, at } = this.programs[kind];
    gl.useProgram(program);
    gl.uniform4f(at.view, view.x, view.y, view.width, view.height);
    gl.uniform2f(at.canvas, this.canvas.width, this.canvas.height);
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

  private indexed(positions: Float32Array, size: number, colors: Uint8Array, indices: Uint32Array): Batch {
    const { gl } = this;
    const vao = gl.createVertexArray()!;
    gl.bindVertexArray(vao);
    const buffers = [this.attribute(0, positions, size, gl.FLOAT), this.attribute(1, colors, 4, gl.UNSIGNED_BYTE)];
    const elements = gl.createBuffer()!;
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, elements);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices, gl.STATIC_DRAW);
    return { vao, buffers: [...buffers, elements], count: indices.length / 3 };
  }

  /** Segments as strips of two triangles with soft edges; software GL is very slow with instances, so none. */
  private strips({ ends, colors }: Segments): Batch {
    const count = ends.length / 4;
    const wide = new Float32Array(16 * count), tones = new Uint32Array(4 * count), indices = new Uint32Array(6 * count);
    const tone = new Uint32Array(colors.buffer, colors.byteOffset, count);
    for (let i = 0; i < count; i++) {
      for (let k = 0; k < 4; k++) for (let j = 0; j < 4; j++) wide[16 * i + 4 * k + j] = ends[4 * i + j];
      tones.fill(tone[i], 4 * i, 4 * i + 4);
      for (let k = 0; k < 6; k++) indices[6 * i + k] = 4 * i + [0, 1, 2, 2, 1, 3][k];
    }
    return { ...this.indexed(wide, 4, new Uint8Array(tones.buffer), indices), count };
  }

  /** Segments one pixel wide: for many of them, where strips would be slow and a blot. */
  private hairs({ ends, colors }: Segments): Batch {
    const { gl } = this;
    const count = ends.length / 4;
    const tone = new Uint32Array(colors.buffer, colors.byteOffset, count), tones = new Uint32Array(2 * count);
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

  private put(name: Name, batch: Batch): void {
    this.free(name);
    this.batches[name] = batch;
  }

  private free(name: Name): void {
    const old = this.batches[name];
    if (!old) return;
    this.gl.deleteVertexArray(old.vao);
    for (const buffer of old.buffers) this.gl.deleteBuffer(buffer);
    delete this.batches[name];
  }

  private prepare(): void {
    const { gl } = this;
    this.programs = {
      sheet: this.link(SHEET, FLAT, ["view", "canvas"]),
      strip: this.link(STRIP, SOFT, ["view", "canvas", "width"]),
      disc: this.link(DISC, ROUND, ["view", "canvas", "size", "rim"]),
      copy: this.link(COPY, LOOK, ["place"]),
    };
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE);
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
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(program) ?? "the drawing program failed");
    return { program, at: Object.fromEntries(uniforms.map((name) => [name, gl.getUniformLocation(program, name)])) };
  }
}
