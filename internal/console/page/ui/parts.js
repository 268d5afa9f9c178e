// Small parts that every view uses: states, levels, times, values, and what is said when there is nothing or it failed.

import { acts } from "../api.js";
import { age, exact, known, span, t, visible } from "../text.js";
import { cls, html, useEffect, useReducer, useState } from "./html.js";
import { Icon } from "./icon.js";
import { toast } from "./toast.js";

// tones are the colours of states: what is in order, on its way, waits for a person, broke, was decided by the policy, is over.
const tones = {
  good: ["sent", "done", "ok", "ready", "connected", "allowed", "used", "approved", "active", "resolved", "hears", "allow", "yes", "paired", "announced", "current"],
  busy: ["preview", "queued", "sending", "running", "busy", "waiting", "delivering", "asking", "replying", "announcing", "standby", "connecting"],
  warn: ["held", "pending", "unknown", "retrying", "hold", "warning", "acknowledged", "faulty", "waits", "ask", "missed", "summed"],
  bad: ["failed", "expired", "timeout", "deaf", "down", "error", "critical", "firing", "undelivered", "no", "revoked", "disconnected"],
  rule: ["blocked", "denied", "redacted", "block", "deny", "redact", "withheld", "filtered", "stopped"],
};
const toneOf = Object.fromEntries(Object.entries(tones).flatMap(([tone, words]) => words.map((w) => [w, tone])));
const marks = { good: "✓", busy: "↻", warn: "!", bad: "✕", rule: "⊘", rest: "–" };

export const toneFor = (status) => toneOf[status] ?? "rest";

// Chip shows a state by word, colour and mark.
export function Chip({ status, tone = toneFor(status), text = known("status", status) }) {
  return html`<span class=${"chip " + tone} data-status=${status}><span class="mark" aria-hidden="true">${marks[tone] ?? marks.rest}</span>${text}</span>`;
}

const levels = ["PUBLIC", "INTERNAL", "CONFIDENTIAL", "RESTRICTED"];

// levelOf is the level of a label such as INTERNAL/untrusted.
export const levelOf = (label) => String(label ?? "").split("/")[0];
export const untrusted = (label) => String(label ?? "").endsWith("/untrusted");

// Level shows a level as one to four bars, with its name.
export function Level({ label, short = false }) {
  const level = levelOf(label), n = levels.indexOf(level) + 1;
  if (!n) return null;
  const name = known("level", level) + (untrusted(label) ? ", " + t("level.untrusted") : "");
  return html`<span class=${cls("level", "l" + n, untrusted(label) && "untrusted")} title=${name}>
    <span class="bars" aria-hidden="true">${levels.map((_, i) => html`<i class=${i < n ? "on" : ""}></i>`)}</span>
    <span class=${short ? "unseen" : ""}>${name}</span></span>`;
}

export { levels };

// tick draws a component again as time goes by.
export function useTick(every) {
  const [, draw] = useReducer((n) => n + 1, 0);
  useEffect(() => {
    const timer = setInterval(draw, every);
    return () => clearInterval(timer);
  }, [every]);
}

// Age shows how long ago something was. The exact time is its title.
export function Age({ at }) {
  const then = Date.parse(at);
  useTick(Date.now() - then < 120000 ? 5000 : 60000);
  if (!at || Number.isNaN(then)) return null;
  const coming = then - Date.now() > 1000;
  return html`<time dateTime=${at} title=${exact(then)}>${coming ? t("time.in", { v: span(then - Date.now()) }) : age(Date.now() - then)}</time>`;
}

// When shows a time exactly, with its zone, and its age.
export const When = ({ at }) => (at ? html`<time dateTime=${at}>${exact(at)}</time> <span class="soft">(<${Age} at=${at} />)</span>` : null);

// Left counts down to a time.
export function Left({ until }) {
  useTick(1000);
  const left = Date.parse(until) - Date.now();
  return html`<span class="left">${left > 0 ? span(left) : t("time.over")}</span>`;
}

