// Policy: what may leave and what a tool may do, tried without any effect.

import { call, json, owns, query } from "../api.js";
import { address } from "../router.js";
import { t, visible } from "../text.js";
import { Decision, Rules } from "../ui/decision.js";
import { ask } from "../ui/dialog.js";
import { html, useState } from "../ui/html.js";
import { Act, Age, levels, Loaded, Problem, useLoad, Value } from "../ui/parts.js";

export default function Policy() {
  return html`<div class="page-body"><${Allowed} /><div class="two"><${TryMessage} /><${TryTool} /></div></div>`;
}

const useForm = (start) => {
  const [form, set] = useState(start);
  return [form, (name) => ({ value: form[name], onInput: (e) => set({ ...form, [name]: e.target.value }), onChange: (e) => set({ ...form, [name]: e.target.value }) })];
};

function useTry(run) {
  const [state, set] = useState({});
  return [state, async (e) => {
    e.preventDefault();
    set({ busy: true });
    try {
      set({ result: await run() });
    } catch (error) {
      set({ error });
    }
  }];
}

export const Field = ({ text, hint, children }) => html`<label class="field"><span>${text}</span>${children}${hint && html`<small>${hint}</small>`}</label>`;

function TryMessage() {
  const status = useLoad(() => json("/v1/status"), []);
  const [form, field] = useForm({ channel: "webchat", chatType: "direct", to: "", session: "", label: "", text: "" });
  const [state, run] = useTry(() => json("/v1/policy/check" + query(form)));
  return html`<section class="card"><h2>${t("policy.trymessage")}</h2><p class="soft">${t("policy.noeffect")}</p>
    <${Loaded} of=${status}>${(s) => html`<form class="form" onSubmit=${run}>
      <${Field} text=${t("col.channel")}><select ...${field("channel")}>${[...new Set(["webchat", ...s.accounts.map((a) => a.channel)])].map((c) => html`<option value=${c} selected=${c === form.channel}>${c}</option>`)}</select><//>
      <${Field} text=${t("policy.chattype")}><select ...${field("chatType")}>${["direct", "group", "channel"].map((c) => html`<option value=${c} selected=${c === form.chatType}>${t("chattype." + c)}</option>`)}</select><//>
      <${Field} text=${t("policy.to")} hint=${t("policy.tohint")}><input ...${field("to")} /><//>
      <${Field} text=${t("col.session")} hint=${t("policy.sessionhint")}><input ...${field("session")} /><//>
      <${Field} text=${t("col.level")}><select ...${field("label")}><option value="">${t("policy.learned")}</option>${levels.map((l) => html`<option value=${l} selected=${l === form.label}>${t("level." + l)}</option>`)}</select><//>
      <${Field} text=${t("col.text")} hint=${t("policy.texthint")}><textarea rows="2" ...${field("text")}></textarea><//>
      <button type="submit" class="main" disabled=${state.busy}>${t("policy.try")}</button></form>`}<//>
    <div role="status" class="result">${state.error && html`<${Problem} error=${state.error} />`}${state.result && html`<${Decision} of=${state.result} />`}</div></section>`;
}

function TryTool() {
  const [form, field] = useForm({ tool: "memory_save", args: '{"key": "plan", "content": "…"}', session: "" });
  const [state, run] = useTry(() => {
    let args;
    try {
      args = JSON.parse(form.args || "{}");
    } catch (e) {
      throw Object.assign(new Error(t("policy.badjson", { what: e.message })), { status: 400 });
    }
    return json("/v1/policy/simulate", { method: "POST", body: { tool_name: form.tool, args, ...(form.session ? { session: form.session } : {}) } });
  });
  const r = state.result;
  return html`<section class="card"><h2>${t("policy.trytool")}</h2><p class="soft">${t("policy.noeffect")}</p>
    <form class="form" onSubmit=${run}>
      <${Field} text=${t("policy.tool")}><input ...${field("tool")} required /><//>
      <${Field} text=${t("inbox.args")} hint="JSON"><textarea rows="3" class="code" ...${field("args")}></textarea><//>
      <${Field} text=${t("col.session")} hint=${t("policy.mainhint")}><input ...${field("session")} /><//>
      <button type="submit" class="main" disabled=${state.busy}>${t("policy.try")}</button></form>
    <div role="status" class="result">${state.error && html`<${Problem} error=${state.error} />`}
      ${r && html`${r.reason && html`<p>${visible(r.reason)}</p>`}<${Rules} of=${r.rules ?? r.decision?.rules} /><details><summary>${t("policy.all")}</summary><${Value} of=${r} /></details>`}</div></section>`;
}

// Allowed lists the rules that always allow tool calls.
function Allowed() {
  const read = useLoad(() => json("/v1/policy/allow-rules"), []);
  return html`<section id="allowed"><h2>${t("always.list")}</h2><${Loaded} of=${read}>${({ rules }) => (rules.length ? html`<ul class="lines">${rules.map((r) => html`<li key=${r.id} class="allowed"><div><pre class="code" tabindex="0" role="region" aria-label=${t("always.rule")}>${visible(r.yaml)}</pre>
    <p class="soft">${t("always.by", { name: visible(r.by) })} · <${Age} at=${r.created} /> · <a href=${address("inbox", r.approval)}>${t("inbox.what")}</a></p></div>
    <${Act} allowed=${owns()} tone="danger" done=${t("always.ended")} run=${async () => {
      if (!(await ask(t("always.endask", { tool: visible(r.tool) }), t("always.end"), { danger: true }))) return false;
      await call("/v1/policy/allow-rules/" + encodeURIComponent(r.id), { method: "DELETE" });
      read.again();
    }}>${t("always.end")}<//></li>`)}</ul>` : html`<p class="soft">${t("always.none")}</p>`)}<//></section>`;
}
