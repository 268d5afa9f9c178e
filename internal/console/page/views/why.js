// Why: one chain of causes, from the platform's event to the receipt, as it was then.

import {
  acts, address, Chip, clock, cls, Copy, decoded, go, html, json, Level, Loaded, Moment, span, t, useAddress, useLoad,
  useState, visible,
} from "../base.js";
import { Rules } from "../ui/decision.js";

// views of the objects that a step names.
const views = {
  run: "runs",
  delivery: "deliveries",
  approval: "inbox",
  session: "conversations",
  memory: "memory",
  alert: "alerts",
  job: "automation",
  entry: "audit",
};
// rowOf is the id that the view of an explained object has for it.
const rowOf = (w) => ({ job: w.id.slice("cron/".length), entry: w.id.slice("aud_".length) })[w.kind] ?? w.id;

// tryOf is the address of the form under Policy that tries the message or the tool call again. Trying a call needs the right to act.
function tryOf(w) {
  if (w.kind === "approval") return acts() && address("policy", "", { try: w.id });
  const sent = w.kind === "delivery" ? w.id : w.steps.findLast((s) => s.object?.kind === "delivery")?.object.id;
  return sent && address("policy", "", { try: sent });
}

const tone = { ok: "good", stopped: "rule", waits: "warn", failed: "bad", unknown: "warn", not_recorded: "rest" };

export default function Why() {
  const at = useAddress();
  return html`
    <div class="page-body why">
      ${at.id ? html`<${Chain} key=${at.id} id=${at.id} session=${at.query.get("session") ?? ""} />` : html`<${Ask} />`}
    </div>
  `;
}

// named is the object that a link leads to, or the text itself: an id, which may have slashes.
function named(text) {
  if (!/^(https?:\/)?\//.test(text) || !URL.canParse(text, location.origin)) return { id: text };
  const link = new URL(text, location.origin);
  return { id: decoded(link.pathname.split("/").at(-1)), session: link.searchParams.get("session") };
}

// Ask takes an id, or a link to any object of the page.
function Ask() {
  const [text, set] = useState("");
  const open = (e) => {
    e.preventDefault();
    const { id, session } = named(text.trim());
    if (id) go(address("why", id, { session }));
  };
  return html`
    <form class="form card" onSubmit=${open}>
      <label class="field">
        <span>${t("why.id")}</span>
        <input value=${text} onInput=${(e) => set(e.target.value)} autofocus />
        <small>${t("why.idhint")}</small>
      </label>
      <button type="submit" class="main">
        ${t("why.ask")}
      </button>
    </form>
  `;
}

function Chain({ id, session }) {
  const read = useLoad(
    () => json("/v1/why/" + encodeURIComponent(id) + (session && "?session=" + encodeURIComponent(session))),
    [id, session],
  );
  return html`
    <${Loaded} of=${read}>
      ${(w) => html`
        <header class="detail-head">
          <h2>${visible(w.title)}</h2>
          <p>
            <${Chip} status=${w.status} /> <code>${w.id}</code>
          </p>
        </header>
        <p class="answer">${visible(w.answer)}</p>
        ${w.change?.length > 0 && html`
          <section class="note">
            <strong>${t("why.change")}</strong>
            <ul>
              ${w.change.map((c) => html`
                <li>
                  ${visible(c.text)} ${c.command && html`<code>${c.command}</code>`}
                </li>
              `)}
            </ul>
            ${tryOf(w) && html`<${Try} to=${tryOf(w)} />`}
          </section>
        `}
        <ol class="chain">
          ${w.steps.map((s) => html`
            <${Step} of=${s} />
          `)}
        </ol>
        <div class="acts">
          ${!w.change?.length && tryOf(w) && html`<${Try} to=${tryOf(w)} />`}
          <${Copy} text=${location.href} label=${t("list.link")} />
          <${Copy} text=${JSON.stringify(w, null, 2)} label="JSON" />
          <${Copy} text=${w.links.cli} label=${w.links.cli} />
          ${views[w.kind] && html`
            <a class="button small" href=${address(views[w.kind], rowOf(w))}>
              ${t("why.open")}
            </a>
          `}
        </div>
      `}
    <//>
  `;
}

const Try = ({ to }) => html`
  <a class="button small" href=${to} data-part="try">
    ${t("policy.try")}
  </a>
`;

const Step = ({ of: s }) => html`
  <li class=${cls("step", s.state)}>
    <p class="step-head">
      <${Chip} status=${s.state} tone=${tone[s.state]} text=${t("why.step." + s.step)} />${" "}
      ${s.at ? html`
        <${Moment} at=${s.at}>
          ${clock(s.at)}
        <//>
      ` : (
        ""
      )}${" "}
      ${s.took_ms > 0 && html`<span class="soft">${span(s.took_ms)}</span>`} <${Level} label=${s.label} />
    </p>
    <p>
      ${s.state === "not_recorded" ? html`<em>${s.text ? visible(s.text) : t("why.notrecorded")}</em>` : visible(s.text)}${" "}
      ${s.object && views[s.object.kind] && html`<a href=${address(views[s.object.kind], s.object.id)}>${s.object.id}</a>`}
    </p>
    ${s.facts?.length > 0 && html`
      <p class="soft">${s.facts.map((f) => `${visible(f.name)}: ${visible(f.value)}`).join(" · ")}</p>
    `}
    ${s.rules?.length > 0 && html`
      <details open=${s.state === "stopped"}>
        <summary>${t("why.rules", { n: s.rules.length })}</summary>
        <${Rules} of=${s.rules} />
      </details>
    `}
  </li>
`;
