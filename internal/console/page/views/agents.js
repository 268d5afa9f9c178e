// Agents: which there are, what works for them, and whether it is well.

import { json } from "../api.js";
import { address } from "../router.js";
import { t, visible } from "../text.js";
import { html } from "../ui/html.js";
import { Age, Chip, Facts, Level, Loaded, useLoad } from "../ui/parts.js";

export default function Agents() {
  const read = useLoad(() => Promise.all([json("/v1/agents"), json("/v1/status")]), []);
  return html`<div class="page-body"><${Loaded} of=${read}>${([{ agents }, status]) => html`
    <div class="cards">${agents.map((a) => html`<article class="card" key=${a.id}><header><h2>${visible(a.name || a.id)}</h2>${a.default && html`<span class="tag">${t("agents.default")}</span>`}</header>
      <${Facts} of=${[[t("col.id"), html`<code>${a.id}</code>`], [t("col.kind"), t("agentkind." + a.kind)], [t("col.model"), a.model && visible(a.model)], [t("col.level"), a.classification && html`<${Level} label=${a.classification} />`]]} />
      ${a.kind === "nats" && !a.instances?.length && html`<p class="note warn">${t("agents.noinstance")}</p>`}
      ${a.instances?.map((i) => html`<p class="line"><${Chip} status="connected" /> <code>${visible(i.id)}</code> ${visible(i.version)} <span class="soft"><${Age} at=${i.started} />, ${t("agents.turns", { n: i.turns })}</span></p>`)}
      <div class="acts"><a class="button small" href=${address("conversations", "", { agent: a.id })}>${t("view.conversations")}</a></div></article>`)}</div>
    <section><h2>${t("agents.parts")}</h2><${Parts} of=${status.parts} /></section>`}<//></div>`;
}

// Parts lists the parts of the gateway with their health.
export const Parts = ({ of }) => html`<ul class="lines">${of.map((p) => html`<li><${Chip} status=${p.ok ? "ok" : p.optional ? "warning" : "failed"} /> <strong>${visible(p.name)}</strong> ${p.detail && html`<span class="soft">${visible(p.detail)}</span>`}</li>`)}</ul>`;
