// Alerts: what is wrong, who was notified, and what mutes it.

import {
  Act, acts, address, Age, call, Chip, Facts, Field, html, json, known, Level, Loaded, number, page, post, Problem, t,
  Tabs, toast, Unfold, useAddress, useLoad, useState, visible, When,
} from "../base.js";
import { Card, Cards } from "../ui/cards.js";
import { ageColumn, List, statusColumn } from "../ui/list.js";
import { Everything } from "../ui/locked.js";
import { Markdown } from "../ui/markdown-view.js";

export default function Alerts() {
  const part = useAddress().query.get("part") ?? "alerts";
  const names = { alerts: t("view.alerts"), groups: t("alerts.groups"), silences: t("alerts.silences") };
  const tabs = html`<${Tabs} view="alerts" names=${names} current=${part} />`;
  if (part === "groups")
    return html`
      <${Everything}
        title=${t("alerts.locked")}
        why=${(values) => t("alerts.nolevel", values)}
        command="sluice alerts groups"
        top=${tabs}
        content=${Groups}
      />
    `;
  if (part === "silences")
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
        { text: t("alerts.name"), width: "minmax(10rem, 1.6fr)", on: "main", cell: (a) => visible(a.title || a.key) },
        { text: t("col.status"), width: "8.5rem", cell: (a) => html`<${Chip} status=${a.status} />` },
        {
          text: t("alerts.source"),
          width: "minmax(6rem, .6fr)",
          on: "sub",
          cell: (a) => html`${visible(a.source)}<${Narrow} of=${a} />`,
        },
        { text: t("alerts.told"), width: "minmax(5rem, .8fr)", cell: (a) => html`<${Told} told=${a.told} />` },
        { text: t("alerts.quiet"), width: "minmax(6rem, 1.2fr)", cell: (a) => html`<${Quiet} of=${a} />` },
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
            ${[1, 8, 24].map((h) => html`
              <${Act} run=${does("silence", { for: h + "h" })} done=${t("alerts.nowsilent")}>
                ${t("alerts.silencefor", { d: t("time.h", { v: h }) })}
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
            ...(a.silences ?? []).map((m) => [
              t("alerts.silencedby"),
              html`${visible(m.author)}, ${t("alerts.untilthen")} <${When} at=${m.ends} /> ${visible(m.comment ?? "")}`,
            ]),
            [t("alerts.inhibitedby"), a.inhibited_by?.map(visible).join(", ")],
          ]}
        />
        <${Notifications} of=${a.notifications} />
      `}
    <//>
  `;
}

// Told is when somebody was notified last, and who was notified.
function Told({ told }) {
  return told?.length > 0 && html`<${Age} at=${told[0].created} /> · ${told.map((n) => visible(n.target)).join(", ")}`;
}

const isQuiet = (a) => a.silences?.length > 0 || a.inhibited_by?.length > 0;

// Narrow has what a phone has no columns for: the status of an alert if it is not firing, and what mutes it.
const Narrow = ({ of: a }) => html`
  <span class="narrow">
    ${a.status !== "firing" && " · " + known("status", a.status)}
    ${isQuiet(a) && html` · ${t("alerts.quiet")}: <${Quiet} of=${a} />`}
  </span>
`;

// Quiet is what mutes an alert: until when, and who did it.
function Quiet({ of }) {
  const last = of.silences?.reduce((a, b) => (a.ends > b.ends ? a : b));
  if (last) return html`${t("alerts.ends")} <${Age} at=${last.ends} />, ${t("alerts.by", { who: visible(last.author) })}`;
  return of.inhibited_by?.length ? t("alerts.inhibited") : "";
}

// Notifications are who was notified and why.
function Notifications({ of }) {
  return html`
    <h3>${t("alerts.told")}</h3>
    ${of?.length ? html`
      <ol class="lines">
        ${of.map((n) => html`
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
  `;
}

// setting is the key of a route in the configuration: 0 is the root, 0/2 its third route.
const setting = (route) => "alerts.route" + route.split("/").slice(1).map((i) => `.routes[${i}]`).join("");

// Groups are the alerts that are reported together: who was notified, and who is notified next.
function Groups({ top }) {
  return html`
    <${List}
      name="alerts"
      label=${t("alerts.groups")}
      path="/v1/alert-groups"
      take=${(b) => b.groups}
      id=${(g) => g.group}
      kinds=${["alerts", "deliveries"]}
      head=${() => top}
      columns=${[
        statusColumn((g) => g.severity, t("alerts.severity")),
        { text: t("alerts.group"), width: "minmax(8rem, 1fr)", on: "main", cell: (g) => nameOf(g) },
        {
          text: t("view.alerts"),
          width: "minmax(8rem, 1.2fr)",
          on: "sub",
          cell: (g) => html`${counts(g)}<span class="narrow">${muted(g) && " · " + muted(g)}</span>`,
        },
        { text: t("alerts.quiet"), width: "minmax(7rem, .9fr)", cell: (g) => muted(g) },
        { text: t("alerts.escalation"), width: "4.5rem", cell: (g) => step(g) },
        { text: t("alerts.told"), width: "minmax(6rem, .8fr)", cell: (g) => html`<${Told} told=${g.told} />` },
        { text: t("alerts.next"), width: "minmax(8rem, 1fr)", cell: (g) => html`<${Next} next=${g.next} at=${Age} />` },
        ageColumn((g) => g.opened),
      ]}
      rowName=${nameOf}
      empty=${html`<p>${t("alerts.nogroups")}</p>`}
      detail=${Group}
    />
  `;
}

const nameOf = (g) =>
  Object.entries(g.labels)
    .map(([k, v]) => `${visible(k)}=${visible(v)}`)
    .join(" ") || visible(g.receiver);

const some = (n, key) => (n > 0 ? [t(key, { n: number(n) })] : []);

const counts = (g) =>
  [
    ...some(g.firing, "alerts.nfiring"),
    ...some(g.acknowledged, "alerts.nacknowledged"),
    ...some(g.ended, "alerts.nended"),
  ].join(", ");

const muted = (g) =>
  [
    ...(g.muted ? [t("alerts.muted")] : []),
    ...some(g.silenced, "alerts.nsilenced"),
    ...some(g.inhibited, "alerts.ninhibited"),
  ].join(", ");

const step = (g) => (g.step && g.steps ? t("alerts.stepof", { n: g.step, of: g.steps }) : "");

// Next is the next message of a group: when, to whom and why.
function Next({ next, at: Moment }) {
  return (
    next && html`<${Moment} at=${next.at} /> · ${next.targets.map(visible).join(", ")} · ${t("alertreason." + next.reason)}`
  );
}

function Group({ id, row }) {
  const path = "/v1/alert-groups/" + encodeURIComponent(id);
  const read = useLoad(() => json(path), [id, row?.firing, row?.acknowledged, row?.told?.[0]?.created]);
  return html`
    <${Loaded} of=${read}>
      ${(g) => html`
        <header class="detail-head">
          <h2>${nameOf(g)}</h2>
          <p>
            ${g.severity && html`<${Chip} status=${g.severity} />`} <${Level} label=${g.label} />
          </p>
        </header>
        <${Facts}
          of=${[
            [t("view.alerts"), counts(g)],
            [t("alerts.quiet"), muted(g)],
            [t("alerts.receiver"), visible(g.receiver)],
            [t("alerts.route"), html`<code>${visible(setting(g.route))}</code>`],
            [t("alerts.escalation"), step(g)],
            [t("alerts.next"), g.next && html`<${Next} next=${g.next} at=${When} />`],
            [t("runs.started"), html`<${When} at=${g.opened} />`],
            [t("alerts.key"), html`<code>${visible(g.group)}</code>`],
          ]}
        />
        <h3>${t("view.alerts")}</h3>
        <ul class="lines">
          ${g.alerts?.map((a) => html`
            <li>
              <${Chip} status=${a.severity} /> <${Chip} status=${a.status} />${" "}
              <a href=${address("alerts", a.key)}>${visible(a.title || a.key)}</a>${" "}
              ${isQuiet(a) && html`
                <span class="soft">${t("alerts.quiet")}: <${Quiet} of=${a} /></span>${" "}
              `}
              <a href=${address("why", a.key)}>${t("view.why")}</a>
            </li>
          `)}
        </ul>
        <${Notifications} of=${g.notifications} />
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
  const end = async (s) => {
    await call("/v1/silences/" + encodeURIComponent(s.id), { method: "DELETE" });
    read.again();
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
    <${Cards} of=${read} take=${(b) => b.silences} id=${(s) => s.id} empty=${t("alerts.nosilence")}>
      ${(s) => html`
        <${Card}
          title=${html`<code>${s.matchers.map(visible).join(" ")}</code>`}
          mark=${html`<${Chip} status=${s.state} />`}
          acts=${html`
            <${Act} done=${t("alerts.silenceended")} run=${() => end(s)}>
              ${t("alerts.endsilence")}
            <//>
          `}
        >
          <p>${visible(s.comment ?? "")}</p>
          <${Facts}
            of=${[
              [t("alerts.author"), visible(s.author)],
              [t("runs.started"), html`<${When} at=${s.starts} />`],
              [t("alerts.until"), html`<${When} at=${s.ends} />`],
              [t("col.level"), html`<${Level} label=${s.label} />`],
            ]}
          />
          <${Unfold} part="matched" text=${t("alerts.matched")}>
            ${() => html`<${Matched} of=${s} />`}
          <//>
        <//>
      `}
    <//>
  `;
}

const matchedMax = 50;

// Matched are the open alerts that a silence matches.
function Matched({ of: s }) {
  const query = new URLSearchParams([["limit", matchedMax], ...s.matchers.map((m) => ["filter", m])]);
  const read = useLoad(() => page("/v1/alerts?" + query), [s.id, s.updated]);
  return html`
    <${Loaded} of=${read}>
      ${({ body: { alerts }, next }) => alerts.length === 0 ? html`
        <p class="soft">${t("alerts.nomatched")}</p>
      ` : html`
        <ul class="lines">
          ${alerts.map((a) => html`
            <li key=${a.key}>
              <${Chip} status=${a.severity} /> <a href=${address("alerts", a.key)}>${visible(a.title || a.key)}</a>
            </li>
          `)}
        </ul>
        ${next && html`<p class="soft">${t("alerts.matchedmore", { n: matchedMax })}</p>`}
      `}
    <//>
  `;
}
