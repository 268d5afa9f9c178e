// Agents: which there are, what works for them, and whether it is well.

import {
  Act, address, Age, Chip, Facts, html, json, known, Level, Loaded, number, owns, Parts, post, span, t, toast, Unfold,
  useEffect, useLoad, useRef, useState, visible, When,
} from "../base.js";
import { Narrowed } from "../ui/list.js";
import { Draft, Editor } from "./config.js";

const healths = ["ok", "warning", "down", "unknown"];
const healthName = (h) => (h === "unknown" ? t("agents.unknown") : known("status", h));

export default function Agents() {
  const read = useLoad(
    () => Promise.all([json("/v1/agents?calls=true"), json("/v1/providers"), json("/v1/status")]),
    [],
  );
  return html`
    <div class="page-body">
      <${Loaded} of=${read}>
        ${([{ agents }, { providers }, status]) => html`
          <${Cards} of=${agents.map((a) => ({ ...a, ...healthOf(a, providers) }))} providers=${providers} again=${read.again} />
          <${Providers} of=${providers} again=${read.again} />
          <section>
            <h2>${t("agents.parts")}</h2>
            <${Parts} of=${status.parts} />
          </section>
        `}
      <//>
    </div>
  `;
}

// Cards shows the agents with the chosen health.
function Cards({ of: agents, providers, again }) {
  const names = Object.fromEntries(healths.map((h) => [h, healthName(h)]));
  return html`
    <${Narrowed}
      filter=${{ key: "health", text: t("agents.health"), options: healths, names }}
      rows=${agents}
      of=${(a) => a.health}
    >
      ${(matching) => html`
        <div class="cards">
          ${matching.map((a) => html`
            <${Agent} key=${a.id} of=${a} providers=${providers} again=${again} />
          `)}
        </div>
      `}
    <//>
  `;
}

// healthOf is the health of an agent: whether its models or its program work, with the state of its models.
function healthOf(a, providers) {
  const models = (a.model ?? "")
    .split(",")
    .map((name) => modelOf(name.trim(), providers))
    .filter((m) => m.name);
  const missing = a.kind === "nats" && !a.instances?.length;
  if (missing || (models.length > 0 && models.every((m) => m.status === "down"))) return { models, missing, health: "down" };
  if (models.some((m) => m.problem)) return { models, missing, health: "warning" };
  return { models, missing, health: a.kind === "nats" || models.some((m) => m.status) ? "ok" : "unknown" };
}

function Agent({ of: a, providers, again }) {
  const [setting, set] = useState(false);
  const button = useRef(null);
  const before = useRef(false);
  useEffect(() => {
    if (before.current && !setting) button.current?.focus();
    before.current = setting;
  }, [setting]);
  return html`
    <article class="card" data-agent=${a.id}>
      <header>
        <h2>${visible(a.name || a.id)}</h2>
        ${a.default && html`<span class="tag">${t("agents.default")}</span>`}
        ${a.health !== "unknown" && html`<${Chip} status=${a.health} />`}
      </header>
      <${Facts}
        of=${[
          [t("col.id"), html`<code>${a.id}</code>`],
          [t("col.kind"), t("agentkind." + a.kind)],
          [t("col.model"), a.models.length > 0 && html`<${Models} of=${a.models} />`],
          [t("col.level"), a.classification && html`<${Level} label=${a.classification} />`],
          ...calls(a),
        ]}
      />
      ${a.missing && html`<p class="note warn">${t("agents.noinstance")}</p>`}
      ${a.instances?.map((i) => html`
        <p class="line">
          <${Chip} status="connected" /> <code>${visible(i.id)}</code> ${visible(i.version)}${" "}
          <span class="soft">
            <${Age} at=${i.started} />, ${t("agents.turns", { n: i.turns })}
          </span>
        </p>
      `)}
      <${Unfold} part="tools" text=${t("agents.tools")}>
        ${() => html`<${ToolRows} id=${a.id} />`}
      <//>
      ${setting && html`
        <${SetModel}
          of=${a}
          known=${providers.flatMap((p) => p.models.map((m) => p.name + "/" + m.name))}
          close=${() => set(false)}
          done=${() => {
            set(false);
            again();
          }}
        />
      `}
      <div class="acts">
        <a class="button small" href=${address("conversations", "", { agent: a.id })}>
          ${t("view.conversations")}
        </a>
        <a class="button small" href=${address("runs", "", { agent: a.id })}>
          ${t("view.runs")}
        </a>
        ${a.kind === "loop" && owns() && !setting && html`
          <button type="button" class="small" data-part="setmodel" ref=${button} onClick=${() => set(true)}>
            ${t("agents.setmodel")}
          </button>
        `}
      </div>
    </article>
  `;
}

