/** A request that takes long, and the button to stop it. */

import { source, working } from "./state";

export function StillWorking() {
  if (!working.value) return null;
  return (
    <div class="row">
      <span class="quiet">Still at work, for {working.value} s.</span>
      <button onClick={() => source.value?.send({ do: "stop" })} title="Stop this work; what is open is lost">Stop</button>
    </div>
  );
}
