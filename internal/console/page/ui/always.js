// Always allow: a rule for the calls that are like one that waits. The rule is shown as YAML before it is saved.

import { Dialog, html, json, Problem, t, toast, useEffect, useState, visible } from "../base.js";

const pause = 250; // milliseconds after the last key, before the rule is shown again
const any = "*";

// Always is the dialog about one question. It decides only about this one, and nothing when it is closed.
export function Always({ p, close, after }) {
  const [exact, setExact] = useState(null); // the pattern that matches only this call
  const [chosen, choose] = useState({}); // by the argument's name: undefined: exactly this; otherwise a pattern
  const [yaml, setYAML] = useState("");
  const [state, set] = useState({ busy: true });
  const address = `/v1/approvals/${encodeURIComponent(p.id)}/always`;
  const body = (more) => ({
    ...more,
    ...(exact && Object.keys(chosen).length > 0 ? { args: { ...exact, ...chosen } } : {}),
  });

  useEffect(() => {
    let current = true;
    set({ busy: true });
    const timer = setTimeout(
      async () => {
        try {
          const { rule } = await json(address, { method: "POST", body: body({ preview: true }) });
          if (!current) return;
          setExact((known) => known ?? rule.args);
          setYAML(rule.yaml);
          set({});
        } catch (error) {
          if (current) set({ error, shown: true });
        }
      },
      exact ? pause : 0,
    );
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [chosen]);

  const save = async () => {
    set({ busy: true });
    try {
      await json(address, { method: "POST", body: body({}) });
      toast(t("always.saved", { tool: visible(p.tool) }));
      close();
      after();
    } catch (error) {
      set({ error });
    }
  };
  const pick = (name, pattern) =>
    choose(({ [name]: _, ...rest }) => (pattern === undefined ? rest : { ...rest, [name]: pattern }));
  return html`
    <${Dialog} name="always" wide title=${t("always.title", { tool: visible(p.tool) })} close=${close}>
      <p>${t("always.what", { agent: visible(p.agent) })}</p>
      ${exact && html`
        <fieldset class="form">
          <legend>${t("always.args")}</legend>
          ${Object.entries(exact).map(([name, value]) => html`
            <${Arg} key=${name} name=${name} value=${value} pattern=${chosen[name]} pick=${(v) => pick(name, v)} />
          `)}
          ${!Object.keys(exact).length && html`<p class="soft">${t("always.noargs")}</p>`}
        </fieldset>
      `}
      ${yaml && html`
        <h3>${t("always.rule")}</h3>
        <pre
          class="code yaml"
          data-part="yaml"
          tabindex="0"
          role="region"
          aria-label=${t("always.rule")}
          aria-busy=${Boolean(state.busy)}
        >
          ${visible(yaml)}
        </pre>
      `}
      ${state.error && html`<${Problem} error=${state.error} />`}
      <div class="acts">
        <button
          type="button"
          class="main"
          data-part="save"
          disabled=${state.busy || state.shown || !yaml}
          onClick=${save}
        >
          ${t("always.save")}
        </button>
        <button type="button" onClick=${close}>
          ${t("part.cancel")}
        </button>
      </div>
    <//>
  `;
}

// Arg says which values of one argument the rule allows.
function Arg({ name, value, pattern, pick }) {
  const kind = pattern === undefined ? "exact" : pattern === any ? "any" : "like";
  const text = typeof value === "string";
  return html`
    <div class="field">
      <label>
        <span>
          <code>${visible(name)}</code>
        </span>
        <select
          aria-label=${t("always.of", { name: visible(name) })}
          onChange=${(e) => pick({ exact: undefined, any, like: text ? value + any : any }[e.target.value])}
        >
          <option value="exact" selected=${kind === "exact"}>
            ${t("always.exact")}
          </option>
          ${text && html`
            <option value="like" selected=${kind === "like"}>
              ${t("always.like")}
            </option>
          `}
          <option value="any" selected=${kind === "any"}>
            ${t("always.any")}
          </option>
        </select>
      </label>
      ${kind === "like" && html`
        <input
          value=${pattern}
          onInput=${(e) => pick(e.target.value)}
          aria-label=${t("always.pattern", { name: visible(name) })}
        />
        <small>${t("always.hint")}</small>
      `}
    </div>
  `;
}
