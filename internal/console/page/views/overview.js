// Overview: is all well, and what needs a person. Each number opens its rows.

import { json, Refused } from "../api.js";
import { onChange } from "../live.js";
import { address } from "../router.js";
import { count, t, visible } from "../text.js";
import { html, useEffect } from "../ui/html.js";
import { Age, Chip, Level, Loaded, Place, useLoad } from "../ui/parts.js";
import { Parts } from "./agents.js";
import { oneLine } from "./deliveries.js";

const quiet = (promise, otherwise) => promise.catch((e) => (e instanceof Refused ? otherwise : Promise.reject(e)));

async function read() {
  const [status, deliveries, approvals, pairings, alerts, jobs] = await Promise.all([
    json("/v1/status"), json("/v1/deliveries?limit=8"), quiet(json("/v1/approvals?status=pending&limit=200"), { approvals: [] }),
    quiet(json("/v1/pairings"), { pairings: [] }), quiet(json("/v1/alerts?limit=200"), { alerts: [] }), quiet(json("/v1/cron"), { jobs: [] }),
  ]);
  return { status, deliveries: deliveries.deliveries, counts: deliveries.counts, approvals: approvals.approvals, asking: pairings.pairings.filter((p) => p.status === "pending"), alerts: alerts.alerts, jobs: jobs.jobs };
}

export default function Overview() {
  const now = useLoad(read, []);
  useEffect(() => onChange(["deliveries", "approvals", "pairings", "alerts", "jobs", "runs"], now.again), []);
  return html`<div class="page-body"><${Loaded} of=${now}>${(o) => {
    const deaf = o.status.accounts.filter((a) => !["connected", "standby"].includes(a.status));
    const needs = [
      ["approvals", o.approvals.length, address("inbox"), "warn"], ["pairings", o.asking.length, address("inbox"), "warn"], ["held", o.counts.held ?? 0, address("deliveries", "", { status: "held" }), "warn"],
      ["unknown", o.counts.unknown ?? 0, address("deliveries", "", { status: "unknown" }), "warn"], ["failed", (o.counts.failed ?? 0), address("deliveries", "", { status: "failed" }), "bad"], ["expired", (o.counts.expired ?? 0), address("deliveries", "", { status: "expired" }), "bad"],
      ["blocked", o.counts.blocked ?? 0, address("deliveries", "", { status: "blocked" }), "rule"], ["alerts", o.alerts.length, address("alerts"), "bad"], ["faulty", o.jobs.filter((j) => j.state === "faulty").length, address("automation"), "warn"], ["deaf", deaf.length, "#accounts", "bad"],
    ].filter(([, n]) => n > 0);
    return html`<section class="hello"><p><${Chip} status=${o.status.ready ? "ready" : "failed"} text=${t(o.status.ready ? "overview.ready" : "overview.notready")} /> <span class="soft">Sluice ${o.status.version} · ${t("overview.up")} <${Age} at=${o.status.started} /></span></p></section>
      <section aria-label=${t("overview.needs")}><h2>${t("overview.needs")}</h2>${needs.length ? html`<div class="needs">${needs.map(([k, n, to, tone]) => html`<a class=${"need " + tone} href=${to} data-need=${k}><strong>${count(n)}</strong><span>${t("need." + k, { n })}</span></a>`)}</div>` : html`<p class="calm">${t("overview.calm")}</p>`}</section>
      <section id="accounts"><h2>${t("overview.accounts")}</h2><ul class="lines">${o.status.accounts.map((a) => html`<li><${Chip} status=${a.status} /> <strong>${a.channel}</strong> ${a.self?.username ? "@" + visible(a.self.username) : visible(a.account)} <${Level} label=${a.classification} /> ${a.detail && html`<span class="soft">${visible(a.detail)}</span>`}</li>`)}</ul>
        ${o.status.accounts.every((a) => a.channel === "webchat") && html`<p class="soft">${t("overview.onlypage")} <a href=${address("conversations", "main")}>${t("conversations.write")}</a></p>`}</section>
      <section class="lately"><h2>${t("overview.lately")}</h2>${o.deliveries.length ? html`<ul class="lines">${o.deliveries.map((d) => html`<li key=${d.id}><${Chip} status=${d.status} /> <a href=${address("deliveries", d.id)}>${oneLine(d.text).slice(0, 100) || d.id}</a> <span class="soft"><${Place} of=${d.route} /> · <${Age} at=${d.created} /></span></li>`)}</ul>` : html`<p class="soft">${t("deliveries.empty")}</p>`}</section>
      <section><h2>${t("agents.parts")}</h2><${Parts} of=${o.status.parts} /></section>`;
  }}<//></div>`;
}
