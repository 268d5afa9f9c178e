// Inbox: what waits for a person: tool calls, held messages and people who ask to talk.

import {
  acts, address, Age, Chip, Facts, html, json, Left, Level, Loaded, onChange, owns, post, Problem, Refused, t, Text,
  toast, useEffect, useLoad, useState, visible, When,
} from "../base.js";
import { Always } from "../ui/always.js";
import { levelColumn, List, statusColumn } from "../ui/list.js";
import { oneLine } from "./deliveries.js";
import { Markdown } from "../ui/markdown-view.js";

export const what = (p) => (p.delivery ? t("inbox.send") : t("inbox.allowtool", { tool: visible(p.tool) }));
const ruleName = (rule) => visible(rule.replace(/^policy\.rules\./, ""));
const soonest = (a, b) => Date.parse(a.expires) - Date.parse(b.expires) || (a.id < b.id ? -1 : 1);
const argsOf = (p) => JSON.stringify(p.args ?? {}, null, 2);

export default function Inbox() {
  return html`
    <${List}
      name="inbox"
      label=${t("view.inbox")}
      path="/v1/approvals"
      take=${(b) => b.approvals}
      id=${(p) => p.id}
      sort=${({ status }) => (status ? undefined : soonest)}
      kinds=${["approvals", "deliveries"]}
      filters=${[
        {
          key: "status",
          text: t("col.status"),
          options: ["allowed", "used", "denied", "all"],
          all: t("status.pending"),
        },
        {
          key: "kind",
          text: t("col.kind"),
          options: ["call", "message"],
          names: { call: t("inbox.kind.call"), message: t("inbox.kind.message") },
        },
        { key: "channel", text: t("col.channel") },
        { key: "session", text: t("col.session") },
      ]}
      head=${() => html`<${Asking} />`}
      columns=${[
        statusColumn(),
        { text: t("inbox.what"), width: "minmax(9rem, 1.1fr)", on: "main", cell: (p) => what(p) },
        {
          text: t("inbox.args"),
          width: "minmax(6rem, 1.6fr)",
          on: "sub",
          cell: (p) =>
            p.delivery && p.args?.text ? oneLine(p.args.text) : html`<code>${oneLine(JSON.stringify(p.args ?? {}))}</code>`,
        },
        { text: t("inbox.asker"), width: "minmax(5rem, .5fr)", cell: (p) => visible(p.agent) },
        { text: t("inbox.rules"), width: "minmax(5rem, .7fr)", cell: (p) => p.rules?.map(ruleName).join(", ") },
        levelColumn(),
        {
          text: t("inbox.left"),
          width: "5rem",
          on: "age",
          end: true,
          cell: (p) => (p.status === "pending" ? html`<${Left} until=${p.expires} />` : html`<${Age} at=${p.decided ?? p.created} />`),
        },
      ]}
      why=${(p) => address("why", p.id)}
      rowName=${what}
      empty=${html`<p>${t("inbox.empty")}</p>`}
      detail=${Approval}
    />
  `;
}

// Asking lists people who ask to talk, above the list: they are few.
function Asking() {
  const read = useLoad(
    () =>
      json("/v1/pairings").catch((e) =>
        e instanceof Refused && e.status === 403 ? { pairings: [] } : Promise.reject(e),
      ),
    [],
  );
  useEffect(() => onChange(["pairings"], read.again), []);
  const asking = (read.value?.pairings ?? []).filter((p) => p.status === "pending" && p.code);
  if (!asking.length) return null;
  return html`
    <section class="asking" aria-label=${t("inbox.people")}>
      ${asking.map((p) => html`
        <${Person} key=${p.code} p=${p} again=${read.again} />
      `)}
    </section>
  `;
}

export function Person({ p, again }) {
  const decide = (verb) => async () => {
    try {
      const answer = await post(`/v1/pairings/${encodeURIComponent(p.code)}/${verb}`);
      toast(
        answer?.note
          ? visible(answer.note)
          : t(verb === "approve" ? "people.approved" : "people.denied", { name: visible(p.user.name || p.user.id) }),
      );
    } catch (error) {
      toast(error.message, "bad");
    }
    again();
  };
  return html`
    <div class="card ask">
      <div>
        <strong>${visible(p.user.name || p.user.id)}</strong>${" "}
        <span class="soft">
          ${t("people.asks", { channel: p.channel })} · <${Age} at=${p.created} />
        </span>
      </div>
      <div class="acts" hidden=${!acts()}>
        <button type="button" class="small main" onClick=${decide("approve")}>
          ${t("people.approve")}
        </button>
        <button type="button" class="small danger" onClick=${decide("deny")}>
          ${t("people.deny")}
        </button>
      </div>
    </div>
  `;
}

