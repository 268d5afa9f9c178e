// Audit: who did what, when, to what; and whether the trail is unaltered.

import {
  address, Copy, date, Facts, html, json, Level, levels, minute, Moment, number, Problem, t, useState, Value, visible,
  When,
} from "../base.js";
import { ageColumn, levelColumn, List } from "../ui/list.js";

export default function Audit() {
  return html`
    <${List}
      name="audit"
      label=${t("view.audit")}
      path="/v1/audit"
      take=${(b) => b.entries}
      id=${(e) => e.id}
      filters=${[
        { key: "action", text: t("col.action"), hint: "delivery.block" },
        { key: "actor", text: t("col.actor"), hint: "operator" },
        { key: "object", text: t("col.object") },
        { key: "session", text: t("col.session") },
        { key: "level", text: t("col.level"), options: levels, words: "level" },
        { key: "since", text: t("filter.since"), type: "moment" },
        { key: "until", text: t("filter.until"), type: "moment" },
      ]}
      head=${() => html`<${Verify} />`}
      columns=${[
        {
          text: t("col.time"),
          width: "8.5rem",
          on: "status",
          cell: (e) => html`
            <${Moment} at=${e.at}>
              ${date(e.at)}, ${minute(e.at)}
            <//>
          `,
        },
        {
          text: t("col.action"),
          width: "minmax(8rem, 1fr)",
          on: "main",
          cell: (e) => html`<code>${visible(e.action)}</code>`,
        },
        { text: t("col.actor"), width: "minmax(6rem, .8fr)", on: "sub", cell: (e) => visible(e.actor) },
        { text: t("col.object"), width: "minmax(8rem, 1.4fr)", cell: (e) => visible(e.object) },
        levelColumn(),
        ageColumn((e) => e.at),
      ]}
      why=${(e) => address("why", "aud_" + e.id)}
      rowName=${(e) => e.action}
      empty=${html`<p>${t("audit.empty")}</p>`}
      detail=${Entry}
    />
  `;
}

function Entry({ row: e }) {
  if (!e) return html`<p class="note">${t("audit.notloaded")}</p>`;
  return html`
    <header class="detail-head">
      <h2>
        <code>${visible(e.action)}</code>
      </h2>
      <p>
        <${Level} label=${e.label} />
      </p>
    </header>
    <${Facts}
      of=${[
        [t("col.time"), html`<${When} at=${e.at} />`],
        [t("col.actor"), visible(e.actor)],
        [t("col.object"), visible(e.object)],
        [t("col.session"), e.session && html`<a href=${address("conversations", e.session)}>${e.session}</a>`],
        [t("audit.place"), e.place && `${e.place.chain}:${e.place.seq}`],
        [t("audit.hash"), e.place && html`<code class="wrap">${e.place.hash}</code>`],
      ]}
    />
    ${e.detail && html`
      <h3>${t("audit.detail")}</h3>
      <${Value} of=${e.detail} />
    `}
  `;
}

function Verify() {
  const [state, set] = useState({});
  const run = async () => {
    set({ busy: true });
    try {
      set({ result: await json("/v1/audit/verify") });
    } catch (error) {
      set({ error });
    }
  };
  const r = state.result;
  return html`
    <div class="strip" role="status">
      <button type="button" class="small" disabled=${state.busy} onClick=${run}>
        ${t("audit.verify")}
      </button>
      ${state.busy && html`<span class="soft">${t("part.loading")}</span>`}
      ${state.error && html`<${Problem} error=${state.error} />`}
      ${r && html`
        <span class=${"note " + (r.ok ? "good" : "bad")}>
          ${r.ok ? t("audit.intact", { n: r.entries }) : t("audit.broken", { n: r.faults.length })}
        </span>
        ${r.faults.map((f) => html`
          <span class="note bad">
            ${number(f.chain)}:${f.seq} ${visible(f.text)}
          </span>
        `)}
        <${Copy} text=${r.heads.join("\n")} label=${t("audit.heads")} />
      `}
    </div>
  `;
}
