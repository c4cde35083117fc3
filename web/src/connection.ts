/** The studio's connection: JSON both ways, frames as bytes; it comes back by itself when it drops. */

import { batch } from "@preact/signals";
import { readFrame, type Frame } from "./frame";
import { connected, errors, following, frame, moment, notice, run, say, slice, status, type Source } from "./state";
import type { Epochs } from "./types";

/** Frames that are kept; older ones are asked for again. */
const KEPT = 60;

type Waiting = { resolve(frame: Frame): void; reject(problem: Error): void };

/** Connect to the server; `fresh` is called when the session is a new one. */
export function connect(fresh: () => void): Source {
  const frames = new Map<string, Frame>();
  const waiting = new Map<string, Waiting[]>();
  const unsent: string[] = [];
  let socket: WebSocket;
  let delay = 500;

  const open = () => {
    const address = new URL("ws", location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.hash = "";
    address.search = new URLSearchParams({ token: keep("token"), session: keep("session") }).toString();
    socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      connected.value = true;
      delay = 500;
      for (const text of unsent.splice(0)) socket.send(text);
      for (const key of waiting.keys()) ask(key);
    };
    socket.onmessage = ({ data }) => (typeof data === "string" ? told(JSON.parse(data)) : shown(data));
    socket.onclose = () => {
      connected.value = false;
      setTimeout(open, delay);
      delay = Math.min(8000, 2 * delay);
    };
  };

  const send = (message: Record<string, unknown>) => {
    const text = JSON.stringify(message);
    if (socket.readyState === WebSocket.OPEN) socket.send(text);
    else unsent.push(text);
  };
  const ask = (key: string) => {
    const [id, slice] = key.split("/").map(Number);
    send({ do: "frame", moment: id, slice });
  };

  const shown = (data: ArrayBuffer) => {
    const got = readFrame(data);
    const key = `${got.moment}/${got.slice}`;
    frames.set(key, got);
    if (frames.size > KEPT) frames.delete(frames.keys().next().value!);
    for (const { resolve } of waiting.get(key) ?? []) resolve(got);
    waiting.delete(key);
  };

  const told = (message: any) => {
    if (message.type === "run") {
      frames.clear();
      waiting.clear();
      batch(() => {
        run.value = message.run;
        frame.value = null;
        errors.value = {};
        following.value = true;
        slice.value = 0;
        moment.value = Math.max(0, message.run.moments.length - 1);
      });
    } else if (message.type === "session") {
      keep("session", message.session);
      if (message.fresh) fresh();
    } else if (message.type === "status") {
      batch(() => {
        status.value = message.state;
        notice.value = message.message ?? "";
      });
    } else if (message.type === "slices") {
      if (!run.value) return;
      batch(() => {
        run.value = { ...run.value!, slices: message.slices };
        slice.value = message.slice;
      });
    } else if (message.type === "error") say(message.where, message.message);
    else if (message.type === "exported") download(message.url, message.name);
    else if (message.type === "changes") changed(message);
  };

  open();
  return {
    live: true,
    send,
    frame(id, slice) {
      const key = `${id}/${slice}`;
      const found = frames.get(key);
      if (found) return Promise.resolve(found);
      return new Promise((resolve, reject) => {
        const others = waiting.get(key);
        waiting.set(key, [...(others ?? []), { resolve, reject }]);
        if (!others) ask(key);
      });
    },
  };
}

/** New epochs, growth steps and moments; or, after an undo, how many of them remain. */
function changed(message: any): void {
  const old = run.value;
  if (!old) return;
  const cut = <T>(items: T[], count: number | undefined) => (count === undefined ? items : items.slice(0, count));
  const epochs = {} as Epochs;
  for (const key of Object.keys(old.epochs) as (keyof Epochs)[])
    epochs[key] = [...cut(old.epochs[key], message.keep?.epochs), ...(message.epochs?.[key] ?? [])];
  const records = cut(old.records, message.keep?.records).map((record) => message.later?.[record.number] ?? record);
  batch(() => {
    run.value = {
      ...old,
      epochs,
      records: [...records, ...(message.records ?? [])],
      moments: [...cut(old.moments, message.keep?.moments), ...(message.moments ?? [])],
      ended: message.ended ?? old.ended,
    };
    const last = run.value.moments.length - 1;
    if (following.value || moment.value > last) moment.value = Math.max(0, last);
  });
}

/** A value that outlives the connection and a reload, but not the tab; from the address at first. */
function keep(name: string, value?: string): string {
  const address = new URL(location.href);
  const given = value ?? address.searchParams.get(name);
  if (given !== null) sessionStorage.setItem(`creases-${name}`, given);
  if (address.searchParams.has(name)) {
    address.searchParams.delete(name);
    history.replaceState(null, "", address);
  }
  return sessionStorage.getItem(`creases-${name}`) ?? "";
}

function download(url: string, name: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}
