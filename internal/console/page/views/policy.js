// Policy: what may leave and by which rule, what is always allowed, and what a rule would do, tried without any effect.

import {
  Act, acts, address, Age, ask, call, Chip, count, Field, filled, html, json, known, Level, levelOf, levels, Loaded,
  number, Options, owns, post, Problem, query, sessionName, Sheet, t, untrusted, useEffect, useLoad, useRef, useState,
  Value, visible,
} from "../base.js";
import { Decision, Rules } from "../ui/decision.js";

export default function Policy() {
  const at = filters();
  const read = useLoad(() => json("/v1/policy" + query(at)), [JSON.stringify(at)]);
  return html`
    <div class="page-body">
      <form
        class="filters"
        role="search"
        aria-label=${t("policy.filter")}
        onSubmit=${(e) => {
          e.preventDefault();
          replaceQuery(Object.fromEntries(new FormData(e.target)));
          read.again();
        }}
      >
        ${["channel", "rule", "session"].map((name) => html`
          <label class="field">
            <span>${t("col." + name)}</span>
            <input name=${name} value=${at[name]} />
          </label>
        `)}
        <button type="submit" class="small">
          ${t("policy.show")}
        </button>
      </form>
      <${Loaded} of=${read}>
        ${(p) => html`
          <${Matrix} of=${p.matrix} />
          <${Flow} of=${p.channels} />
          ${acts() && html`<${Listed} of=${p} />`}
        `}
      <//>
      ${acts() && html`
        <${Past} />
        <${Allowed} />
      `}
      <${Trials} id=${new URLSearchParams(location.search).get("try") ?? ""} />
    </div>
  `;
}

// filters are those of the address.
function filters() {
  const given = new URLSearchParams(location.search);
  return Object.fromEntries(["channel", "rule", "session"].map((name) => [name, given.get(name) ?? ""]));
}

const kindsToTry = ["reply", "announce", "notice", "message"];

// caseOf reads the message or the tool call to try: that of a delivery or of an approval.
async function caseOf(id) {
  if (!id) return {};
  const approval = id.startsWith("apr_") && (await json("/v1/approvals/" + encodeURIComponent(id)));
  if (approval && !approval.delivery)
    return { call: { tool: approval.tool, args: JSON.stringify(approval.args ?? {}, null, 2), session: approval.session } };
  const d = await json("/v1/deliveries/" + encodeURIComponent(approval ? approval.delivery : id));
  return {
    message: {
      channel: d.route.channel,
      account: d.route.account ?? "",
      chatType: d.route.chatType ?? "direct",
      to: d.route.conversation ?? "",
      thread: d.route.thread ?? "",
      session: d.session ?? "",
      label: untrusted(d.label) ? d.label : levelOf(d.label),
      kind: kindsToTry.includes(d.kind) ? d.kind : "",
      text: d.text,
    },
  };
}

// Trials are the two forms that try something without any effect. If the address names a case, its form is filled in.
function Trials({ id }) {
  const read = useLoad(() => caseOf(id), [id]);
  return html`
    <${Loaded} of=${read}>
      ${({ message, call: given }) => html`
        <div class="two" key=${id}>
          <${TryMessage} of=${message} />
          <${TryTool} of=${given} />
        </div>
      `}
    <//>
  `;
}

// useArrival moves to a form that was filled in from the address.
function useArrival(filled) {
  const button = useRef(null);
  useEffect(() => {
    if (!filled || !button.current) return;
    button.current.closest(".card").scrollIntoView({ block: "nearest" });
    button.current.focus();
  }, []);
  return button;
}

function replaceQuery(values) {
  history.replaceState(history.state, "", location.pathname + query(values));
}

const chats = ["direct", "group", "channel"];

