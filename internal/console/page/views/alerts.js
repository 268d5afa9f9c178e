// Alerts: what is wrong, who was notified, and what mutes it.

import { acts, call, json, post } from "../api.js";
import { address, useAddress } from "../router.js";
import { number, t, visible } from "../text.js";
import { html, useState } from "../ui/html.js";
import { ageColumn, List, statusColumn } from "../ui/list.js";
import { Act, Age, Chip, Facts, Level, Loaded, Problem, Tabs, toast, useLoad, When } from "../ui/parts.js";
import { Markdown } from "../ui/markdown-view.js";
import { Field } from "./policy.js";

export default function Alerts() {
  const at = useAddress();
  const silences = at.query.get("part") === "silences";
  const names = { alerts: t("view.alerts"), silences: t("alerts.silences") };
  const tabs = html`<${Tabs} view="alerts" names=${names} current=${silences ? "silences" : "alerts"} />`;
  if (silences)
    return html`
      <div class="page-body">
        ${tabs}
        <${Silences} />
      </div>
    `;
  return html`
    <${List}
      name="alerts"
      label=${t("view.alerts")}
      path="/v1/alerts"
      take=${(b) => b.alerts}
      id=${(a) => a.key}
      kinds=${["alerts"]}
      head=${() => tabs}
      filters=${[
        {
          key: "status",
          text: t("col.status"),
          options: ["firing", "acknowledged", "resolved", "expired", "all"],
          all: t("alerts.open"),
        },
        { key: "filter", text: t("alerts.matcher"), hint: 'severity="critical"' },
      ]}
      columns=${[
        statusColumn((a) => a.severity, t("alerts.severity")),
        { text: t("alerts.name"), width: "minmax(10rem, 2fr)", on: "main", cell: (a) => visible(a.title || a.key) },
        { text: t("col.status"), width: "9rem", cell: (a) => html`<${Chip} status=${a.status} />` },
        { text: t("alerts.source"), width: "minmax(6rem, 1fr)", on: "sub", cell: (a) => visible(a.source) },
        { text: t("alerts.times"), width: "4rem", end: true, cell: (a) => number(a.occurrences) },
        {
          text: t("alerts.quiet"),
          width: "minmax(5rem, .6fr)",
          cell: (a) =>
            a.silenced_by?.length ? t("alerts.silenced") : a.inhibited_by?.length ? t("alerts.inhibited") : "",
        },
        ageColumn((a) => a.started),
      ]}
      why=${(a) => address("why", a.key)}
      rowName=${(a) => a.title || a.key}
      empty=${html`<p>${t("alerts.empty")}</p>`}
      detail=${Alert}
    />
  `;
}

function Alert({ id, row, refresh }) {
  const path = "/v1/alerts/" + encodeURIComponent(id);
  const read = useLoad(() => json(path), [id, row?.status, row?.updated]);
  const does = (verb, body) => async () => {
    await post(`${path}/${verb}`, body);
    read.again();
    refresh();
  };
  return html`
    <${Loaded} of=${read}>
      ${(a) => html`
        <header class="detail-head">
          <h2>${visible(a.title || a.key)}</h2>
          <p>
            <${Chip} status=${a.severity} /> <${Chip} status=${a.status} /> <${Level} label=${a.label} />
          </p>
        </header>
        ${["firing", "acknowledged"].includes(a.status) && html`
          <div class="acts">
            ${a.status === "firing" && html`
              <${Act} tone="main" run=${does("ack")} done=${t("alerts.acked")}>
                ${t("alerts.ack")}
              <//>
            `}
            <${Act} run=${does("resolve")} done=${t("alerts.resolved")}>
              ${t("alerts.resolve")}
            <//>
            ${["1h", "8h", "24h"].map((d) => html`
              <${Act} run=${does("silence", { for: d })} done=${t("alerts.nowsilent")}>
                ${t("alerts.silencefor", { d })}
              <//>
            `)}
          </div>
        `}
        ${a.text && html`
          <section class="said">
            <${Markdown} text=${a.text} />
          </section>
        `}
        ${a.links?.length > 0 && html`
          <p>
            ${a.links.map((l) =>
              /^https?:/i.test(l.url) ? html`
                <a href=${l.url} target="_blank" rel="noopener noreferrer">
                  ${visible(l.title || l.url)}
                </a>${" "}
              ` : (
                visible(l.title || l.url)
              ),
            )}
          </p>
        `}
        <${Facts}
          of=${[
            [t("alerts.key"), html`<code>${visible(a.key)}</code>`],
            [t("alerts.source"), visible(a.source)],
            ...Object.entries(a.labels ?? {}).map(([k, v]) => [visible(k), visible(v)]),
            ...Object.entries(a.annotations ?? {}).map(([k, v]) => [visible(k), visible(v)]),
            [t("alerts.times"), number(a.occurrences)],
            [t("runs.started"), html`<${When} at=${a.started} />`],
            [t("alerts.until"), a.ends && html`<${When} at=${a.ends} />`],
            [t("alerts.ended"), a.ended && html`<${When} at=${a.ended} />`],
            [t("inbox.by"), a.by && visible(a.by)],
            [t("alerts.silencedby"), a.silenced_by?.join(", ")],
            [t("alerts.inhibitedby"), a.inhibited_by?.map(visible).join(", ")],
          ]}
        />
        <h3>${t("alerts.told")}</h3>
        ${a.notifications?.length ? html`
          <ol class="lines">
            ${a.notifications.map((n) => html`
              <li>
                <${Chip} status=${n.delivery_status ?? n.status} /> ${visible(n.target)}${" "}
                <span class="soft">
                  ${n.reason && t("alertreason." + n.reason)}
                  ${n.step ? ", " + t("alerts.step", { n: n.step }) : ""} <${Age} at=${n.created} />
                </span>${" "}
                ${n.delivery && html`<a href=${address("deliveries", n.delivery)}>${t("view.deliveries")}</a>`}${" "}
                ${n.why && html`<span class="soft">${visible(n.why)}</span>`}
              </li>
            `)}
          </ol>
        ` : html`
          <p class="soft">${t("alerts.nobody")}</p>
        `}
      `}
    <//>
  `;
}

