// Small parts that every view uses: icons, states, levels, times, values, buttons, dialogs, and what is said when there is
// nothing or it failed. They are one module, because each module that a view needs costs a request.

import { acts } from "../api.js";
import { address } from "../router.js";
import { age, exact, known, number, span, t, visible } from "../text.js";
import { cls, html, render, useEffect, useLayoutEffect, useReducer, useRef, useState } from "./html.js";

// paths are icons as lines on a field of 20 by 20.
const paths = {
  overview: "M3 11h5V3H3zM12 17h5v-7h-5zM3 17h5v-3H3zM12 7h5V3h-5z",
  inbox: "M3 11l2.5-7h9L17 11v5H3zM3 11h4l1 2h4l1-2h4",
  conversations: "M3 4h14v9H9l-4 3.5V13H3z",
  runs: "M6 4l9 6-9 6z",
  deliveries: "M17 3L9 11M17 3l-5 14-3-6-6-3z",
  policy: "M10 3l6 2v5c0 3.5-2.5 6-6 7-3.5-1-6-3.5-6-7V5zM7.5 10l2 2 3.5-4",
  people:
    "M7.5 9a2.7 2.7 0 100-5.4 2.7 2.7 0 000 5.4zM2.5 16c0-3 2.2-4.7 5-4.7s5 1.7 5 4.7M13 4a2.6 2.6 0 010 5M14.5 11.5c2 .5 3 2.2 3 4.5",
  audit: "M5 3h7l3 3v11H5zM12 3v3h3M7.5 9.5h5M7.5 12.5h5",
  agents: "M5 7h10v8H5zM10 7V4M8 10.5v1M12 10.5v1M3 10v2M17 10v2",
  skills: "M4 5h5.5v11H4zM9.5 5H16v11H9.5M12 8h2M12 11h2",
  automation: "M10 17a7 7 0 100-14 7 7 0 000 14zM10 6v4l2.7 1.7",
  alerts: "M5 14V9.5C5 6.5 7 4.5 10 4.5s5 2 5 5V14l1 1H4zM8.5 17h3",
  memory: "M10 5.5C8.5 4 6 4 4 4.5v11c2-.5 4.5-.5 6 1 1.5-1.5 4-1.5 6-1v-11C14 4 11.5 4 10 5.5zM10 5.5v11",
  config: "M4 6h6M14 6h2M4 14h2M10 14h6M12 4v4M8 12v4M4 10h12",
  logs: "M4 5h12M4 8.5h8M4 12h12M4 15.5h6",
  costs: "M4 16V9M8 16V5M12 16v-6M16 16V7",
  access: "M7 13a3.5 3.5 0 110-7 3.5 3.5 0 010 7zM10.5 9.5H17V12M14 9.5V12",
  why: "M7.5 7.5a2.5 2.5 0 113.6 2.3c-.8.4-1.1.9-1.1 1.7v.5M10 15v.3",
  search: "M9 14.5a5.5 5.5 0 100-11 5.5 5.5 0 000 11zM13 13l4 4",
  more: "M5 10h.01M10 10h.01M15 10h.01",
  close: "M5 5l10 10M15 5L5 15",
  back: "M12 4l-6 6 6 6",
  next: "M8 4l6 6-6 6",
  send: "M10 16V5M5 9.5L10 4.5l5 5",
  stop: "M6 6h8v8H6z",
  file: "M13.5 8L8 13.5a2 2 0 01-3-3L11 4.5a3.2 3.2 0 014.6 4.6L9.5 15.3",
  mic: "M10 12a2.3 2.3 0 002.3-2.3V5.8a2.3 2.3 0 00-4.6 0v3.9A2.3 2.3 0 0010 12zM5.5 9.5a4.5 4.5 0 009 0M10 14v3",
  edit: "M4 16l.7-3L13 4.7l2.3 2.3L7 15.3z",
  retry: "M15.5 8A6 6 0 105 13.5M15.5 3.5V8H11",
  copy: "M7 7h9v9H7zM13 7V4H4v9h3",
  done: "M4 10.5l4 4 8-9",
  link: "M8.5 11.5l3-3M9 6l1.5-1.5a3 3 0 014.5 4.5L13.5 10.5M11 14l-1.5 1.5A3 3 0 015 11L6.5 9.5",
  settings: "M4 6h12M4 10h12M4 14h12",
  filter: "M3 5h14l-5.5 6v4.5l-3 1.5v-6z",
  branch: "M6 4v12M6 13c0-3 8-2 8-6M14 7V4M4.5 4h3M12.5 4h3",
  pause: "M7 5v10M13 5v10",
};