// Matrix says for each session, channel and kind of chat what may be sent, and by which rule.
function Matrix({ of }) {
  const channels = [...new Set(of.flatMap((row) => row.cells.map((c) => c.channel)))];
  if (!channels.length)
    return html`
      <section id="matrix">
        <h2>${t("policy.matrix")}</h2>
        <p class="soft">${t("policy.nochannel")}</p>
      </section>
    `;
  return html`
    <section id="matrix">
      <h2>${t("policy.matrix")}</h2>
      <p class="soft">${t("policy.matrixhint")}</p>
      <div class="scroll" tabindex="0" role="region" aria-label=${t("policy.matrix")}>
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col" rowspan="2">
                ${t("col.session")}
              </th>
              ${channels.map((c) => html`
                <th scope="colgroup" colspan="3">
                  ${visible(c)}
                </th>
              `)}
            </tr>
            <tr>${channels.map(() => chats.map((c) => html`<th scope="col">${t("chattype." + c)}</th>`))}</tr>
          </thead>
          <tbody>
            ${of.map((row) => html`
              <tr key=${row.session}>
                <th scope="row">
                  ${row.session ? html`
                    <a href=${address("conversations", row.session)}>${sessionName(row.key)}</a>
                  ` : (
                    t("policy.anysession")
                  )}${" "}
                  <${Level} label=${row.level} short />
                </th>
                ${row.cells.map((c) => html`
                  <td title=${visible(c.reason)}>
                    <${Chip} status=${c.action} />
                    <code>${visible(c.rule)}</code>
                    ${c.except.length > 0 && html`
                      <details>
                        <summary>${t("policy.except", { n: c.except.length })}</summary>
                        ${c.except.map((r) => html`
                          <code>${visible(r)}</code>${" "}
                        `)}
                      </details>
                    `}
                  </td>
                `)}
              </tr>
            `)}
          </tbody>
        </table>
      </div>
    </section>
  `;
}

// Flow draws which level may go to which channel.
function Flow({ of }) {
  if (!of.length) return null;
  const step = 44,
    height = Math.max(levels.length, of.length) * step + 8;
  const y = (i, n) => 4 + (i + 0.5) * ((height - 8) / n);
  const may = (i, c) => i <= levels.indexOf(c.level);
  return html`
    <section id="flow">
      <h2>${t("policy.flow")}</h2>
      <p class="soft">${t("policy.flowhint")}</p>
      <svg
        class="flow"
        viewBox=${`0 0 560 ${height}`}
        role="img"
        aria-label=${of.map((c) => t("policy.flowline", { channel: c.channel, level: t("level." + c.level) })).join(" ")}
      >
        ${of.flatMap((c, k) =>
          levels.map(
            (_, i) =>
              may(i, c) && html`
                <path
                  class=${"edge l" + (i + 1)}
                  d=${`M170 ${y(i, levels.length)} C 280 ${y(i, levels.length)}, 280 ${y(k, of.length)}, 390 ${y(k, of.length)}`}
                />
              `,
          ),
        )}
        ${levels.map((l, i) => html`
          <g class=${"node l" + (i + 1)}>
            <rect x="4" y=${y(i, levels.length) - 15} width="166" height="30" rx="8"></rect>
            <text x="87" y=${y(i, levels.length) + 5} text-anchor="middle">
              ${t("level." + l)}
            </text>
          </g>
        `)}
        ${of.map((c, k) => html`
          <g class="node">
            <rect x="390" y=${y(k, of.length) - 15} width="166" height="30" rx="8"></rect>
            <text x="473" y=${y(k, of.length) + 5} text-anchor="middle">
              ${visible(c.channel)}
            </text>
          </g>
        `)}
      </svg>
    </section>
  `;
}

// Listed lists the rules, with how often each has applied.
function Listed({ of: { rules, looked } }) {
  return html`
    <section id="rules">
      <h2>${t("policy.rules")}</h2>
      ${rules.length ? html`
        <${Sheet}
          label=${t("policy.rules")}
          heads=${[
            t("col.rule"),
            t("policy.action"),
            t("policy.condition"),
            [t("policy.fired"), "end"],
            t("policy.last"),
          ]}
        >
          ${rules.map((r) => html`
            <tr key=${r.rule}>
              <td>
                <code>${visible(r.rule)}</code> <span class="soft">${r.hook ?? ""}</span>
              </td>
              <td>
                <${Chip} status=${r.action} />
              </td>
              <td>
                ${visible(
                  [
                    r.match &&
                      Object.entries(r.match)
                        .map(([k, v]) => k + ": " + v)
                        .join(", "),
                    r.tools?.join(", "),
                    r.when,
                  ]
                    .filter(Boolean)
                    .join(" · "),
                ) || html`<span class="soft">${t("policy.always")}</span>`}
              </td>
              <td class="end">
                ${r.fired.count && (!r.hook || r.hook === "PRE_OUTPUT") ? html`
                  <a href=${"/deliveries" + query({ rule: r.rule })}>${count(r.fired)}</a>
                ` : (
                  count(r.fired)
                )}
              </td>
              <td>${r.fired.last && html`<${Age} at=${r.fired.last} />`}</td>
            </tr>
          `)}
        <//>
        <p class="soft">${t(looked.more ? "policy.lookedmore" : "policy.looked", { n: number(looked.entries) })}</p>
      ` : html`
        <p class="soft">${t("policy.norules")}</p>
      `}
    </section>
  `;
}

