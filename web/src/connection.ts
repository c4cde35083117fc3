/** The connection to the studio: JSON in both directions, frames as bytes; it reconnects by itself. */

import { batch } from "@preact/signals";
import { fromAddress } from "./address";
import { adopt } from "./draft";
import { readFrame, type Frame } from "./frame";
import { busy, choices, connected, errors, EXPORTING, following, frame, moment, notice, opening, run, say, slice, STARTING, status, working, type Source } from "./state";
import type { Epochs } from "./types";

/** Number of frames kept; older ones are requested again. */
const MAX_FRAMES = 60;

/** Codes after which reconnecting is useless (see the server's sessions), and what to do. */
const FINAL: Record<number, string> = {
  4403: "This link belongs to an earlier session of the studio; open the URL printed in the terminal.",
  4409: "This session is open in another tab or window. Reload this page to continue here.",
};

type Waiting = { resolve(frame: Frame): void; reject(problem: Error): void };

/** Connect to the server; `fresh` is called for a new session. */
export function connect(fresh: () => void): Source {
  const frames = new Map<string, Frame>();
  const waiting = new Map<string, Waiting[]>();
  const unsent: string[] = [];
  let socket: WebSocket;
  let delay = 500;
  let again = false; // whether the session existed before this connection

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
    socket.onmessage = ({ data }) => (typeof data === "string" ? receiveMessage(JSON.parse(data)) : receiveFrame(data));
    socket.onclose = ({ code }) => {
      batch(() => {
        connected.value = false;
        if (busy.value.startsWith(EXPORTING)) say("export", "The connection was lost during the export. The file will be downloaded when the page reconnects.");
        busy.value = "";
        if (FINAL[code]) say("page", FINAL[code]);
      });
      if (FINAL[code]) return;
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
    if (socket.readyState === WebSocket.OPEN) send({ do: "frame", moment: id, slice }); // otherwise when it opens
  };

  const receiveFrame = (data: ArrayBuffer) => {
    const got = readFrame(data);
    const key = `${got.moment}/${got.slice}`;
    frames.set(key, got);
    if (frames.size > MAX_FRAMES) frames.delete(frames.keys().next().value!);
    for (const { resolve } of waiting.get(key) ?? []) resolve(got);
    waiting.delete(key);
    const unknown = run.value?.moments.find((m) => m.id === got.moment && m.regions === null);
    if (unknown && !got.slice) run.value = { ...run.value!, moments: run.value!.moments.map((m) => (m === unknown ? { ...m, regions: got.regions } : m)) };
  };

  const receiveMessage = (message: any) => {
    working.value = message.type === "working" ? message.seconds : 0;
    if (message.type === "run") {
      frames.clear();
      waiting.clear();
      const stay = again && !following.value && moment.value < message.run.moments.length;
      const before = run.value;
      batch(() => {
        opening.value = "";
        run.value = message.run;
        if (message.run.moments.length || busy.value !== STARTING) busy.value = ""; // a problem may arrive after Start was pressed
        if (again && before) return void (moment.value = stay ? moment.value : Math.max(0, message.run.moments.length - 1));
        frame.value = null;
        errors.value = {};
        following.value = true;
        slice.value = 0;
        moment.value = Math.max(0, message.run.moments.length - 1);
        if (!again) return;
        adopt(message.problem ?? {}); // the page was reloaded, or opened again
        fromAddress();
      });
      again = false;
    } else if (message.type === "session") {
      again = !message.fresh;
      opening.value = message.opening;
      keep("session", message.session);
      choices.value = message.choices;
      if (!message.fresh) return;
      say("export", "");
      if (run.value?.moments.length) say("run", "The run was lost: the studio was restarted, or the page was disconnected for more than a minute. Press Start for a new run.");
      fresh();
    } else if (message.type === "status") {
      batch(() => {
        status.value = message.state;
        notice.value = message.message ?? "";
      });
    } else if (message.type === "slices") {
      if (!run.value) return;
      batch(() => {
        run.value = { ...run.value!, slices: message.slices, fixed: message.fixed, multiples: message.multiples };
        slice.value = message.slice;
        busy.value = "";
      });
    } else if (message.type === "table") {
      if (!run.value) return;
      batch(() => {
        run.value = { ...run.value!, table: message.table };
        busy.value = "";
        say("table", "");
      });
    } else if (message.type === "error") receiveError(message);
    else if (message.type === "exported") {
      busy.value = "";
      void download(message.url, message.name);
    }
    else if (message.type === "changes") applyChanges(message);
  };

  const receiveError = ({ where, message, moment = -1, slice = 0 }: { where: string; message: string; moment?: number; slice?: number }) => {
    if (where !== "plane") {
      busy.value = opening.value = "";
      return say(where, message);
    }
    const key = `${moment}/${slice}`; // nobody waits for frames of an earlier run
    for (const { reject } of waiting.get(key) ?? []) reject(new Error(message));
    waiting.delete(key);
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

/** Apply what is new: of each list how many entries stay, and those that follow. */
function applyChanges(message: any): void {
  const old = run.value;
  if (!old) return;
  const { epochs: [same, columns] = [Infinity, {}], records, moments: news, values } = message;
  const follow = <T>(items: T[], [stay, more]: [number, T[]] = [Infinity, []]) => [...items.slice(0, stay), ...more];
  const epochs = {} as Epochs;
  for (const key of Object.keys(old.epochs) as (keyof Epochs)[]) epochs[key] = follow(old.epochs[key], [same, columns[key] ?? []]);
  const moments = follow(old.moments, news);
  const current = old.moments[moment.value]?.id;
  batch(() => {
    run.value = { ...old, epochs, records: follow(old.records, records), moments, ...values };
    const last = Math.max(0, moments.length - 1);
    const here = moments.findIndex((m) => m.id === current);
    moment.value = following.value ? last : here >= 0 ? here : Math.min(moment.value, last);
  });
}

/**
 * A value that survives reconnecting and reloading, initially from the address. Each tab has its own session; tabs of the
 * same host and port share the token, so that the page can be opened in a new tab.
 */
function keep(name: "token" | "session", value?: string): string {
  const address = new URL(location.href);
  const latest = value ?? address.searchParams.get(name);
  if (latest !== null) {
    sessionStorage.setItem(`creases-${name}`, latest);
    if (name === "token") localStorage.setItem("creases-token", latest);
  }
  if (address.searchParams.has(name)) {
    address.searchParams.delete(name);
    history.replaceState(null, "", address);
  }
  return sessionStorage.getItem(`creases-${name}`) ?? (name === "token" ? localStorage.getItem("creases-token") : null) ?? "";
}

/** Download a file; if that fails, say so on the page. */
async function download(url: string, name: string): Promise<void> {
  const file = await fetchFile(url);
  say("export", typeof file === "string" ? file : "");
  if (typeof file === "string") return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still be reading it
}

/** The content of a file of the server, or why it could not be fetched. */
async function fetchFile(url: string): Promise<Blob | string> {
  try {
    const answer = await fetch(url);
    return answer.ok ? await answer.blob() : (await answer.text()).trim();
  } catch {
    return "The file could not be downloaded: the connection to the studio was lost. Export it again.";
  }
}
