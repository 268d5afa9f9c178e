// Agents: which there are, what works for them, and whether it is well.

import { json, post } from "../api.js";
import { address } from "../router.js";
import { t, visible } from "../text.js";
import { html } from "../ui/html.js";
import { toast } from "../ui/toast.js";
import { Act, Age, Chip, Facts, Level, Loaded, useLoad } from "../ui/parts.js";

export default function Agents() {
  const read = useLoad(() => Promise.all([json("/v1/agents"), json("/v1/status")]), []);
  return html`<div class="page-body"><${Loaded} of=${read}>${([{ agents }, status]) => html`
    <div class="cards">${agents.map((a) => html`<article class="card" key=${a.id}><header><h2>${visible(a.name || a.id)}</h2>${a.default && html`<span class="tag">${t("agents.default")}</span>`}</header>
      <${Facts} of=${[[t("col.id"), html`<code>${a.id}</code>`], [t("col.kind"), t("agentkind." + a.kind)], [t("col.model"), a.model && visible(a.model)], [t("col.level"), a.classification && html`<${Level} label=${a.classification} />`]]} />
      ${a.kind === "nats" && !a.instances?.length && html`<p class="note warn">${t("agents.noinstance")}</p>`}
      ${a.instances?.map((i) => html`<p class="line"><${Chip} status="connected" /> <code>${visible(i.id)}</code> ${visible(i.version)} <span class="soft"><${Age} at=${i.started} />, ${t("agents.turns", { n: i.turns })}</span></p>`)}
      <div class="acts"><a class="button small" href=${address("conversations", "", { agent: a.id })}>${t("view.conversations")}</a></div></article>`)}</div>
    <${Providers} />
    <section><h2>${t("agents.parts")}</h2><${Parts} of=${status.parts} /></section>`}<//></div>`;
}

// Providers lists who the models come from, with what does not work and until when.
function Providers() {
  const read = useLoad(() => json("/v1/providers"), []);
  const path = (p) => "/v1/providers/" + encodeURIComponent(p.name);
  return html`<section><h2>${t("models.providers")}</h2><${Loaded} of=${read}>${({ providers }) => (providers.length === 0 ? html`<p class="soft">${t("models.none")}</p>` : html`<div class="cards">${providers.map((p) => {
    const problems = p.keys.flatMap((k) => [...(k.problem ? [{ ...k.problem, key: k.name }] : []), ...(k.models ?? []).map((m) => ({ ...m, key: k.name }))]);
    return html`<article class="card" key=${p.name}><header><h2>${visible(p.name)}</h2><${Chip} status=${problems.length ? "failed" : "ok"} /></header>
      ${problems.map((one) => html`<p class="note bad">${visible(one.key)} ${one.model && visible(one.model)}: ${visible(one.text || one.kind)} <span class="soft">${t("models.since")} <${Age} at=${one.since} />${one.until && html` · ${t("models.again")} <${Age} at=${one.until} />`}</span></p>`)}
      <${Facts} of=${[[t("col.kind"), p.kind], [t("models.host"), visible(p.host)], [t("col.level"), html`<${Level} label=${p.classification} />`], [t("models.region"), p.region && visible(p.region)], [t("models.models"), p.models.map((m) => visible(m.name)).join(", ")], [t("models.keys"), p.keys.map((k) => visible(k.name)).join(", ")]]} />
      <div class="acts"><${Act} run=${async () => {
        const answer = await post(path(p) + "/check");
        const bad = (answer.results ?? answer.checks ?? []).filter((one) => !one.ok);
        toast(bad.length ? visible(bad[0].error) : t("models.answers"), bad.length ? "bad" : "good");
        read.again();
      }}>${t("models.check")}<//>${problems.length > 0 && html`<${Act} done=${t("models.cleared")} run=${async () => { await post(path(p) + "/clear"); read.again(); }}>${t("models.clear")}<//>`}</div></article>`;
  })}</div>`)}<//></section>`;
}

// Parts lists the parts of the gateway with their health.
export const Parts = ({ of }) => html`<ul class="lines">${of.map((p) => html`<li><${Chip} status=${p.ok ? "ok" : p.optional ? "warning" : "failed"} /> <strong>${visible(p.name)}</strong> ${p.detail && html`<span class="soft">${visible(p.detail)}</span>`}</li>`)}</ul>`;
