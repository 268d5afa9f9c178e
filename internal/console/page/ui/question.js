// The question that waits for a decision in a conversation, above the field to write in. One is shown at a time, oldest first,
// with all of its arguments. A button only decides about the question that it was drawn with, and none does so by a key.

import {
  acts, html, json, Left, Level, onChange, Order, owns, Refused, say, t, useEffect, useRef, useState, visible,
} from "../base.js";
import { Always } from "./always.js";

const settle = 600; // milliseconds; a question that replaces another cannot be answered before, so that a late click has no effect

export function Question({ session, busy, chat, told }) {
  const [open, setOpen] = useState([]);
  const [shown, setShown] = useState(null);
  const [rests, rest] = useState(false);
  const [problem, fail] = useState("");
  const [making, always] = useState(null); // the question about which a rule is made
  const box = useRef(null);
  const latest = useRef(null);
  latest.current = shown;
  const here = useRef(session);
  here.current = session;
  const order = useRef(null);
  order.current ??= new Order();

  const look = async () => {
    if (!session) return;
    const mine = order.current.begin();
    const current = () => session === here.current && order.current.takes(mine); // not of another session, nor late
    try {
      const { approvals } = await json(`/v1/approvals?status=pending&limit=50&session=${encodeURIComponent(session)}`);
      if (current()) take(approvals.filter((p) => Date.parse(p.expires) > Date.now()));
    } catch (error) {
      if (error instanceof Refused && current()) take([]); // the caller may not see approvals
    }
  };
  const take = (list) => {
    setOpen(list);
    told(list);
    const before = latest.current;
    const next = list.find((p) => p.id === before?.id) ?? list[0] ?? null;
    if (next?.id === before?.id) return;
    if (box.current?.contains(document.activeElement)) document.getElementById("text")?.focus();
    fail("");
    if (before && next) {
      rest(true);
      setTimeout(() => rest(false), settle);
    }
    setShown(next);
    if (next) say(t("inbox.decide", { what: what(next) }));
  };

  useEffect(() => {
    look();
    let timer = 0;
    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(look, 150);
    };
    const stop = onChange(["approvals"], soon);
    chat.asks = soon;
    const often = setInterval(() => document.hidden || look(), 5000);
    return () => {
      stop();
      clearTimeout(timer);
      clearInterval(often);
    };
  }, [session]);

  if (!shown) return html`<section id="approvals" aria-label=${t("inbox.waiting")} hidden></section>`;
  const decide = (verb) => async () => {
    const id = shown.id;
    rest(true);
    fail("");
    try {
      await json(`/v1/approvals/${encodeURIComponent(id)}/${verb}`, { method: "POST" });
      say(t(verb === "allow" ? "inbox.allowed" : "inbox.denied"));
    } catch (error) {
      if (latest.current?.id === id) fail(error instanceof Refused ? error.message : t("inbox.notsaved"));
    }
    if (latest.current?.id === id) rest(false);
    await look();
  };
  const n = open.length;
  return html`
    <section id="approvals" aria-label=${t("inbox.waiting")} ref=${box}>
      <div class="head">
        <strong data-part="what">${what(shown)}</strong>
        <span data-part="more">${n > 1 ? t("inbox.oneof", { n }) : ""}</span>
        <span data-part="left">
          <${Left} until=${shown.expires} /> ${t(shown.on_timeout === "allow" ? "inbox.leftallow" : "inbox.leftdeny")}
        </span>
      </div>
      ${shown.why && html`<p data-part="why">${visible(shown.why)}</p>`}
      <pre data-part="args" tabindex="0" role="region" aria-label=${t("inbox.args")}>
        ${visible(JSON.stringify(shown.args ?? {}, null, 2))}
      </pre>
      <p data-part="who">
        <${Level} label=${shown.label} />
        ${visible(
          [
            shown.agent && t("inbox.agent", { name: shown.agent }),
            shown.approvers &&
              t("inbox.deciders", { names: shown.approvers.map((l) => l.join(", ") || t("inbox.owners")).join("; ") }),
          ]
            .filter(Boolean)
            .map((part) => ` · ${part}`)
            .join(""),
        )}
      </p>
      ${problem && html`
        <p data-part="problem" class="bad" role="alert">
          ${problem}
        </p>
      `}
      <div class="acts" hidden=${!acts()}>
        <button type="button" class="main" data-part="allow" disabled=${rests} onClick=${decide("allow")}>
          ${t("inbox.allow")}
        </button>
        <button type="button" class="danger" data-part="deny" disabled=${rests} onClick=${decide("deny")}>
          ${t("inbox.deny")}
        </button>
        ${shown.always && owns() && html`
          <button type="button" data-part="always" disabled=${rests} onClick=${() => always(shown)}>
            ${t("always.button")}
          </button>
        `}
      </div>
      ${making && html`<${Always} p=${making} close=${() => always(null)} after=${look} />`}
    </section>
  `;
}

const what = (p) => (p.delivery ? t("inbox.send") : t("inbox.allowtool", { tool: visible(p.tool) }));