// modelPath is the setting of an agent's model. An agent that is not in the file has the default model.
function modelPath(keys, id) {
  const own = keys.find((k) => /^agents\.list\[\d+\]\.id$/.test(k.path) && k.value === id && k.source.from !== "default");
  return own ? own.path.replace(/\.id$/, ".model") : "models.default";
}

// SetModel changes the model of an agent as any other setting is changed: checked, shown, then saved with its history.
function SetModel({ of: a, known: names, close, done }) {
  const read = useLoad(() => json("/v1/config"), []);
  const [edit, put] = useState(null);
  return html`
    <${Loaded} of=${read}>
      ${(c) => {
        const key = c.keys.find((k) => k.path === modelPath(c.keys, a.id));
        return edit ? html`
          <${Draft}
            draft=${{ changes: [edit] }}
            version=${c.version}
            drop=${() => put(null)}
            keys=${[key]}
            done=${done}
            stale=${read.again}
            cancel=${close}
          />
        ` : html`
          <${Editor} of=${key} put=${put} suggestions=${names} />
          <div class="acts">
            <button type="button" class="small" onClick=${close}>
              ${t("part.cancel")}
            </button>
            <a class="button small" href=${address("config", "", { part: "history" })}>
              ${t("config.history")}
            </a>
          </div>
        `;
      }}
    <//>
  `;
}

const tones = { allow: "good", ask: "warn", deny: "rule" };

// ToolRows are the tools of an agent.
function ToolRows({ id }) {
  const read = useLoad(() => json("/v1/agents/" + encodeURIComponent(id) + "?tools=true"), [id]);
  return html`
    <${Loaded} of=${read}>
      ${({ tools = [] }) =>
        tools.length === 0 ? html`
          <p class="soft">${t("agents.notools")}</p>
        ` : html`
          <p class="soft">
            ${t("agents.stricter")} <a href=${address("policy")}>${t("view.policy")}</a>
          </p>
          <ul class="lines">
            ${tools.map((one) => html`
              <li key=${one.name} data-tool=${one.name}>
                <details>
                  <summary>
                    <code>${visible(one.name)}</code>
                  </summary>
                  <p>${visible(one.description)}</p>
                  ${one.server && html`<p class="soft">${t("agents.server", { name: visible(one.server) })}</p>`}
                </details>
                <p class="line">
                  <${Chip} status=${one.permission} tone=${tones[one.permission]} text=${t("agents.call." + one.permission)} />
                </p>
                ${one.source && html`
                  <p class="soft">
                    ${t("agents.reads")} <${Level} label=${one.source} />
                  </p>
                `}
                ${one.sink && html`
                  <p class="soft">
                    ${t("agents.writes")} <${Level} label=${one.sink} />
                  </p>
                `}
              </li>
            `)}
          </ul>
        `
      }
    <//>
  `;
}

// modelOf is the state of a model: down if it works with no key of its provider. The state of a model whose provider is built in
// or may not be seen is not known.
function modelOf(name, providers) {
  const [provider, ...rest] = name.split("/");
  const keys = providers.find((p) => p.name === provider)?.keys;
  if (!keys) return { name };
  const problems = keys.map((k) => k.problem ?? k.models?.find((m) => m.model === rest.join("/"))).filter(Boolean);
  return {
    name,
    problem: problems[0],
    status: problems.length === 0 ? "ok" : problems.length === keys.length ? "down" : "warning",
  };
}

