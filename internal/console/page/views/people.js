// People: who is heard, who asks to be, and what decides it.

import { json, post } from "../api.js";
import { onChange } from "../live.js";
import { address } from "../router.js";
import { t, visible } from "../text.js";
import { ask } from "../ui/dialog.js";
import { html, useEffect } from "../ui/html.js";
import { Act, Age, Chip, Loaded, useLoad } from "../ui/parts.js";
import { Person } from "./inbox.js";

export default function People() {
  const read = useLoad(() => json("/v1/pairings"), []);
  useEffect(() => onChange(["pairings"], read.again), []);
  return html`<div class="page-body"><${Loaded} of=${read}>${({ pairings }) => {
    const asking = pairings.filter((p) => p.status === "pending" && p.code);
    const rest = pairings.filter((p) => !asking.includes(p));
    return html`<section><h2>${t("people.asking")}</h2>${asking.length ? asking.map((p) => html`<${Person} key=${p.code} p=${p} again=${read.again} />`) : html`<p class="soft">${t("people.nobody")}</p>`}</section>
      <section><h2>${t("people.heard")}</h2>${rest.length ? html`<div class="scroll" tabindex="0" role="region" aria-label=${t("part.table")}><table><thead><tr><th>${t("col.status")}</th><th>${t("people.person")}</th><th>${t("col.channel")}</th><th>${t("people.since")}</th><th><span class="unseen">${t("part.actions")}</span></th></tr></thead>
        <tbody>${rest.map((p) => html`<tr key=${p.channel + p.account + p.user.id}><td><${Chip} status=${p.status} /></td><td>${visible(p.user.name || p.user.id)} <span class="soft">${p.user.name && visible(p.user.id)}</span></td><td>${p.channel} <span class="soft">${p.account}</span></td><td><${Age} at=${p.created} /></td>
          <td>${p.status === "approved" && html`<${Act} tone="danger" done=${t("people.revoked")} run=${async () => {
            if (!(await ask(t("people.revokeask", { name: visible(p.user.name || p.user.id) }), t("people.revoke"), { danger: true }))) return false;
            await post("/v1/pairings/revoke", { channel: p.channel, account: p.account, user: p.user.id });
            read.again();
          }}>${t("people.revoke")}<//>`}</td></tr>`)}</tbody></table></div>` : html`<p class="soft">${t("people.none")}</p>`}</section>`;
  }}<//><${Refused} /></div>`;
}

// Refused lists whose messages were refused, with the reason. Their texts are not kept.
function Refused() {
  const read = useLoad(() => json("/v1/refused?limit=50"), []);
  return html`<section><h2>${t("people.refused")}</h2><${Loaded} of=${read}>${({ refused }) => (refused.length ? html`<ul class="lines">${refused.map((r) => html`<li key=${r.id}><strong>${visible(r.user.name || r.user.id)}</strong> ${r.channel} ${visible(r.title || r.conversation)} <span class="soft">${visible(r.reason)} · ${t("people.times", { n: r.count })} · <${Age} at=${r.last} /></span> <a href=${address("why", r.id)}>${t("why.button")}</a></li>`)}</ul>` : html`<p class="soft">${t("people.norefused")}</p>`)}<//></section>`;
}
