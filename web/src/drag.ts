/** What a pointer or the arrow keys move: it stays where it was put until the answer of the server is shown. */

import { useEffect, useRef, useState } from "preact/hooks";
import { errors, holding } from "./state";

/** Milliseconds after the last of several keys at which their change is sent: one change, and one to undo. */
const PAUSE = 350;

/**
 * `answer` changes when the server has answered; `label` says what is held, for the bar of narrow screens; `send`
 * returns whether there was something to send.
 */
export function useDrag<Held>(answer: unknown, label: (held: Held) => string, send: (held: Held) => boolean) {
  const [held, keep] = useState<Held | null>(null);
  const down = useRef(false);
  const keys = useRef<{ held: Held; timer: number } | null>(null);
  const latest = useRef(send);
  latest.current = send;
  const hold = (next: Held | null) => {
    keep(next);
    holding.value = next ? label(next) : "";
  };
  const refused = errors.value.table;
  useEffect(() => {
    if (!keys.current) hold(null);
  }, [answer, refused]);
  /** Send what keys have moved, if it waits. */
  const flush = () => {
    if (!keys.current) return;
    clearTimeout(keys.current.timer);
    const { held } = keys.current;
    keys.current = null;
    if (!latest.current(held)) hold(null);
  };
  return {
    held,
    take(next: Held) {
      flush();
      down.current = true;
      hold(next);
    },
    move(next: () => Held) {
      if (down.current) hold(next());
    },
    release() {
      const was = down.current;
      down.current = false;
      if (was && !(held && send(held))) hold(null);
    },
    cancel() {
      down.current = false;
      hold(null);
    },
    press(next: Held) {
      if (keys.current) clearTimeout(keys.current.timer);
      keys.current = { held: next, timer: window.setTimeout(flush, PAUSE) };
      hold(next);
    },
    flush,
  };
}
