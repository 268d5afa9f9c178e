// What happens in the gateway, live. One tab of a browser reads the stream and tells the others, because a browser opens
// few connections to one gateway.

import { call, events, Refused } from "./api.js";

const readers = new Set(); // of everything: (event, name)
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("sluice.stream") : null;
const watchers = new Set(); // of whether there is a connection

export let connected = null; // null: not known yet

// listen gives what happens to a function, until the function that it returns is called.
export function listen(on) {
  readers.add(on);
  return () => readers.delete(on);
}

// watch tells a function whether there is a connection.
export function watch(on) {
  watchers.add(on);
  return () => watchers.delete(on);
}

// onChange calls a function when rows of these kinds may have changed, and after each interruption.
export function onChange(kinds, on) {
  return listen((e, name) => {
    if (name === "hello" && !e.resumed || name === "changed" && e.kinds.some((k) => kinds.includes(k))) on();
  });
}

function tell(event, name) {
  if (name === "state") {
    if (connected !== event.connected) {
      connected = event.connected;
      for (const w of watchers) w(connected);
    }
    return;
  }
  for (const r of readers) r(event, name);
}

function share(event, name) {
  tell(event, name);
  channel?.postMessage({ event, name });
}

// start begins to read, or to hear the tab that reads.
export function start() {
  channel?.addEventListener("message", ({ data }) => (data.ask ? leading && channel.postMessage({ event: { connected }, name: "state" }) : tell(data.event, data.name)));
  if (!navigator.locks || !channel) return void read(new AbortController().signal);
  navigator.locks.request("sluice.stream", () => read(new AbortController().signal));
  channel.postMessage({ ask: true });
}

let leading = false;
let last = ""; // id of the last event

// read follows the stream until the tab is closed, again after each interruption.
async function read(signal) {
  leading = true;
  for (let failures = 0; !signal.aborted; failures++) {
    const reading = new AbortController();
    let silence = 0;
    const beat = () => {
      clearTimeout(silence);
      silence = setTimeout(() => reading.abort(), 60000);
    };
    try {
      const answer = await call("/v1/stream", { headers: { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) }, signal: reading.signal });
      failures = 0;
      share({ connected: true }, "state");
      beat();
      await events(answer, (event, id, name) => {
        if (id) last = id;
        beat();
        share(event, name);
      });
    } catch (problem) {
      if (problem instanceof Refused && problem.status === 404) return poll();
    }
    clearTimeout(silence);
    reading.abort(); // a stream that was not read to its end would keep a connection
    share({ connected: false, failures }, "state");
    await new Promise((done) => setTimeout(done, Math.min(500 * 2 ** failures, 8000)));
  }
}

// poll stands in for the stream of a gateway that has none.
function poll() {
  share({ connected: true }, "state");
  setInterval(() => document.hidden || share({ kinds: ["deliveries", "approvals", "runs", "sessions", "pairings", "alerts", "jobs", "audit", "memory"] }, "changed"), 5000);
}

// followSession reads the events of one session, again after each interruption. on has opened (read the session now), event,
// away (with the number of failures) and hidden (the session may not be shown).
export function followSession(name, on) {
  let closed = false, live = new AbortController(), id = "", seen = "";
  const pause = (ms) => new Promise((done) => {
    setTimeout(done, ms);
    live.signal.addEventListener("abort", done, { once: true });
  });
  const run = async () => {
    for (let failures = 0; !closed; failures++) {
      const reading = new AbortController();
      live = new AbortController();
      live.signal.addEventListener("abort", () => reading.abort(), { once: true });
      try {
        const answer = await call(`/v1/sessions/${encodeURIComponent(name)}/events`, { headers: { Accept: "text/event-stream", ...(seen ? { "Last-Event-ID": seen } : {}) }, signal: reading.signal });
        if (answer.headers.get("X-Session-Id") !== id) {
          id = answer.headers.get("X-Session-Id");
          seen = "";
        }
        await on.opened(id);
        failures = 0;
        await events(answer, (event, n) => {
          if (n) seen = n;
          on.event(event);
        });
      } catch (problem) {
        if (problem instanceof Refused && problem.status === 404) on.hidden();
        else if (problem.name !== "AbortError") console.warn(problem);
      }
      reading.abort(); // a stream that was not read to its end would keep one of the browser's few connections
      if (closed || live.signal.aborted) continue;
      on.away(failures);
      await pause(Math.min(500 * 2 ** failures, 8000));
    }
  };
  run();
  return { again: () => live.abort(), close: () => { closed = true; live.abort(); } };
}
