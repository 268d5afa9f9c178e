// Settings of a conversation: what it may do and how it answers, and starting it over.

import {
  acts, address, ask, Dialog, Facts, go, html, Icon, json, known, Level, Options, owns, post, Problem, t, toast,
  useState, visible,
} from "../base.js";

const choices = {
  send_policy: ["allow", "deny"],
  group_activation: ["mention", "always"],
  queue_mode: ["steer", "followup", "collect", "interrupt"],
  thinking_level: ["off", "low", "medium", "high"],
  verbose_level: ["off", "on", "full"],
};

export function Settings({ session, changed }) {
  const [open, show] = useState(false);
  return html`
    <button
      type="button"
      class="quiet iconic"
      aria-label=${t("settings.title")}
      title=${t("settings.title")}
      onClick=${() => show(true)}
    >
      <${Icon} name="settings" />
    </button>
    ${open && html`<${Form} s=${session} changed=${changed} close=${() => show(false)} />`}
  `;
}

function Form({ s, changed, close }) {
  const [form, set] = useState({
    title: s.title ?? "",
    model: "",
    ...Object.fromEntries(Object.keys(choices).map((k) => [k, s[k] ?? ""])),
  });
  const [error, fail] = useState(null);
  const path = "/v1/sessions/" + encodeURIComponent(s.id);
  const save = async (e) => {
    e.preventDefault();
    const patch = {};
    for (const k of Object.keys(choices)) if (form[k] !== (s[k] ?? "")) patch[k] = form[k] || null;
    if (form.title !== (s.title ?? "")) patch.title = form.title || null;
    if (form.model) patch.model = form.model === "default" ? null : form.model;
    try {
      if (Object.keys(patch).length) await json(path, { method: "PATCH", body: patch });
      toast(t("settings.saved"));
      changed();
      close();
    } catch (problem) {
      fail(problem);
    }
  };
  const reset = async () => {
    if (!(await ask(t("settings.resetask"), t("settings.reset"), { detail: t("settings.resetdetail"), danger: true })))
      return;
    try {
      const fresh = await post(path + "/reset");
      close();
      go(address("conversations", fresh.id));
    } catch (problem) {
      fail(problem);
    }
  };
  return html`
    <${Dialog} name="settings" title=${t("settings.title")} close=${close}>
      <form class="form" onSubmit=${save}>
        <label class="field">
          <span>${t("settings.name")}</span>
          <input value=${form.title} onInput=${(e) => set({ ...form, title: e.target.value })} />
        </label>
        <label class="field">
          <span>${t("col.model")}</span>
          <input value=${form.model} placeholder=${s.model} onInput=${(e) => set({ ...form, model: e.target.value })} />
          <small>${t("settings.modelhint")}</small>
        </label>
        ${Object.entries(choices)
          .filter(([k]) => owns() || !["send_policy", "group_activation"].includes(k))
          .map(([k, values]) => html`
            <label class="field">
              <span>${t("settings." + k)}</span>
              <select value=${form[k]} onChange=${(e) => set({ ...form, [k]: e.target.value })}>
                <option value="">${t("settings.inherit")}</option>
                <${Options} of=${values} chosen=${form[k]} name=${(v) => known("setting", v)} />
              </select>
            </label>
          `)}
        ${error && html`<${Problem} error=${error} />`}
        <div class="acts" hidden=${!acts()}>
          <button type="submit" class="main">
            ${t("settings.save")}
          </button>
          <button type="button" class="danger" onClick=${reset}>
            ${t("settings.reset")}
          </button>
        </div>
      </form>
      <${Facts}
        of=${[
          [t("col.id"), html`<code>${s.id}</code>`],
          [t("settings.key"), html`<code class="wrap">${visible(s.key)}</code>`],
          [t("settings.learned"), html`<${Level} label=${s.taint} />`],
          [t("settings.clearance"), html`<${Level} label=${s.clearance} />`],
          [t("settings.carries"), s.carries && html`<${Level} label=${s.carries} />`],
        ]}
      />
    <//>
  `;
}