const Models = ({ of }) => html`
  <ul class="lines">
    ${of.map((m) => html`
      <li data-model=${m.name}>
        ${m.status && html`
          <${Chip} status=${m.status} />${" "}
        `}
        ${visible(m.name)}${" "}
        ${m.problem && html`
          <span class="soft">
            ${visible(m.problem.text || m.problem.kind)}
            ${m.problem.until && html`
              ${" "}
              · ${t("models.again")} <${Age} at=${m.problem.until} />
            `}
          </span>
        `}
      </li>
    `)}
  </ul>
`;

// calls are the facts about an agent's model calls of the last 24 hours.
function calls({ id, calls: c }) {
  if (!c.calls) return [[t("agents.day"), html`<span class="soft">${t("agents.nocalls")}</span>`]];
  const share = Math.max(c.failed && 1, Math.round((c.failed * 100) / c.calls));
  return [
    [
      t("agents.day"),
      html`
        <a href=${address("costs", "", { by: "model", agent: id, days: 7 })} data-part="calls">
          ${t("agents.calls", { n: c.calls })}
        </a>
        ${c.failed > 0 && html`
          , <span data-part="failed">${t("agents.failed", { n: c.failed, percent: share })}</span>
        `}
      `,
    ],
    [t("agents.p95"), c.p95_ms !== undefined && html`<span data-part="p95">${span(c.p95_ms)}</span>`],
    [
      t("col.tokens"),
      html`<span data-part="tokens">
        ${number(c.input_tokens)} › ${number(c.output_tokens)}
      </span>`,
    ],
    [t("agents.newest"), Date.parse(c.since) > Date.now() - 86_000_000 && html`<${When} at=${c.since} />`],
  ];
}

// Providers lists who the models come from, with what does not work and until when.
function Providers({ of: providers, again }) {
  const path = (p) => "/v1/providers/" + encodeURIComponent(p.name);
  return html`
    <section>
      <h2>${t("models.providers")}</h2>
      ${providers.length === 0 ? html`
        <p class="soft">${t("models.none")}</p>
      ` : html`
        <div class="cards">
          ${providers.map((p) => {
            const problems = p.keys.flatMap((k) => [
              ...(k.problem ? [{ ...k.problem, key: k.name }] : []),
              ...(k.models ?? []).map((m) => ({ ...m, key: k.name })),
            ]);
            return html`
              <article class="card" key=${p.name}>
                <header>
                  <h2>${visible(p.name)}</h2>
                  <${Chip} status=${problems.length ? "failed" : "ok"} />
                </header>
                ${problems.map((one) => html`
                  <p class="note bad">
                    ${visible(one.key)} ${one.model && visible(one.model)}: ${visible(one.text || one.kind)}${" "}
                    <span class="soft">
                      ${t("models.since")} <${Age} at=${one.since} />
                      ${one.until && html`
                        ${" "}
                        · ${t("models.again")} <${Age} at=${one.until} />
                      `}
                    </span>
                  </p>
                `)}
                <${Facts}
                  of=${[
                    [t("col.kind"), p.kind],
                    [t("models.host"), visible(p.host)],
                    [t("col.level"), html`<${Level} label=${p.classification} />`],
                    [t("models.region"), p.region && visible(p.region)],
                    [t("models.models"), p.models.map((m) => visible(m.name)).join(", ")],
                    [t("models.keys"), p.keys.map((k) => visible(k.name)).join(", ")],
                  ]}
                />
                <div class="acts">
                  <${Act}
                    run=${async () => {
                      const answer = await post(path(p) + "/check");
                      const bad = (answer.results ?? answer.checks ?? []).filter((one) => !one.ok);
                      toast(bad.length ? visible(bad[0].error) : t("models.answers"), bad.length ? "bad" : "good");
                      again();
                    }}
                  >
                    ${t("models.check")}
                  <//>
                  ${problems.length > 0 && html`
                    <${Act}
                      done=${t("models.cleared")}
                      run=${async () => {
                        await post(path(p) + "/clear");
                        again();
                      }}
                    >
                      ${t("models.clear")}
                    <//>
                  `}
                </div>
              </article>
            `;
          })}
        </div>
      `}
    </section>
  `;
}