// Icon decorates a text that says the same.
export const Icon = ({ name, size = 18 }) => html`
  <svg
    class="icon"
    width=${size}
    height=${size}
    viewBox="0 0 20 20"
    fill="none"
    stroke="currentColor"
    stroke-width="1.6"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d=${paths[name] ?? paths.more} />
  </svg>
`;

// tones are the colours of states: what is in order, on its way, waits for a person, broke, was decided by the policy, is over.
const tones = {
  good: [
    "sent",
    "done",
    "ok",
    "ready",
    "connected",
    "allowed",
    "used",
    "approved",
    "active",
    "resolved",
    "hears",
    "allow",
    "yes",
    "paired",
    "announced",
    "current",
  ],
  busy: [
    "preview",
    "queued",
    "sending",
    "running",
    "busy",
    "waiting",
    "delivering",
    "asking",
    "replying",
    "announcing",
    "standby",
    "connecting",
  ],
  warn: [
    "held",
    "pending",
    "unknown",
    "retrying",
    "hold",
    "warning",
    "acknowledged",
    "faulty",
    "waits",
    "ask",
    "missed",
    "summed",
  ],
  bad: [
    "failed",
    "expired",
    "timeout",
    "deaf",
    "down",
    "error",
    "critical",
    "firing",
    "undelivered",
    "no",
    "revoked",
    "disconnected",
  ],
  rule: ["blocked", "denied", "redacted", "block", "deny", "redact", "withheld", "filtered", "stopped"],
};
const toneOf = Object.fromEntries(Object.entries(tones).flatMap(([tone, words]) => words.map((w) => [w, tone])));
const marks = { good: "✓", busy: "↻", warn: "!", bad: "✕", rule: "⊘", rest: "–" };

export const toneFor = (status) => toneOf[status] ?? "rest";

// Chip shows a state by word, colour and mark.
export function Chip({ status, tone = toneFor(status), text = known("status", status) }) {
  return html`
    <span class=${"chip " + tone} data-status=${status}>
      <span class="mark" aria-hidden="true">
        ${marks[tone] ?? marks.rest}
      </span>
      ${text}
    </span>
  `;
}

const levels = ["PUBLIC", "INTERNAL", "CONFIDENTIAL", "RESTRICTED"];

// levelOf is the level of a label such as INTERNAL/untrusted.
export const levelOf = (label) => String(label ?? "").split("/")[0];
export const untrusted = (label) => String(label ?? "").endsWith("/untrusted");

