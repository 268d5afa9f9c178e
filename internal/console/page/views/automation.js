// Automation: jobs with what they did and will do, hooks with their requests, nodes and checks.

import {
  Act, address, Age, ask, call, Chip, date, day, Facts, html, json, Level, Loaded, minute, Moment, number, onChange,
  page, post, t, Tabs, Text, useAddress, useEffect, useLoad, useState, Value, visible, When,
} from "../base.js";
import { Card, Cards } from "../ui/cards.js";
import { ageColumn, List, statusColumn } from "../ui/list.js";
import { oneLine } from "./deliveries.js";
import { tokens } from "./runs.js";

const parts = ["jobs", "calendar", "hooks", "nodes", "checks"];
const others = { calendar: Calendar, hooks: Hooks, nodes: Nodes, checks: Checks };

export default function Automation() {
  const at = useAddress();
  const part = parts.includes(at.query.get("part")) ? at.query.get("part") : "jobs";
  const names = Object.fromEntries(parts.map((p) => [p, t("automation." + p)]));
  const tabs = html`<${Tabs} view="automation" names=${names} current=${part} />`;
  const hook = at.query.get("hook");
  if (part === "hooks" && hook) return html`<${Requests} key=${hook} hook=${hook} top=${tabs} />`;
  if (part !== "jobs")
    return html`
      <div class="page-body">
        ${tabs}
        <${others[part]} />
      </div>
    `;
  return html`
    <${List}
      name="automation"
      label=${t("automation.jobs")}
      path="/v1/cron"
      take=${(b) => b.jobs}
      id=${(j) => j.id}
      fixed=${{ last: true }}
      kinds=${["jobs"]}
      filters=${[
        { key: "state", text: t("automation.state"), options: ["active", "paused", "faulty", "ended"] },
        { key: "failed", text: t("automation.last"), options: ["true"], names: { true: t("status.failed") } },
      ]}
      head=${() => tabs}
      columns=${[
        statusColumn((j) => j.state),
        { text: t("automation.job"), width: "minmax(7rem, 1fr)", on: "main", cell: (j) => visible(j.id) },
        {
          text: t("automation.when"),
          width: "minmax(7rem, 1fr)",
          on: "sub",
          cell: (j) => html`<code>${visible(j.when)}</code>`,
        },
        { text: t("automation.does"), width: "minmax(6rem, 1.6fr)", cell: (j) => oneLine(j.prompt ?? j.text ?? "") },
        { text: t("col.to"), width: "minmax(5rem, .8fr)", cell: (j) => j.to.map(visible).join(", ") },
        { text: t("automation.maker"), width: "minmax(5rem, .5fr)", wide: true, cell: (j) => visible(j.maker ?? "") },
        { text: t("automation.last"), width: "9.5rem", cell: (j) => j.last && html`<${Chip} status=${j.last.status} /> <${Age} at=${j.last.instant} />` },
        { text: t("automation.next"), width: "5.5rem", on: "age", end: true, cell: (j) => html`<${Age} at=${j.next} />` },
      ]}
      why=${(j) => address("why", "cron/" + j.id)}
      rowName=${(j) => j.id}
      empty=${html`<p>${t("automation.empty")}</p>`}
      detail=${Job}
    />
  `;
}

const timesShown = 30; // of a job, until older ones are asked for
const timesMax = 200;