// Facts lists names with values; those without a value are left out.
export const Facts = ({ of }) => html`<dl class="facts">${of.filter(([, v]) => v !== undefined && v !== null && v !== "" && v !== false).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

const cutAt = 4000; // characters of a value that are shown at first

const blockSize = 65536; // characters

// blocks splits a long text, at line ends if it has some, so that a browser lays out only what is in sight.
function blocks(text) {
  const all = [];
  for (let from = 0; from < text.length; ) {
    const line = text.lastIndexOf("\n", from + blockSize);
    const to = line > from ? line + 1 : from + blockSize;
    all.push(text.slice(from, to));
    from = to;
  }
  return all;
}

// Text shows a text as it is, cut at first if it is long.
export function Text({ text, code = false, label = "" }) {
  const [whole, show] = useState(false);
  const all = String(text ?? "");
  const shown = whole || all.length <= cutAt ? all : all.slice(0, cutAt);
  const parts = shown.length > 2 * blockSize ? blocks(shown).map((b) => html`<span class="block">${visible(b)}</span>`) : visible(shown);
  return html`<div class="text"><pre class=${code ? "code" : "plain"} tabindex="0" role="region" aria-label=${label || t("part.text")}>${parts}${shown.length < all.length && "…"}</pre>
    ${shown.length < all.length && html`<button type="button" class="small" onClick=${() => show(true)}>${t("part.all", { n: all.length })}</button>`}</div>`;
}

// Value shows a value of JSON.
export const Value = ({ of, label }) => html`<${Text} code text=${typeof of === "string" ? of : JSON.stringify(of, null, 2)} label=${label ?? t("part.value")} />`;

// Copy copies a text.
export function Copy({ text, label = t("part.copy") }) {
  const [done, set] = useState(false);
  return html`<button type="button" class="small quiet copy" onClick=${async () => {
    await copy(text);
    set(true);
    setTimeout(() => set(false), 1500);
  }}><${Icon} name=${done ? "done" : "copy"} size="15" /> ${done ? t("part.copied") : label}</button>`;
}

// copy puts a text into the clipboard, which only some addresses allow.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
}

// Problem says what went wrong, and tries again.
export const Problem = ({ error, retry }) => html`<div class="problem" role="alert"><p>${error?.status ? error.message : t("part.silent")}</p>${retry && html`<button type="button" class="small" onClick=${retry}>${t("part.retry")}</button>`}</div>`;

// Loading stands where something will be, without moving what is around it.
export const Loading = () => html`<p class="loading" role="status">${t("part.loading")}</p>`;

// Act is a button that does something in the gateway: it rests meanwhile, and says what happened to it. Who may only read has
// no such buttons; allowed says otherwise.
export function Act({ run, done, tone = "", icon, children, small = true, title, part, disabled, allowed = acts() }) {
  const [busy, set] = useState(false);
  if (!allowed) return null;
  const press = async () => {
    set(true);
    try {
      const said = await run();
      if (said !== false && done) toast(done);
    } catch (error) {
      toast(error.status ? error.message : t("part.silent"), "bad");
    }
    set(false);
  };
  return html`<button type="button" class=${cls(small && "small", tone)} disabled=${busy || disabled} onClick=${press} title=${title} data-part=${part}>${icon && html`<${Icon} name=${icon} size="16" />`}${children}</button>`;
}

// useLoad reads something, again when what it depends on changes, and when again is called.
export function useLoad(read, depends) {
  const [state, set] = useState({ loading: true });
  const [n, again] = useReducer((v) => v + 1, 0);
  useEffect(() => {
    let current = true;
    Promise.resolve(read()).then((value) => current && set({ value }), (error) => current && set((s) => ({ value: s.value, error })));
    return () => { current = false; };
  }, [...depends, n]);
  return { ...state, again };
}

// Loaded shows what useLoad has read.
export function Loaded({ of, children }) {
  if (of.value !== undefined) return children(of.value);
  return of.error ? html`<${Problem} error=${of.error} retry=${of.again} />` : html`<${Loading} />`;
}

// routeName is a place for people.
export const routeName = (r) => (r ? visible(r.title || r.conversation || r.channel) : "");

export const Place = ({ of }) => (of?.channel ? html`<span class="place"><span class="channel">${of.channel}</span> ${routeName(of)}${of.thread && " › " + visible(of.thread)}</span>` : null);
