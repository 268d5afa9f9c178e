// Overview: is all well, and what needs a person. Each number opens its rows.

import {
  address, Age, Chip, count, html, json, Left, Level, Loaded, onChange, Parts, Place, t, useEffect, useLoad, useTick,
  visible,
} from "../base.js";
import { Chart } from "../ui/chart.js";

// where are the lists of the API in this page.
const where = {
  runs: "runs",
  deliveries: "deliveries",
  approvals: "inbox",
  pairings: "people",
  alerts: "alerts",
  cron: "automation",
  status: "agents",
};

// rowsOf is the address of the rows behind a number.
export function rowsOf(list) {
  const url = new URL(list, location.origin);
  const query = Object.fromEntries(url.searchParams);
  const view = where[url.pathname.split("/")[2]] ?? "overview";
  if (view === "people" || view === "alerts" || view === "inbox") return address(view);
  return address(view, "", query);
}

const tones = {
  approvals: "warn",
  pairings: "warn",
  held: "warn",
  unknown: "warn",
  failed: "bad",
  alerts: "bad",
  accounts: "bad",
  jobs: "bad",
};

// Since says how long the gateway has been running.
function Since({ at }) {
  useTick(5000);
  return Date.now() - Date.parse(at) < 60000 ? (
    t("overview.justnow")
  ) : html`
    ${t("overview.up")} <${Age} at=${at} />
  `;
}

export default function Overview() {
  const now = useLoad(() => json("/v1/overview"), []);
  useEffect(() => {
    let timer = 0;
    const stop = onChange(["deliveries", "approvals", "pairings", "alerts", "jobs", "runs"], () => {
      timer ||= setTimeout(() => {
        timer = 0;
        now.again();
      }, 500);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  return html`
    <div class="page-body">
      <${Loaded} of=${now}>
        ${(o) => html`
          <p class="hello">
            <${Chip} status=${o.ready ? "ready" : "failed"} text=${t(o.ready ? "overview.ready" : "overview.notready")} />${" "}
            <span class="soft">
              Sluice ${o.version} · <${Since} at=${o.started} />
            </span>
          </p>
          <section aria-label=${t("overview.needs")}>
            <h2>${t("overview.needs")}</h2>
            ${o.needs.length ? html`
              <div class="needs">
                ${o.needs.map((n) => html`
                  <a class=${"need " + (tones[n.kind] ?? "warn")} href=${rowsOf(n.count.list)} data-need=${n.kind}>
                    <strong>${count(n.count)}</strong>
                    <span>${t("need." + n.kind, { n: n.count.count })}</span>
                    ${n.next && html`
                      <small>
                        ${t("overview.next")} <${Left} until=${n.next} />
                      </small>
                    `}
                  </a>
                `)}
              </div>
            ` : html`
              <p class="calm">${t("overview.calm")}</p>
            `}
          </section>
          <section>
            <h2>${t("overview.day")}</h2>
            <div class="traffic">
              ${["heard", "runs", "failed", "sent", "blocked"].map((k) => html`
                <a href=${rowsOf(o.traffic[k].list)} data-flow=${k}>
                  <strong>${count(o.traffic[k])}</strong>
                  <span>${t("flow." + k)}</span>
                </a>
              `)}
              ${["queued", "running"].map((k) => html`
                <a href=${rowsOf(o.work[k].list)} data-flow=${k}>
                  <strong>${count(o.work[k])}</strong>
                  <span>${t("flow." + k)}</span>
                </a>
              `)}
              ${Object.entries(o.deliveries).map(([k, n]) => html`
                <a href=${rowsOf(n.list)} data-flow=${"delivery-" + k}>
                  <strong>${count(n)}</strong>
                  <span>${t("flow.deliveries", { status: t("status." + k) })}</span>
                </a>
              `)}
            </div>
            ${o.series.points.length > 1 && html`
              <div class="charts">
                <${Chart}
                  title=${t("chart.latency")}
                  unit="ms"
                  points=${o.series.points}
                  lines=${[
                    ["p50_ms", t("chart.p50"), "busy"],
                    ["p95_ms", t("chart.p95"), "warn"],
                  ]}
                />
                <${Chart}
                  title=${t("chart.traffic")}
                  points=${o.series.points}
                  lines=${[
                    ["heard", t("flow.heard"), "busy"],
                    ["sent", t("flow.sent"), "good"],
                    ["failed", t("flow.failed"), "bad"],
                  ]}
                />
                <${Chart}
                  title=${t("chart.tokens")}
                  points=${o.series.points}
                  lines=${[
                    ["input_tokens", t("chart.input"), "busy"],
                    ["output_tokens", t("chart.output"), "rule"],
                  ]}
                />
              </div>
            `}
          </section>
          <section id="accounts">
            <h2>${t("overview.accounts")}</h2>
            <ul class="lines">
              ${o.accounts.map((a) => html`
                <li>
                  <${Chip} status=${a.hears ? a.status : "deaf"} /> <strong>${a.channel}</strong>${" "}
                  ${a.self?.username ? "@" + visible(a.self.username) : visible(a.account)}${" "}
                  <${Level} label=${a.classification} />${" "}
                  ${(a.deafSince || a.detail) && html`
                    <span class="soft" data-part="deaf">
                      ${!a.hears && a.deafSince && html`
                        ${t("overview.since")} <${Age} at=${a.deafSince} />${a.detail && ": "}
                      `}
                      ${a.detail && visible(a.detail)}
                    </span>
                  `}
                </li>
              `)}
            </ul>
            ${o.accounts.every((a) => ["webchat", "node"].includes(a.channel)) && html`
              <p class="soft">
                ${t("overview.onlypage")} <a href=${address("conversations", "main")}>${t("conversations.write")}</a>
              </p>
            `}
          </section>
          <section class="lately">
            <h2>${t("overview.lately")}</h2>
            ${o.lately.length ? html`
              <ul class="lines">
                ${o.lately.map((d) => html`
                  <li key=${d.id}>
                    <${Chip} status=${d.status} /> <a href=${address("why", d.id)}>${visible(d.text || d.id)}</a>${" "}
                    <span class="soft">
                      <${Place} of=${d.route} /> · <${Age} at=${d.at} />
                    </span>
                  </li>
                `)}
              </ul>
            ` : html`
              <p class="soft">${t("overview.allout")}</p>
            `}
          </section>
          <section>
            <h2>${t("agents.parts")}</h2>
            <${Parts} of=${o.parts} />
          </section>
        `}
      <//>
    </div>
  `;
}