// Level shows a level as one to four bars, with its name.
export function Level({ label, short = false }) {
  const level = levelOf(label),
    n = levels.indexOf(level) + 1;
  if (!n) return null;
  const name = known("level", level) + (untrusted(label) ? ", " + t("level.untrusted") : "");
  return html`
    <span class=${cls("level", "l" + n, untrusted(label) && "untrusted")} title=${name}>
      <span class="bars" aria-hidden="true">
        ${levels.map((_, i) => html`
          <i class=${i < n ? "on" : ""}></i>
        `)}
      </span>
      <span class=${short ? "unseen" : ""}>${name}</span>
    </span>
  `;
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

// Moment shows a time in a few words, and the exact time with its zone under the pointer and on the keyboard focus. It takes the
// focus itself unless it is inside an element that does. The module exact.js writes the exact time when somebody looks.
export function Moment({ at, children }) {
  const node = useRef(null);
  useEffect(() => {
    if (!node.current.closest("a, button, summary, .row")) node.current.tabIndex = 0;
  }, []);
  const date = new Date(at);
  return html`
    <time ref=${node} class="moment" dateTime=${Number.isNaN(date.getTime()) ? "" : date.toISOString()}>${children}</time>
  `;
}

// Age shows how long ago something was.
export function Age({ at }) {
  const then = Date.parse(at);
  useTick(Date.now() - then < 120000 ? 5000 : 60000);
  if (!at || Number.isNaN(then)) return null;
  const coming = then - Date.now() > 1000;
  return html`
    <${Moment} at=${then}>
      ${coming ? t("time.in", { v: span(then - Date.now()) }) : age(Date.now() - then)}
    <//>
  `;
}

// When shows a time exactly, with its zone, and its age.
export const When = ({ at }) =>
  at ? html`
    <time dateTime=${at}>${exact(at)}</time>${" "}
    <span class="soft">
      (<${Age} at=${at} />)
    </span>
  ` : null;

// Left counts down to a time.
export function Left({ until }) {
  useTick(1000);
  const left = Date.parse(until) - Date.now();
  return html`
    <span class="left">
      <${Moment} at=${until}>${left > 0 ? span(left) : t("time.over")}<//>
    </span>
  `;
}

// Options are the choices of a select. name: how one is called.
export const Options = ({ of, chosen, name = (one) => one }) =>
  of.map((one) => html`
    <option value=${one} selected=${one === chosen}>
      ${name(one)}
    </option>
  `);

// Pager turns the pages of rows that are already loaded. turn: shows the page that begins with a row.
export const Pager = ({ from, size, of, turn }) =>
  of > size && html`
    <div class="acts">
      <button type="button" class="small" disabled=${from === 0} onClick=${() => turn(from - size)}>
        ${t("list.before")}
      </button>
      <span class="soft" role="status">
        ${t("list.page", { from: number(from + 1), to: number(Math.min(from + size, of)), n: number(of) })}
      </span>
      <button type="button" class="small" disabled=${from + size >= of} onClick=${() => turn(from + size)}>
        ${t("list.after")}
      </button>
    </div>
  `;

// Unfold shows something once somebody opens it: children makes it then.
export function Unfold({ part, text, children }) {
  const [open, set] = useState(false);
  return html`
    <details data-part=${part} onToggle=${(e) => set(e.target.open)}>
      <summary>${text}</summary>
      ${open && children()}
    </details>
  `;
}

// Sheet is a short table, which scrolls sideways where the window is narrow. A head is a text, or a text and its class.
// acts: the last column has buttons.
export const Sheet = ({ label = t("part.table"), heads, acts: buttons, children }) => html`
  <div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead>
        <tr>
          ${heads.map((head) => {
            const [text, of] = [].concat(head);
            return html`<th scope="col" class=${of}>${text}</th>`;
          })}
          ${buttons && html`
            <th scope="col">
              <span class="unseen">${t("part.actions")}</span>
            </th>
          `}
        </tr>
      </thead>
      <tbody>
        ${children}
      </tbody>
    </table>
  </div>
`;

// Field is a part of a form: its name, its input, and a hint.
export const Field = ({ text, hint, children }) => html`
  <label class="field">
    <span>${text}</span>
    ${children}
    ${hint && html`<small>${hint}</small>`}
  </label>
`;

// Facts lists names with values; those without a value are left out.
export const Facts = ({ of }) => html`
  <dl class="facts">
    ${of
      .filter(([, v]) => v !== undefined && v !== null && v !== "" && v !== false)
      .map(([name, value]) => html`
        <div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>
      `)}
  </dl>
`;

const cutAt = 4000; // characters of a value that are shown at first

const blockSize = 65536; // characters

// blocks splits a long text, at line ends if it has some, so that a browser lays out only what is in sight.
function blocks(text) {
  const all = [];
  for (let from = 0; from < text.length;) {
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
  const parts =
    shown.length > 2 * blockSize ? blocks(shown).map((b) => html`<span class="block">${visible(b)}</span>`) : visible(shown);
  return html`
    <div class="text">
      <pre class=${code ? "code" : "plain"} tabindex="0" role="region" aria-label=${label || t("part.text")}>
        ${parts}
        ${shown.length < all.length && "…"}
      </pre>
      ${shown.length < all.length && html`
        <button type="button" class="small" onClick=${() => show(true)}>
          ${t("part.all", { n: all.length })}
        </button>
      `}
    </div>
  `;
}

// Tabs leads to the parts of a view. The first is what the view's plain address shows.
export const Tabs = ({ view, names, current }) => html`
  <nav class="tabs" aria-label=${t("view." + view)}>
    ${Object.entries(names).map(([part, name], i) => html`
      <a href=${address(view, "", i === 0 ? {} : { part })} aria-current=${part === current ? "page" : undefined}>
        ${name}
      </a>
    `)}
  </nav>
`;

// Value shows a value of JSON.
export const Value = ({ of, label }) => html`
  <${Text} code text=${typeof of === "string" ? of : JSON.stringify(of, null, 2)} label=${label ?? t("part.value")} />
`;

// Copy copies a text.
export function Copy({ text, label = t("part.copy") }) {
  const [done, set] = useState(false);
  return html`
    <button
      type="button"
      class="small quiet copy"
      onClick=${async () => {
        await copy(text);
        set(true);
        setTimeout(() => set(false), 1500);
      }}
    >
      <${Icon} name=${done ? "done" : "copy"} size="15" /> ${done ? t("part.copied") : label}
    </button>
  `;
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
export const Problem = ({ error, retry }) => html`
  <div class="problem" role="alert">
    <p>${error?.status ? error.message : t("part.silent")}</p>
    ${retry && html`
      <button type="button" class="small" onClick=${retry}>
        ${t("part.retry")}
      </button>
    `}
  </div>
`;

// Loading stands where something will be, without moving what is around it.
export const Loading = () => html`
  <p class="loading" role="status">
    ${t("part.loading")}
  </p>
`;

const focusable = "a[href], button:not(:disabled), summary, input:not(:disabled)";

// passFocus moves the focus away from a button that disappears with its row: to the next row, the one before, the list, or the heading
// above. It is called while the button is still there.
export function passFocus(button) {
  const row = button.closest("tr, li, article"),
    section = button.closest("section, dialog") ?? document.querySelector("main");
  const near = [];
  for (let n = row?.nextElementSibling; n; n = n.nextElementSibling) near.push(n);
  for (let n = row?.previousElementSibling; n; n = n.previousElementSibling) near.push(n);
  const grid = button.closest(".list-view")?.querySelector("[role=grid]");
  const writing = button.closest("form")?.querySelector("textarea");
  setTimeout(() => { // after the row is gone; a tab that is not drawn has no frames to wait for
    if (document.activeElement && document.activeElement !== document.body) return; // somebody has moved on
    const next = near.find((n) => n.isConnected && n.querySelector(focusable));
    const heading = (section.isConnected && section.querySelector("h1, h2, h3")) || document.querySelector("main h1, main h2");
    const to = [next?.querySelector(focusable), grid, writing, heading].find((n) => n?.isConnected);
    if (!to) return;
    if (to.tabIndex < 0) to.tabIndex = -1; // a heading; what has the focus by itself keeps its place in the order of Tab
    to.focus();
  });
}

// Act is a button that does something in the gateway: it rests meanwhile, and says what happened to it. Who may only read has
// no such buttons; allowed says otherwise.
export function Act({ run, done, tone = "", icon, children, small = true, title, part, disabled, allowed = acts() }) {
  const [busy, set] = useState(false);
  const node = useRef(null);
  const pressed = useRef(false);
  useLayoutEffect(() => () => pressed.current && passFocus(node.current), []); // while the row is still there
  if (!allowed) return null;
  const press = async () => {
    set(true);
    pressed.current = true;
    try {
      const said = await run();
      if (said !== false && done) toast(done);
    } catch (error) {
      toast(error.status ? error.message : t("part.silent"), "bad");
    }
    set(false);
    // A button that rests loses the focus, and gets it back.
    requestAnimationFrame(() => document.activeElement === document.body && node.current?.focus());
  };
  return html`
    <button
      type="button"
      ref=${node}
      class=${cls(small && "small", tone)}
      disabled=${busy || disabled}
      onClick=${press}
      title=${title}
      data-part=${part}
    >
      ${icon && html`<${Icon} name=${icon} size="16" />`}
      ${children}
    </button>
  `;
}

// Order drops results that arrive late. Of two reads that run at the same time, the one that began first may end last.
export class Order {
  made = 0;
  taken = 0;

  // begin numbers a read.
  begin() {
    return ++this.made;
  }

  // takes reports whether the result of a read is newer than the last one that was taken, and notes it.
  takes(n) {
    if (n <= this.taken) return false;
    this.taken = n;
    return true;
  }

  // drop makes the results of all reads so far old.
  drop() {
    this.taken = this.made;
  }
}

// useLoad reads something, again when what it depends on changes, and when again is called.
export function useLoad(read, depends) {
  const [state, set] = useState({ loading: true });
  const [n, again] = useReducer((v) => v + 1, 0);
  const order = useRef(null);
  order.current ??= new Order();
  useLayoutEffect(() => () => order.current.drop(), depends);
  useLayoutEffect(() => {
    // before the next frame: the answer may be there already
    const mine = order.current.begin();
    const take = (next) => order.current.takes(mine) && set(next);
    Promise.resolve(read()).then(
      (value) => take({ value }),
      (error) => take((s) => ({ value: s.value, error })),
    );
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

export const Place = ({ of }) =>
  of?.channel ? html`
    <span class="place">
      <span class="channel">${of.channel}</span> ${routeName(of)}
      ${of.thread && " › " + visible(of.thread)}
    </span>
  ` : null;

// Parts lists the parts of the gateway with their health.
export const Parts = ({ of }) => html`
  <ul class="lines">
    ${of.map((p) => html`
      <li>
        <${Chip} status=${p.ok ? "ok" : p.optional ? "warning" : "failed"} /> <strong>${visible(p.name)}</strong>${" "}
        ${p.detail && html`<span class="soft">${visible(p.detail)}</span>`}
      </li>
    `)}
  </ul>
`;

let toasts = [];
let lastToast = 0;

// toast shows a text at the edge of the page for some seconds; a bad one stays until it is closed. It is read out, and takes
// the focus from nobody.
export function toast(text, tone = "good") {
  const one = { id: ++lastToast, text, tone };
  toasts = [...toasts.slice(-3), one];
  drawToasts();
  if (tone !== "bad") setTimeout(() => closeToast(one.id), 5000);
}

function closeToast(id) {
  toasts = toasts.filter((one) => one.id !== id);
  drawToasts();
}

function drawToasts() {
  let box = document.getElementById("toasts");
  if (!box) {
    box = document.createElement("div");
    box.id = "toasts";
    box.setAttribute("role", "status");
    document.body.append(box);
  }
  render(
    html`
      ${toasts.map((one) => html`
        <div key=${one.id} class=${"toast " + one.tone}>
          <span>${one.text}</span>
          <button type="button" class="quiet iconic" aria-label=${t("part.close")} onClick=${() => closeToast(one.id)}>
            <${Icon} name="close" size="16" />
          </button>
        </div>
      `)}
    `,
    box,
  );
}

// say has a text read out without showing it.
export function say(text) {
  document.getElementById("heard").textContent = text;
}

// Dialog shows its children above the page. Escape closes it and decides nothing; the focus returns to where it was.
export function Dialog({ title, close, children, wide = false, name = "" }) {
  const box = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  return html`
    <dialog
      ref=${box}
      class=${wide ? "wide" : ""}
      data-dialog=${name}
      aria-labelledby="dialog-title"
      onCancel=${(e) => {
        e.preventDefault();
        close();
      }}
      onClick=${(e) => e.target === box.current && close()}
    >
      <div class="dialog">
        <header>
          <h2 id="dialog-title">${title}</h2>
          <button type="button" class="quiet iconic" aria-label=${t("part.close")} onClick=${close}>
            <${Icon} name="close" />
          </button>
        </header>
        ${children}
      </div>
    </dialog>
  `;
}

// ask shows a question with the effect as its button. It gives whether the person has chosen it.
export function ask(question, effect, { detail = "", danger = false } = {}) {
  return new Promise((done) => {
    const box = document.createElement("div");
    document.body.append(box);
    const end = (yes) => {
      render(null, box);
      box.remove();
      done(yes);
    };
    render(
      html`<${Dialog} name="ask" title=${question} close=${() => end(false)}>
        ${detail && html`<p>${detail}</p>`}
        <div class="acts">
          <button type="button" class=${danger ? "danger solid" : "main"} onClick=${() => end(true)}>
            ${effect}
          </button>
          <button type="button" onClick=${() => end(false)}>
            ${t("part.cancel")}
          </button>
        </div>
      <//>`,
      box,
    );
  });
}
