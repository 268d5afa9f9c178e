// What happens in the gateway, live. One tab of a browser reads the stream and tells the others, because a browser opens
// few connections to one gateway.

import { call, events, json, Refused } from "./api.js";

const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("sluice.stream") : null;
const tab = Math.random().toString(36).slice(2); // this one, among those that share the stream
const readers = new Set(); // of everything: (event, name)
const watchers = new Set(); // of whether there is a connection
const wanted = new Map(); // tab → the sessions that it shows, whose texts come while they are written

export let connected = null; // null: not known yet
let leading = false;
let last = ""; // id of the last event
let reading = new AbortController();

// listen gives what happens to a function, until the function that it returns is called.
export function listen(on) {
  readers.add(on);
  return () => readers.delete(on);
}

// watch tells a function when the connection opens or closes.
export function watch(on) {
  watchers.add(on);
  return () => watchers.delete(on);
}

// onChange calls a function when rows of these kinds may have changed, and after each interruption.
export function onChange(kinds, on) {
  return listen((e, name) => {
    if ((name === "hello" && !e.resumed) || (name === "changed" && e.kinds.some((k) => kinds.includes(k)))) on();
  });
}

function tell(event, name) {
  if (name === "state") {
    connected = event.connected;
    for (const w of watchers) w(connected, event.failures ?? 0);
    return;
  }
  for (const r of readers) r(event, name);
}

function share(event, name) {
  tell(event, name);
  channel?.postMessage({ event, name });
}

// heard takes a message of another tab: an event, a question for the state, or the sessions that the tab shows.
function heard({ data }) {
  if (data.name) return tell(data.event, data.name);
  if (data.ask && leading) channel.postMessage({ event: { connected }, name: "state" });
  if (data.ask) announce();
  if (data.shows) want(data.tab, data.shows);
}

const mine = [];
const announce = () => channel?.postMessage({ tab, shows: mine });

// want notes which sessions a tab shows; the reader asks for their texts with its next request, which it makes at once.
function want(who, shows) {
  const before = asked();
  if (shows.length) wanted.set(who, shows);
  else wanted.delete(who);
  if (leading && asked() !== before) reading.abort("again");
}

const asked = () => [...new Set([...wanted.values()].flat())].slice(-20).sort().join(",");

// show says that this tab shows a session, until the function that it returns is called.
function show(id) {
  mine.push(id);
  want(tab, [...mine]);
  announce();
  return () => {
    mine.splice(mine.indexOf(id), 1);
    want(tab, [...mine]);
    announce();
  };
}

// startLive begins to read, or to hear the tab that reads. Where tabs can't agree on one (plain HTTP from another machine), each tab
// that can be seen reads.
export function startLive() {
  channel?.addEventListener("message", heard);
  addEventListener("pagehide", () => channel?.postMessage({ tab, shows: [] }));
  if (navigator.locks && channel) {
    navigator.locks.request("sluice.stream", read);
    channel.postMessage({ ask: true });
  } else read();
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// read follows the stream until the tab is closed, again after each interruption.
async function read() {
  leading = true;
  const alone = !navigator.locks;
  for (let failures = 0; ; failures++) {
    while (alone && document.hidden)
      await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
    reading = new AbortController();
    const current = reading;
    let silence = 0;
    const beat = () => {
      clearTimeout(silence);
      silence = setTimeout(() => current.abort(), 60000);
    };
    const hide = () => alone && document.hidden && current.abort();
    document.addEventListener("visibilitychange", hide);
    try {
      beat();
      const shows = asked();
      const answer = await call("/v1/stream" + (shows && "?sessions=" + encodeURIComponent(shows)), {
        headers: { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) },
        signal: current.signal,
      });
      failures = 0;
      share({ connected: true }, "state");
      await events(
        answer,
        (event, id, name) => {
          if (id) last = id;
          failures = 0;
          if (name === "bye" && event.reason === "renew") current.abort("again");
          share(event, name);
        },
        beat,
      );
    } catch (problem) {
      if (problem instanceof Refused && problem.status === 400) last = ""; // the gateway does not know the last event any more
    }
    clearTimeout(silence);
    document.removeEventListener("visibilitychange", hide);
    const again = current.signal.reason === "again";
    current.abort(); // a stream that was not read to its end would keep a connection
    if (again) {
      failures = -1;
      continue;
    }
    share({ connected: false, failures }, "state");
    await pause(Math.min(500 * 2 ** failures, 8000));
  }
}

// followSession follows one session by its id, its key or main. on has opened (read the session now), event, away (with the number
// of failures) and hidden (the session may not be shown).
export function followSession(name, on) {
  let id = "",
    unshow = () => {},
    closed = false,
    timer = 0,
    running = null,
    missed = false; // asked for while it was running
  const soon = (ms) => {
    clearTimeout(timer);
    timer = setTimeout(resolve, ms);
  };

  // resolve finds the session that has the name now, and reads it if it is another one, or if something was missed.
  let stale = true;
  const resolve = () => {
    missed = running !== null;
    return (running ??= (async () => {
      try {
        const record = await json("/v1/sessions/" + encodeURIComponent(name));
        if (closed) return;
        if (record.id !== id) {
          unshow();
          id = record.id;
          unshow = show(id);
          stale = true;
        }
        if (stale && connected !== false) {
          stale = false;
          await on.opened(record);
        }
      } catch (problem) {
        if (closed) return;
        stale = true;
        if (problem instanceof Refused && problem.status === 404) return on.hidden();
        on.away(0);
        soon(1000);
      } finally {
        running = null;
        if (missed && !closed) soon(0);
      }
    })());
  };

  const stops = [
    listen((e, kind) => {
      if (kind === "session" && e.session === id) on.event(e);
      else if (kind === "hello") {
        stale ||= !e.resumed;
        soon(0);
      } else if (kind === "changed" && e.kinds.includes("runs")) soon(300); // it may have been replaced, or hidden
    }),
    watch((is, failures) => {
      if (is) return;
      stale = true;
      on.away(failures);
    }),
  ];
  resolve();
  return {
    again: () => {
      stale = true;
      return resolve();
    },
    look: () => soon(0), // whether it may still be shown
    close: () => {
      closed = true;
      clearTimeout(timer);
      unshow();
      for (const stop of stops) stop();
    },
  };
}
