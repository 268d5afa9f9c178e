// The page: a chat with the main session, and details beside it.

import { call, events, hadToken, json, Refused, takeToken, tryToken } from "./api.js";
import { Approvals } from "./approvals.js";
import { Log } from "./log.js";
import { Panel } from "./panel.js";

const $ = (id) => document.getElementById(id);
const session = "/v1/sessions/main";
const log = new Log($("log"), { retry: say, suggest: say });
const panel = new Panel($("panel"), $("view"), $("panel-toggle"));
let approvals = null;
let lastEvent = ""; // id of the last event seen in this session
let sessionId = "";
let live = new AbortController();
let above = false; // the session has learned something that may not be shown here
let told = null; // the end of the newest turn, until the session's events have shown it
let ended = ""; // the last run whose end the events have shown
let asking = null; // reads the answer to the newest message

function state(text, kind = "") {
  $("state").textContent = text;
  $("state").className = "pill " + kind;
}

function showWork() {
  const busy = log.busy();
  $("stop").hidden = !busy;
  if (!live.connected) return;
  if (approvals?.waits(busy)) state("waiting for you", "warn");
  else state(busy ? "working" : "connected", "good");
}

// follow keeps the page up to date: the history first, then what happens, again after each interruption.
async function follow() {
  for (let failures = 0; ; failures++) {
    const reading = new AbortController();
    try {
      live = new AbortController();
      live.signal.addEventListener("abort", () => reading.abort(), { once: true });
      const resume = lastEvent ? { "Last-Event-ID": lastEvent } : {};
      const answer = await call(session + "/events", { headers: { Accept: "text/event-stream", ...resume }, signal: reading.signal });
      if (answer.headers.get("X-Session-Id") !== sessionId) {
        sessionId = answer.headers.get("X-Session-Id");
        lastEvent = "";
      }
      await reload();
      failures = 0;
      above = false;
      live.connected = true;
      showWork();
      await events(answer, onEvent);
    } catch (problem) {
      if (problem instanceof Refused && problem.status === 401) await askToken();
      else if (problem instanceof Refused && problem.status === 404) tellAbove();
      else if (problem.name !== "AbortError") console.warn(problem);
    }
    reading.abort(); // a stream that was not read to its end would keep one of the browser's few connections
    live.connected = false;
    if (!live.signal.aborted) {
      if (!above) state(failures > 2 ? "no connection to the gateway" : "reconnecting…", failures > 2 ? "bad" : "warn");
      await pause(Math.min(500 * 2 ** failures, 8000));
    }
  }
}

// pause ends early when the page has to read the session again.
function pause(milliseconds) {
  return new Promise((done) => {
    setTimeout(done, milliseconds);
    live.signal.addEventListener("abort", done, { once: true });
  });
}

// tellAbove explains above the conversation why the session is no longer shown, and what to do.
function tellAbove() {
  state("withheld", "warn");
  if (above) return;
  above = true;
  showTold();
  log.notice("This conversation has learned something confidential that may not be shown on this page. Its history and replies are withheld here, but you can still send messages.", "", [
    { label: "What it knows", value: "/status" }, { label: "Start over", value: "/new" },
  ]);
}

// ownEvent handles the events of your own message. They are shown even if nothing else of the session is.
function ownEvent(event) {
  if (isEnd(event) && event.run !== ended) told = event;
  if (!above) return;
  if (event.type === "message.notice") log.event(event);
  showTold();
}

function isEnd(event) {
  return /^run\.(done|failed|aborted|dropped)$/.test(event.type);
}

function showTold() {
  if (!told) return;
  log.think(told.run);
  log.event(told);
  told = null;
}

async function reload() {
  const [history, running, queued] = await Promise.all([
    json(session + "/history?limit=200"), json(session + "/runs?status=running&limit=5"), json(session + "/runs?status=queued&limit=50"),
  ]);
  log.show(history.messages, running.runs.reverse(), queued.runs.reverse());
  showWork();
}

function onEvent(event, id) {
  if (id) lastEvent = id;
  if (isEnd(event)) {
    ended = event.run;
    if (told?.run === ended) told = null;
  }
  log.event(event);
  showWork();
  panel.stale();
  if (event.type !== "text.delta") approvals.stale();
}

// say posts a message, or a press of a button. Repeating a failed post keeps the id, so it is the same message.
async function say(text, id = crypto.randomUUID?.() ?? String(Date.now()) + Math.random(), press = undefined) {
  const entry = log.say(text, id);
  entry.press = press;
  try {
    const reading = new AbortController();
    const answer = await call(session + "/messages", { method: "POST", headers: { Accept: "text/event-stream" }, body: press ? { press, id } : { message: text, id }, signal: reading.signal });
    const run = answer.headers.get("X-Run-Id");
    if (run) {
      log.accepted(entry, run);
      asking?.abort(); // a browser opens few connections at once
      asking = reading;
      events(answer, ownEvent).catch(() => {}); // the session's own events show the same
    } else {
      await events(answer, (event) => log.event(event));
      answer.body.cancel().catch(() => {});
      log.answered(entry);
      if (!press && /^\s*\/(new|reset)\b/i.test(text)) live.abort(); // a new session: read it from its beginning
    }
  } catch (problem) {
    if (problem instanceof Refused && problem.status === 401) await askToken();
    log.failed(entry, problem instanceof Refused ? problem.message : "the gateway did not answer");
  }
  showWork();
}

// askToken asks for the token until the gateway accepts it. Calls made meanwhile wait for the same answer.
let asked = null;
function askToken() {
  asked ??= new Promise((done) => {
    state("signed out", "warn");
    $("ask-why").textContent = hadToken() ? "The gateway does not know this page's token. It may have been replaced or revoked." : "";
    $("ask").addEventListener("close", () => { asked = null; done(); }, { once: true });
    if (!$("ask").open) $("ask").showModal();
  });
  return asked;
}

$("ask").querySelector("form").addEventListener("submit", async (e) => {
  e.preventDefault();
  const button = e.submitter ?? $("ask").querySelector("button");
  button.disabled = true;
  $("ask-why").textContent = "";
  const wrong = await tryToken($("token").value);
  button.disabled = false;
  $("ask-why").textContent = wrong;
  if (wrong) return $("token").select();
  $("token").value = "";
  $("ask").close();
});

$("composer").addEventListener("submit", (e) => {
  e.preventDefault();
  const text = $("text").value.trim();
  if (!text) return;
  $("text").value = "";
  grow();
  say(text);
});

$("text").addEventListener("keydown", (e) => {
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    $("composer").requestSubmit();
  }
});

function grow() {
  const t = $("text");
  t.style.height = "auto";
  if (t.value) t.style.height = t.scrollHeight + 2 + "px";
}
$("text").addEventListener("input", grow);

$("stop").addEventListener("click", async () => {
  const run = log.busy();
  if (!run) return;
  $("stop").disabled = true;
  try {
    await call(session + "/runs/" + run + "/cancel", { method: "POST" });
  } catch (problem) {
    state(problem.message, "bad");
  }
  $("stop").disabled = false;
});

takeToken();
$("text").focus();
follow();
approvals = new Approvals($("approvals"), $("heard"), { changed: showWork, done: () => $("text").focus() });