function Silences() {
  const read = useLoad(() => json("/v1/silences"), []);
  const [form, set] = useState({ matchers: "", for: "2h", comment: "" });
  const [error, fail] = useState(null);
  const field = (k) => ({ value: form[k], onInput: (e) => set({ ...form, [k]: e.target.value }) });
  const add = async (e) => {
    e.preventDefault();
    try {
      await post("/v1/silences", {
        matchers: form.matchers
          .split("\n")
          .map((m) => m.trim())
          .filter(Boolean),
        for: form.for,
        comment: form.comment,
      });
      toast(t("alerts.nowsilent"));
      fail(null);
      set({ ...form, matchers: "", comment: "" });
      read.again();
    } catch (problem) {
      fail(problem);
    }
  };
  return html`
    <section class="card" hidden=${!acts()}>
      <h2>${t("alerts.newsilence")}</h2>
      <form class="form" onSubmit=${add}>
        <${Field} text=${t("alerts.matchers")} hint=${'host=~"db.*"'}>
          <textarea rows="2" class="code" required ...${field("matchers")}></textarea>
        <//>
        <${Field} text=${t("alerts.for")} hint="30m, 2h, 24h">
          <input required ...${field("for")} />
        <//>
        <${Field} text=${t("alerts.comment")}>
          <input ...${field("comment")} />
        <//>
        <button type="submit" class="main">
          ${t("alerts.silence")}
        </button>
      </form>
      ${error && html`<${Problem} error=${error} />`}
    </section>
    <${Loaded} of=${read}>
      ${({ silences }) =>
        silences.length === 0 ? html`
          <p class="empty">${t("alerts.nosilence")}</p>
        ` : html`
          <div class="cards">
            ${silences.map((s) => html`
              <article class="card">
                <header>
                  <h2>
                    <code>${s.matchers.map(visible).join(" ")}</code>
                  </h2>
                  <${Chip} status=${s.state} />
                </header>
                <p>${visible(s.comment ?? "")}</p>
                <${Facts}
                  of=${[
                    [t("alerts.author"), visible(s.author)],
                    [t("runs.started"), html`<${When} at=${s.starts} />`],
                    [t("alerts.until"), html`<${When} at=${s.ends} />`],
                    [t("col.level"), html`<${Level} label=${s.label} />`],
                  ]}
                />
                <div class="acts">
                  <${Act}
                    done=${t("alerts.silenceended")}
                    run=${async () => {
                      await call("/v1/silences/" + encodeURIComponent(s.id), { method: "DELETE" });
                      read.again();
                    }}
                  >
                    ${t("alerts.endsilence")}
                  <//>
                </div>
              </article>
            `)}
          </div>
        `
      }
    <//>
  `;
}