function Job({ id, refresh }) {
  const path = "/v1/cron/" + encodeURIComponent(id);
  const [times, show] = useState(timesShown);
  const read = useLoad(() => Promise.all([json(path), page(path + "/history?limit=" + times)]), [id, times]);
  useEffect(() => onChange(["jobs", "runs"], read.again), []);
  const does = (verb) => async () => {
    await post(`${path}/${verb}`);
    read.again();
    refresh();
  };
  return html`
    <${Loaded} of=${read}>
      ${([j, { body: { instants }, next }]) => html`
        <header class="detail-head">
          <h2>${visible(j.id)}</h2>
          <p>
            <${Chip} status=${j.state} /> <${Level} label=${j.label} />
          </p>
        </header>
        ${j.fault && html`<p class="note bad">${visible(j.fault)}</p>`}
        <div class="acts">
          <${Act} tone="main" run=${does("run")} done=${t("automation.ran")}>
            ${t("automation.run")}
          <//>
          ${j.state === "paused" ? html`
            <${Act} run=${does("resume")} done=${t("automation.resumed")}>
              ${t("automation.resume")}
            <//>
          ` : html`
            <${Act} icon="pause" run=${does("pause")} done=${t("automation.paused")}>
              ${t("automation.pause")}
            <//>
          `}
          ${j.origin === "made" && html`
            <${Act}
              tone="danger"
              done=${t("automation.removed")}
              run=${async () => {
                if (
                  !(await ask(t("automation.removeask", { name: visible(j.id) }), t("automation.remove"), {
                    danger: true,
                  }))
                )
                  return false;
                await call(path, { method: "DELETE" });
                refresh();
              }}
            >
              ${t("automation.remove")}
            <//>
          `}
        </div>
        ${(j.prompt || j.text) && html`<${Text} text=${j.prompt ?? j.text} label=${t("automation.does")} />`}
        <${Facts}
          of=${[
            [t("automation.when"), html`<code>${visible(j.when)}</code>`],
            [t("automation.next"), j.next && html`<${When} at=${j.next} />`],
            [t("col.to"), j.to.map(visible).join(", ")],
            [t("automation.fallback"), j.fallback?.map(visible).join(", ")],
            [t("automation.checks"), j.checks?.map(visible).join(", ")],
            [t("automation.origin"), j.place ? visible(j.place) : t("automation.made")],
            [t("automation.maker"), j.maker && visible(j.maker)],
          ]}
        />
        <h3>${t("automation.history")}</h3>
        ${instants.length ? html`
          <ol class="lines">
            ${instants.map((i) => html`
              <li key=${i.key}>
                <${Chip} status=${i.status} />${" "}
                <${Moment} at=${i.instant}>
                  ${date(i.instant)}, ${minute(i.instant)}
                <//>
                ${i.missed > 1 && html`
                  ${" "}
                  <span class="soft">${t("automation.missed", { n: i.missed })}</span>
                `}${" "}
                ${i.run && html`<a href=${address("runs", i.run)}>${t("col.run")}</a>`}${" "}
                ${i.deliveries?.map((d) => html`
                  ${" "}
                  <${Sent} of=${d} />
                `)}
                <span class="soft">
                  ${tokens({ inputTokens: i.input_tokens, outputTokens: i.output_tokens })} ${i.why && visible(i.why)}
                </span>${" "}
                <a href=${address("why", i.key)}>${t("why.button")}</a>
              </li>
            `)}
          </ol>
          ${next && (times < timesMax ? html`
            <div class="acts">
              <button type="button" class="small" data-part="older" onClick=${() => show(timesMax)}>
                ${t("automation.older")}
              </button>
            </div>
          ` : html`
            <p class="soft">${t("automation.timesmax", { n: timesMax })}</p>
          `)}
        ` : html`
          <p class="soft">${t("automation.never")}</p>
        `}
      `}
    <//>
  `;
}

// Sent is where a reply was sent, and how that ended.
const Sent = ({ of: d }) => html`
  ${d.delivery ? html`
    <a href=${address("deliveries", d.delivery)}>${visible(d.target)}</a>
  ` : (
    visible(d.target)
  )}${" "}
  <${Chip} status=${d.state} />
  ${d.error && html`
    ${" "}
    <span class="soft">${visible(d.error)}</span>
  `}
`;

const jobsMax = 200; // in the calendar
const upcomingMax = 50; // times of a job, of the API
const shownMax = 8; // times of a job on a day