const example =
  'name: figures\nhook: PRE_OUTPUT\nwhen: output.chatType == "group" && text.contains("figures")\naction: block\n';

// Past tries a proposed policy against what is stored.
function Past() {
  const [text, set] = useState(example);
  const [state, run] = useTry(() => post("/v1/policy/backtest", { policy: text }));
  const r = state.result;
  return html`
    <section class="card" id="past">
      <h2>${t("past.title")}</h2>
      <p class="soft">${t("past.what")}</p>
      <form class="form wide" onSubmit=${run}>
        <${Field} text=${t("past.policy")} hint=${t("past.hint")}>
          <textarea
            rows="6"
            class="code"
            spellcheck="false"
            value=${text}
            onInput=${(e) => set(e.target.value)}
          ></textarea>
        <//>
        <button type="submit" class="main" disabled=${state.busy}>
          ${t("past.try")}
        </button>
      </form>
      <div role="status" class="result">
        ${state.error && html`<${Problem} error=${state.error} />`}
        ${r && html`
          <p>
            <strong>${summary(r)}</strong>${" "}
            <span class="soft">
              ${t("past.looked", { messages: number(r.deliveries), calls: number(r.calls) })} ${t("past." + r.bound)}
            </span>
            ${r.since && html`
              ${" "}
              <span class="soft">
                ${t("past.since")} <${Age} at=${r.since} />
              </span>
            `}
          </p>
          ${r.untried.map((u) => html`
            <p class="note">${visible(u)}</p>
          `)}
          ${r.changed.length > 0 && html`
            <ul class="lines">
              ${r.changed.map((c) => html`
                <li>
                  <${Chip} status=${c.would} /> <span class="soft">${t("past.was", { was: known("status", c.was) })}</span>${" "}
                  <a href=${c.delivery ? address("deliveries", c.delivery) : address("runs", c.run)}>
                    ${visible(c.tool || c.route?.title || c.route?.conversation || c.route?.channel || "")}
                  </a>${" "}
                  <span>${visible(c.text)}</span>${" "}
                  <span class="soft">
                    <${Age} at=${c.at} />
                  </span>${" "}
                  <a href=${address("why", c.delivery || c.run)}>${t("why.button")}</a>
                </li>
              `)}
            </ul>
          `}
          ${r.more && html`<p class="soft">${t("past.more")}</p>`}
        `}
      </div>
    </section>
  `;
}

const summary = (r) => {
  const said = ["block", "hold", "redact", "allow"]
    .filter((a) => r.count[a])
    .map((a) => t("would." + a, { n: number(r.count[a]) }));
  return said.length ? said.join(" ") : t("past.nothing");
};

const useForm = (start) => {
  const [form, set] = useState(start);
  return [
    form,
    (name) => ({
      value: form[name],
      onInput: (e) => set({ ...form, [name]: e.target.value }),
      onChange: (e) => set({ ...form, [name]: e.target.value }),
    }),
  ];
};

function useTry(run) {
  const [state, set] = useState({});
  return [
    state,
    async (e) => {
      e.preventDefault();
      set({ busy: true });
      try {
        set({ result: await run() });
      } catch (error) {
        set({ error });
      }
    },
  ];
}

function TryMessage({ of: given }) {
  const status = useLoad(() => json("/v1/status"), []);
  return html`
    <section class="card" data-part="trymessage">
      <h2>${t("policy.trymessage")}</h2>
      <p class="soft">${t("policy.noeffect")}</p>
      <${Loaded} of=${status}>
        ${(s) => html`<${Message} of=${given} accounts=${s.accounts} />`}
      <//>
    </section>
  `;
}

