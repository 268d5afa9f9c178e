// Deliveries: what left, what waits, what was stopped, and why.

import {
  Act, acts, address, Age, ask, Chip, Facts, html, json, Level, Loaded, number, Place, post, routeName, t, useLoad,
  visible, When,
} from "../base.js";
import { ageColumn, levelColumn, List, statusColumn } from "../ui/list.js";
import { Markdown } from "../ui/markdown-view.js";
import { Decision } from "../ui/decision.js";
import { Files } from "../ui/files.js";
import { Decide } from "./inbox.js";

export const statuses = [
  "preview",
  "queued",
  "held",
  "sending",
  "sent",
  "blocked",
  "failed",
  "unknown",
  "expired",
  "discarded",
];
const over = ["sent", "sending", "preview", "discarded"];
const path = (id, verb = "") => "/v1/deliveries/" + encodeURIComponent(id) + (verb && "/" + verb);

export const retry = (d) => post(path(d.id, "retry"));
export const discard = (d) => post(path(d.id, "discard"));
const open = (d) => !over.includes(d.status);

// oneLine is the beginning of a text in one line, without the signs of Markdown.
export const oneLine = (text) =>
  visible(String(text ?? "").slice(0, 600))
    .replace(/```\w*|\*\*|`|^#+ |\|?(\s*:?-{3,}:?\s*\|)+/gm, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 200);

export default function Deliveries() {
  return html`
    <${List}
      name="deliveries"
      label=${t("view.deliveries")}
      path="/v1/deliveries"
      take=${(b) => b.deliveries}
      id=${(d) => d.id}
      kinds=${["deliveries"]}
      filters=${[
        { key: "q", text: t("filter.words") },
        { key: "status", text: t("col.status"), options: statuses },
        { key: "channel", text: t("col.channel") },
        { key: "account", text: t("col.account") },
        { key: "to", text: t("col.to") },
        { key: "session", text: t("col.session"), hint: "sess_…" },
        { key: "rule", text: t("col.rule"), hint: "policy.rules.name" },
        { key: "since", text: t("filter.since"), type: "time" },
      ]}
      columns=${[
        statusColumn(),
        { text: t("col.to"), width: "minmax(8rem, .8fr)", on: "sub", cell: (d) => html`<${Place} of=${d.route} />` },
        {
          text: t("col.text"),
          width: "minmax(10rem, 2fr)",
          on: "main",
          cell: (d) =>
            oneLine(d.text) || html`
              <span class="soft">${t(d.files?.length ? "deliveries.files" : "deliveries.notext")}</span>
            `,
        },
        levelColumn(),
        {
          text: t("col.tries"),
          width: "6.5rem",
          end: true,
          cell: (d) => html`${number(d.attempts)}${d.next_try && html`, <${Age} at=${d.next_try} />`}`,
        },
        ageColumn((d) => d.created),
      ]}
      bulk=${[
        { text: t("deliveries.retry"), run: retry, fits: open },
        { text: t("deliveries.discard"), run: discard, fits: open, tone: "danger" },
      ]}
      why=${(d) => address("why", d.id)}
      rowName=${(d) => routeName(d.route)}
      empty=${html`<p>${t("deliveries.empty")}</p>`}
      detail=${Delivery}
    />
  `;
}

// Held says that a delivery waits for a decision, and takes it.
function Held({ of: d, after }) {
  const read = useLoad(() => json("/v1/approvals?status=pending&limit=200&session=" + encodeURIComponent(d.session ?? "")), [d.id]);
  const p = read.value?.approvals.find((one) => one.delivery === d.id);
  return html`
    <p class="note warn">
      ${t("deliveries.held")} <a href=${address("inbox", p?.id)}>${t("view.inbox")}</a>
    </p>
    ${p && acts() && html`<${Decide} p=${p} after=${after} />`}
  `;
}

function Delivery({ id, row, refresh }) {
  const read = useLoad(() => json(path(id)), [id, row?.status, row?.attempts]);
  const after = () => {
    read.again();
    refresh();
  };
  return html`
    <${Loaded} of=${read}>
      ${(d) => html`
        <header class="detail-head">
          <h2>
            <${Place} of=${d.route} />
          </h2>
          <p>
            <${Chip} status=${d.status} /> <${Level} label=${d.label} />
          </p>
        </header>
        ${d.error && html`<p class="note bad">${visible(d.error)}</p>`}
        ${d.status === "held" && html`<${Held} of=${d} after=${after} />`}
        ${open(d) && d.status !== "held" && html`
          <div class="acts">
            <${Act}
              run=${async () => {
                await retry(d);
                after();
              }}
              done=${t("deliveries.retried")}
              icon="retry"
              tone="main"
            >
              ${t("deliveries.retry")}
            <//>
            <${Act}
              tone="danger"
              run=${async () => {
                if (!(await ask(t("deliveries.discardask"), t("deliveries.discard"), { danger: true }))) return false;
                await discard(d);
                after();
              }}
              done=${t("deliveries.discarded")}
            >
              ${t("deliveries.discard")}
            <//>
          </div>
        `}
        <section class="said">
          <${Markdown} text=${d.text} />
          <${Files} of=${d.files} />
        </section>
        ${d.decision && html`
          <h3>${t("deliveries.decision")}</h3>
          <${Decision} of=${d.decision} />
        `}
        ${d.receipts?.length > 0 && html`
          <h3>${t("deliveries.receipts")}</h3>
          <ol class="receipts">
            ${d.receipts.map((r, i) => html`
              <li>
                <code>${r.messageId ?? r.MessageID ?? "–"}</code>${" "}
                <span class="soft">${t("deliveries.piece", { n: i + 1 })}</span> <${When} at=${r.at ?? r.At} />
              </li>
            `)}
          </ol>
        `}
        <${Facts}
          of=${[
            [t("col.id"), html`<code>${d.id}</code>`],
            [t("col.kind"), d.kind],
            [t("col.account"), d.route.account],
            [t("col.tries"), number(d.attempts)],
            [t("deliveries.next"), d.next_try && html`<${When} at=${d.next_try} />`],
            [t("col.created"), html`<${When} at=${d.created} />`],
            [t("col.finished"), d.finished && html`<${When} at=${d.finished} />`],
            [t("deliveries.expires"), html`<${When} at=${d.expires} />`],
            [t("col.session"), d.session && html`<a href=${address("conversations", d.session)}>${d.session}</a>`],
            [t("col.run"), d.run && html`<a href=${address("runs", d.run)}>${d.run}</a>`],
            [t("deliveries.resend"), d.resend_of && html`<a href=${address("deliveries", d.resend_of)}>${d.resend_of}</a>`],
          ]}
        />
      `}
    <//>
  `;
}