// Calendar shows on which days the jobs will run, and when.
function Calendar() {
  const read = useLoad(() => json("/v1/cron?upcoming=true&limit=" + jobsMax), []);
  useEffect(() => onChange(["jobs"], read.again), []);
  return html`
    <${Loaded} of=${read}>
      ${({ jobs }) => {
        const days = new Map(); // day → job → times
        const times = jobs.flatMap((j) => (j.upcoming ?? []).map((at) => ({ at, job: j })));
        for (const { at, job } of times.sort((a, b) => Date.parse(a.at) - Date.parse(b.at))) {
          const name = day(at);
          if (!days.has(name)) days.set(name, new Map());
          days.get(name).set(job, [...(days.get(name).get(job) ?? []), at]);
        }
        const cut = jobs.length === jobsMax || jobs.some((j) => j.upcoming?.length === upcomingMax);
        return days.size === 0 ? html`
          <p class="empty">${t("automation.notimes")}</p>
        ` : html`
          <div class="cards" data-part="calendar">
            ${[...days].map(([name, of]) => html`
              <article class="card" key=${name}>
                <h2>${name}</h2>
                <ul class="lines">
                  ${[...of].map(([job, all]) => html`
                    <li key=${job.id}>
                      ${all.slice(0, shownMax).map((at) => html`
                        <${Moment} at=${at}>
                          ${minute(at)}
                        <//>${" "}
                      `)}
                      ${all.length > shownMax && html`
                        <span class="soft">${t("automation.moretimes", { n: all.length - shownMax })}</span>${" "}
                      `}
                      <a href=${address("automation", job.id)}>${visible(job.id)}</a>${" "}
                      <span class="soft">${oneLine(job.prompt ?? job.text ?? "").slice(0, 80)}</span>
                    </li>
                  `)}
                </ul>
              </article>
            `)}
          </div>
          ${cut && html`<p class="soft">${t("automation.cut", { jobs: jobsMax, times: upcomingMax })}</p>`}
        `;
      }}
    <//>
  `;
}

function Hooks() {
  const read = useLoad(() => json("/v1/hooks"), []);
  return html`
    <${Cards} of=${read} take=${(b) => b.hooks} id=${(h) => h.name} empty=${t("hooks.empty")}>
      ${(h) => html`
        <${Card}
          title=${visible(h.name)}
          mark=${html`<${Level} label=${h.classification} />`}
          acts=${html`
            <a class="button small" href=${address("automation", "", { part: "hooks", hook: h.name })}>
              ${t("hooks.requests")}
            </a>
          `}
        >
          <${Facts}
            of=${[
              [t("hooks.path"), html`<code>${visible(h.path)}</code>`],
              [t("hooks.preset"), h.preset],
              [t("hooks.signature"), visible(h.signature)],
              [t("inbox.asker"), visible(h.agent)],
              [t("col.to"), h.deliver?.map(visible).join(", ")],
            ]}
          />
        <//>
      `}
    <//>
  `;
}

const requestsOf = (hook) => `/v1/hooks/${encodeURIComponent(hook)}/requests`;

// Requests are the requests to a hook, and what happened to them.
function Requests({ hook, top }) {
  return html`
    <${List}
      name="automation"
      label=${t("hooks.requestsof", { name: visible(hook) })}
      path=${requestsOf(hook)}
      take=${(b) => b.requests}
      id=${(r) => r.id}
      kinds=${["runs", "alerts"]}
      head=${() => html`
        ${top}
        <div class="strip">
          <h2>${t("hooks.requestsof", { name: visible(hook) })}</h2>
        </div>
      `}
      columns=${[
        statusColumn((r) => r.status ?? "unknown"),
        { text: t("col.id"), width: "minmax(12rem, 1fr)", on: "main", cell: (r) => html`<code>${visible(r.id)}</code>` },
        {
          text: t("inbox.reason"),
          width: "minmax(8rem, 2fr)",
          on: "sub",
          cell: (r) => visible(r.why || (r.alerts ?? []).join(", ")),
        },
        ageColumn((r) => r.received),
      ]}
      why=${(r) => address("why", r.key)}
      rowName=${(r) => r.id}
      empty=${html`<p>${t("hooks.none")}</p>`}
      detail=${Request}
    />
  `;
}

