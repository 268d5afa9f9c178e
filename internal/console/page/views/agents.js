// Agents: which there are, what works for them, and whether it is well.

import { json, post } from "../api.js";
import { address } from "../router.js";
import { number, span, t, visible } from "../text.js";
import { html } from "../ui/html.js";
import { Act, Age, Chip, Facts, Level, Loaded, Parts, toast, useLoad, When } from "../ui/parts.js";

export default function Agents() {
  const read = useLoad(
    () => Promise.all([json("/v1/agents?calls=true"), json("/v1/providers"), json("/v1/status")]),
    [],
  );
  return html`
    <div class="page-body">
      <${Loaded} of=${read}>
        ${([{ agents }, { providers }, status]) => html`
          <div class="cards">
            ${agents.map((a) => html`
              <${Agent} key=${a.id} of=${a} providers=${providers} />
            `)}
          </div>
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

function Agent({ of: a, providers }) {
  const models = (a.model ?? "")
    .split(",")
    .map((name) => modelOf(name.trim(), providers))
    .filter((m) => m.name);
  const missing = a.kind === "nats" && !a.instances?.length;
  const down = missing || (models.length > 0 && models.every((m) => m.status === "down"));
  const known = down || a.kind === "nats" || models.some((m) => m.status);
  return html`
    <article class="card" data-agent=${a.id}>
      <header>
        <h2>${visible(a.name || a.id)}</h2>
        ${a.default && html`<span class="tag">${t("agents.default")}</span>`}
        ${known && html`<${Chip} status=${down ? "down" : models.some((m) => m.problem) ? "warning" : "ok"} />`}
      </header>
      <${Facts}
        of=${[
          [t("col.id"), html`<code>${a.id}</code>`],
          [t("col.kind"), t("agentkind." + a.kind)],
          [t("col.model"), models.length > 0 && html`<${Models} of=${models} />`],
          [t("col.level"), a.classification && html`<${Level} label=${a.classification} />`],
          ...calls(a),
        ]}
      />
      ${missing && html`<p class="note warn">${t("agents.noinstance")}</p>`}
      ${a.instances?.map((i) => html`
        <p class="line">
          <${Chip} status="connected" /> <code>${visible(i.id)}</code> ${visible(i.version)}${" "}
          <span class="soft">
            <${Age} at=${i.started} />, ${t("agents.turns", { n: i.turns })}
          </span>
        </p>
      `)}
      <div class="acts">
        <a class="button small" href=${address("conversations", "", { agent: a.id })}>
          ${t("view.conversations")}
        </a>
        <a class="button small" href=${address("runs", "", { agent: a.id })}>
          ${t("view.runs")}
        </a>
      </div>
    </article>
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