// Approval shows a question with all of what would run. The buttons stay in sight, and decide only about this question.
function Approval({ id, row, refresh }) {
  const read = useLoad(() => json("/v1/approvals/" + encodeURIComponent(id)), [id, row?.status]);
  return html`
    <${Loaded} of=${read}>
      ${(p) => html`
        <div class="question">
          <header class="detail-head">
            <h2>${what(p)}</h2>
            <p>
              <${Chip} status=${p.status} /> <${Level} label=${p.label} />
            </p>
          </header>
          ${p.status === "pending" && acts() && html`
            <${Decide}
              p=${p}
              after=${() => {
                read.again();
                refresh();
              }}
            />
          `}
          ${p.why && html`<p class="note">${visible(p.why)}</p>`}
          ${p.delivery && p.args?.text ? html`
            <h3>${t("inbox.message")}</h3>
            <section class="said">
              <${Markdown} text=${p.args.text} />
            </section>
            <details>
              <summary>${t("inbox.args")}</summary>
              <${Text} code text=${argsOf(p)} label=${t("inbox.args")} />
            </details>
          ` : html`
            <h3>${t("inbox.args")}</h3>
            <${Text} code text=${argsOf(p)} label=${t("inbox.args")} />
          `}
          <${Facts}
            of=${[
              [t("inbox.asker"), visible(p.agent)],
              [t("col.channel"), p.channel && visible(p.channel)],
              [t("inbox.rules"), p.rules?.map(visible).join(", ")],
              [t("inbox.who"), who(p)],
              [t("inbox.ontimeout"), t(p.on_timeout === "allow" ? "inbox.thenallow" : "inbox.thendeny")],
              [t("inbox.by"), p.by && visible(p.by)],
              [t("inbox.reason"), p.reason && visible(p.reason)],
              [t("col.created"), html`<${When} at=${p.created} />`],
              [t("inbox.expires"), html`<${When} at=${p.expires} />`],
              [t("inbox.decided"), p.decided && html`<${When} at=${p.decided} />`],
              [t("col.session"), p.session && html`<a href=${address("conversations", p.session)}>${p.session}</a>`],
              [t("col.run"), p.run && html`<a href=${address("runs", p.run)}>${p.run}</a>`],
              [t("inbox.message"), p.delivery && html`<a href=${address("deliveries", p.delivery)}>${p.delivery}</a>`],
            ]}
          />
        </div>
      `}
    <//>
  `;
}

const who = (p) =>
  p.approvers
    ? p.approvers.map((list) => list.map(visible).join(", ") || t("inbox.owners")).join("; ")
    : t("inbox.owners");

// Decide is what a person can answer to a question.
export function Decide({ p, after }) {
  const [state, set] = useState({});
  const [why, setWhy] = useState("");
  const [making, always] = useState(false);
  const decide = (verb) => async () => {
    set({ busy: true });
    try {
      await json(`/v1/approvals/${encodeURIComponent(p.id)}/${verb}`, {
        method: "POST",
        ...(verb === "deny" && why.trim() ? { body: { reason: why.trim() } } : {}),
      });
      toast(t(verb === "allow" ? "inbox.allowed" : "inbox.denied"));
      set({});
    } catch (error) {
      set({ error });
    }
    after();
  };
  return html`
    <div class="decide">
      <p class="soft">
        <${Left} until=${p.expires} /> ${t(p.on_timeout === "allow" ? "inbox.leftallow" : "inbox.leftdeny")}
      </p>
      ${state.error && html`<${Problem} error=${state.error} />`}
      <div class="acts">
        <button type="button" class="main" data-part="allow" disabled=${state.busy} onClick=${decide("allow")}>
          ${t("inbox.allow")}
        </button>
        <button type="button" class="danger" data-part="deny" disabled=${state.busy} onClick=${decide("deny")}>
          ${t("inbox.deny")}
        </button>
        ${p.always && owns() && html`
          <button type="button" data-part="always" disabled=${state.busy} onClick=${() => always(true)}>
            ${t("always.button")}
          </button>
        `}
        <input
          value=${why}
          onInput=${(e) => setWhy(e.target.value)}
          placeholder=${t("inbox.whydeny")}
          aria-label=${t("inbox.whydeny")}
          maxlength="500"
        />
      </div>
      ${making && html`<${Always} p=${p} close=${() => always(false)} after=${after} />`}
    </div>
  `;
}