function Request({ id, row, refresh }) {
  const hook = useAddress().query.get("hook");
  const path = requestsOf(hook) + "/" + encodeURIComponent(id);
  const read = useLoad(() => json(path), [path, row?.status]);
  return html`
    <${Loaded} of=${read}>
      ${(r) => html`
        <header class="detail-head">
          <h2>
            <code>${visible(r.id)}</code>
          </h2>
          <p>
            <${Chip} status=${r.status ?? "unknown"} /> <${Level} label=${r.label} />
          </p>
        </header>
        ${r.why && html`<p class="note">${visible(r.why)}</p>`}
        <div class="acts">
          <${Act}
            done=${t("hooks.replayed")}
            run=${async () => {
              await post(path + "/replay");
              refresh();
            }}
            icon="retry"
          >
            ${t("hooks.replay")}
          <//>
        </div>
        <${Facts}
          of=${[
            [t("col.time"), html`<${When} at=${r.received} />`],
            [t("col.session"), r.session && html`<a href=${address("conversations", r.session)}>${r.session}</a>`],
            [t("col.run"), r.run && html`<a href=${address("runs", r.run)}>${r.run}</a>`],
            [t("hooks.alerts"), r.alerts?.map(visible).join(", ")],
            ...(r.sends ?? []).map((d) => [t("col.to"), html`<${Sent} of=${d} />`]),
            [
              t("hooks.replayof"),
              r.replay_of && html`
                <a href=${address("automation", r.replay_of, { part: "hooks", hook })}>${visible(r.replay_of)}</a>
              `,
            ],
            ...Object.entries({ ...r.headers, ...r.query }).map(([k, v]) => [visible(k), visible(v)]),
          ]}
        />
        <${Text} code text=${r.payload ?? ""} label=${t("hooks.payload")} />
      `}
    <//>
  `;
}

function Nodes() {
  const read = useLoad(() => json("/v1/nodes"), []);
  const approve = async (n) => {
    await post("/v1/nodes/approve", { code: n.code });
    read.again();
  };
  const revoke = async (n) => {
    if (!(await ask(t("nodes.revokeask", { name: visible(n.name) }), t("nodes.revoke"), { danger: true }))) return false;
    await call("/v1/nodes/" + encodeURIComponent(n.id), { method: "DELETE" });
    read.again();
  };
  return html`
    <${Cards} of=${read} take=${(b) => b.nodes} id=${(n) => n.id} empty=${t("nodes.empty")}>
      ${(n) => html`
        <${Card}
          title=${visible(n.name)}
          mark=${html`<${Chip} status=${n.status === "pending" ? "pending" : n.connected ? "connected" : "disconnected"} />`}
          acts=${html`
            ${n.status === "pending" && n.code && html`
              <${Act} tone="main" done=${t("nodes.approved")} run=${() => approve(n)}>
                ${t("nodes.approve")}
              <//>
            `}
            <${Act} tone="danger" done=${t("nodes.revoked")} run=${() => revoke(n)}>
              ${t("nodes.revoke")}
            <//>
          `}
        >
          <${Facts}
            of=${[
              [t("nodes.platform"), visible(n.platform)],
              [t("col.level"), n.classification && html`<${Level} label=${n.classification} />`],
              [t("nodes.code"), n.code && html`<code>${n.code}</code>`],
              [t("col.session"), n.session && html`<code>${visible(n.session)}</code>`],
              [t("col.created"), html`<${When} at=${n.created} />`],
            ]}
          />
        <//>
      `}
    <//>
  `;
}

function Checks() {
  const read = useLoad(() => json("/v1/checks"), []);
  const run = async (c) => {
    await post(`/v1/checks/${encodeURIComponent(c.name)}/run`);
    read.again();
  };
  return html`
    <${Cards} of=${read} take=${(b) => b.checks} id=${(c) => c.name} empty=${t("checks.empty")}>
      ${(c) => html`
        <${Card}
          title=${visible(c.name)}
          mark=${html`<${Chip} status=${c.error ? "failed" : "ok"} />`}
          acts=${html`
            <${Act} done=${t("checks.ran")} run=${() => run(c)} icon="retry">
              ${t("checks.run")}
            <//>
          `}
        >
          ${c.error && html`<p class="note bad">${visible(c.error)}</p>`}
          <${Facts}
            of=${[
              [t("checks.source"), visible(c.source)],
              [t("checks.every"), c.every],
              [t("checks.holds"), c.holds ? t("part.yes") : t("part.no")],
              [t("checks.changed"), c.changed && html`<${When} at=${c.changed} />`],
              [t("checks.looked"), c.looked && html`<${When} at=${c.looked} />`],
              [t("checks.fails"), c.fails && number(c.fails)],
            ]}
          />
          ${c.value && html`<${Value} of=${c.value} />`}
        <//>
      `}
    <//>
  `;
}