function Message({ of: given, accounts }) {
  const { account, thread, kind, ...shown } = given ?? {};
  const [form, field] = useForm({ channel: "webchat", chatType: "direct", to: "", session: "", label: "", text: "", ...shown });
  const there = given && form.channel === given.channel && form.to === given.to; // else its account and thread are others
  const [state, run] = useTry(() =>
    post("/v1/policy/check", filled({ ...form, ...(there && { account, thread, kind }) })),
  );
  const button = useArrival(given);
  const channels = new Set(["webchat", ...accounts.map((a) => a.channel), form.channel]);
  return html`
    <form class="form" onSubmit=${run}>
      <${Field} text=${t("col.channel")}>
        <select ...${field("channel")}>
          <${Options} of=${[...channels]} chosen=${form.channel} />
        </select>
      <//>
      <${Field} text=${t("policy.chattype")}>
        <select ...${field("chatType")}>
          <${Options} of=${["direct", "group", "channel"]} chosen=${form.chatType} name=${(c) => t("chattype." + c)} />
        </select>
      <//>
      <${Field} text=${t("policy.to")} hint=${t("policy.tohint")}>
        <input ...${field("to")} />
      <//>
      <${Field} text=${t("col.session")} hint=${t("policy.sessionhint")}>
        <input ...${field("session")} />
      <//>
      <${Field} text=${t("col.level")}>
        <select ...${field("label")}>
          <option value="">${t("policy.learned")}</option>
          ${given && !levels.includes(given.label) && html`
            <option value=${given.label} selected=${given.label === form.label}>
              ${t("level." + levelOf(given.label))}, ${t("level.untrusted")}
            </option>
          `}
          <${Options} of=${levels} chosen=${form.label} name=${(l) => t("level." + l)} />
        </select>
      <//>
      <${Field} text=${t("col.text")} hint=${t("policy.texthint")}>
        <textarea rows="2" ...${field("text")}></textarea>
      <//>
      <button type="submit" class="main" ref=${button} disabled=${state.busy}>
        ${t("policy.try")}
      </button>
    </form>
    <div role="status" class="result">
      ${state.error && html`<${Problem} error=${state.error} />`}
      ${state.result && html`<${Decision} of=${state.result} />`}
    </div>
  `;
}

function TryTool({ of: given }) {
  const [form, field] = useForm({ tool: "memory_save", args: '{"key": "plan", "content": "…"}', session: "", ...given });
  const button = useArrival(given);
  const [state, run] = useTry(() => {
    let args;
    try {
      args = JSON.parse(form.args || "{}");
    } catch (e) {
      throw Object.assign(new Error(t("policy.badjson", { what: e.message })), { status: 400 });
    }
    return json("/v1/policy/simulate", {
      method: "POST",
      body: { tool_name: form.tool, args, ...(form.session ? { session: form.session } : {}) },
    });
  });
  const r = state.result;
  return html`
    <section class="card" data-part="trytool">
      <h2>${t("policy.trytool")}</h2>
      <p class="soft">${t("policy.noeffect")}</p>
      <form class="form" onSubmit=${run}>
        <${Field} text=${t("policy.tool")}>
          <input ...${field("tool")} required />
        <//>
        <${Field} text=${t("inbox.args")} hint="JSON">
          <textarea rows="3" class="code" ...${field("args")}></textarea>
        <//>
        <${Field} text=${t("col.session")} hint=${t("policy.mainhint")}>
          <input ...${field("session")} />
        <//>
        <button type="submit" class="main" ref=${button} disabled=${state.busy}>
          ${t("policy.try")}
        </button>
      </form>
      <div role="status" class="result">
        ${state.error && html`<${Problem} error=${state.error} />`}
        ${r && html`
          ${r.reason && html`<p>${visible(r.reason)}</p>`}
          <${Rules} of=${r.rules ?? r.decision?.rules} />
          <details>
            <summary>${t("policy.all")}</summary>
            <${Value} of=${r} />
          </details>
        `}
      </div>
    </section>
  `;
}

// Allowed lists the rules that always allow tool calls.
function Allowed() {
  const read = useLoad(() => json("/v1/policy/allow-rules"), []);
  return html`
    <section id="allowed">
      <h2>${t("always.list")}</h2>
      <${Loaded} of=${read}>
        ${({ rules }) =>
          rules.length ? html`
            <ul class="lines">
              ${rules.map((r) => html`
                <li key=${r.id} class="allowed">
                  <div>
                    <pre class="code" tabindex="0" role="region" aria-label=${t("always.rule")}>
                      ${visible(r.yaml)}
                    </pre>
                    <p class="soft">
                      ${t("always.by", { name: visible(r.by) })} · <${Age} at=${r.created} /> ·${" "}
                      <a href=${address("inbox", r.approval)}>${t("inbox.what")}</a>
                    </p>
                  </div>
                  <${Act}
                    allowed=${owns()}
                    tone="danger"
                    done=${t("always.ended")}
                    run=${async () => {
                      if (
                        !(await ask(t("always.endask", { tool: visible(r.tool) }), t("always.end"), { danger: true }))
                      )
                        return false;
                      await call("/v1/policy/allow-rules/" + encodeURIComponent(r.id), { method: "DELETE" });
                      read.again();
                    }}
                  >
                    ${t("always.end")}
                  <//>
                </li>
              `)}
            </ul>
          ` : html`
            <p class="soft">${t("always.none")}</p>
          `
        }
      <//>
    </section>
  `;
}
