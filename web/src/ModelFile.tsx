/** A model file to look at: the network is shown as a map, without data. */

import { signal } from "@preact/signals";
import { change, draft } from "./draft";
import { resetPlane } from "./SlicePanel";
import { ask, say } from "./state";

/** Largest file that is sent, in bytes; the server has the same limit. */
const LARGEST = 20e6;

const model = signal<{ name: string; content: string } | null>(null);

/** Ask the server to show the model file, if there is one. */
export function loadModel(): void {
  if (!model.value) return;
  const { from, to } = draft.value;
  resetPlane();
  ask({ do: "model", ...model.value, from, to }, "Mapping the network…", "problem");
}

export function ModelFile() {
  const read = async (file: File | undefined) => {
    if (!file) return;
    if (file.size > LARGEST) return say("problem", `${file.name} has ${Math.round(file.size / 1e6)} MB; the limit is ${LARGEST / 1e6} MB.`);
    model.value = { name: file.name, content: await inBase64(file) };
    loadModel();
  };
  const limit = (part: { from: number } | { to: number }) => (change(part), loadModel());
  return (
    <>
      <label>
        Model file (.safetensors or .onnx)
        <input type="file" accept=".safetensors,.onnx" onChange={(event) => read(event.currentTarget.files?.[0])} />
      </label>
      <div class="row">
        <label>
          Input range from
          <input type="number" step="any" value={draft.value.from} onChange={(event) => limit({ from: Number(event.currentTarget.value) })} />
        </label>
        <label>
          to
          <input type="number" step="any" value={draft.value.to} onChange={(event) => limit({ to: Number(event.currentTarget.value) })} />
        </label>
      </div>
    </>
  );
}

function inBase64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error ?? new Error(`${file.name} could not be read`));
    reader.readAsDataURL(file);
  });
}
