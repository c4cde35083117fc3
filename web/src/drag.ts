/** What a pointer drags: it stays where it is released until the answer of the server is shown. */

import { useEffect, useRef, useState } from "preact/hooks";
import { errors, holding } from "./state";

/** `answer` changes when the server has answered; `label` says what is held, for the bar of narrow screens. */
export function useDrag<Held>(answer: unknown, label: (held: Held) => string) {
  const [held, keep] = useState<Held | null>(null);
  const down = useRef(false);
  const hold = (next: Held | null) => {
    keep(next);
    holding.value = next ? label(next) : "";
  };
  const refused = errors.value.table;
  useEffect(() => hold(null), [answer, refused]);
  return {
    held,
    take(next: Held) {
      down.current = true;
      hold(next);
    },
    move(next: () => Held) {
      if (down.current) hold(next());
    },
    /** `send` returns whether there is something to send. */
    release(send: (held: Held) => boolean) {
      const was = down.current;
      down.current = false;
      if (was && !(held && send(held))) hold(null);
    },
    cancel() {
      down.current = false;
      hold(null);
    },
  };
}
