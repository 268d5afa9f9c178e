// Costs: the usage and cost of model calls, and how much of each budget is used.

import {
  address, change, exact, Field, html, json, language, Loaded, number, Options, query, saveAnswer, t, toast,
  useAddress, useLoad, visible,
} from "../base.js";

const groups = ["day", "day,agent,model", "agent", "model", "person", "session", "job"];
const ranges = [1, 7, 30, 365]; // days, with today
const limit = 500;
const limitCSV = 10000; // the most that the gateway gives

export default function Costs() {
  const at = useAddress();
  const by = groups.includes(at.query.get("by")) ? at.query.get("by") : "day";
  const days = ranges.includes(Number(at.query.get("days"))) ? Number(at.query.get("days")) : 30;
  const only = { agent: at.query.get("agent"), model: at.query.get("model") };
  const from = new Date(Date.now() - (days - 1) * 86400000).toISOString().slice(0, 10);
  const read = useLoad(
    () => json("/v1/usage" + query({ by, from, limit, ...only })),
    [by, from, only.agent, only.model],
  );
  return html`
    <div class="page-body">
      <form class="form" onSubmit=${(e) => e.preventDefault()}>
        <${Field} text=${t("costs.range")}>
          <select value=${days} onChange=${(e) => change({ days: e.target.value })}>
            <${Options} of=${ranges} chosen=${days} name=${(n) => t("costs.days", { n })} />
          </select>
        <//>
        <${Field} text=${t("costs.by")}>
          <select value=${by} onChange=${(e) => change({ by: e.target.value })}>
            <${Options} of=${groups} chosen=${by} name=${(g) => g.split(",").map((one) => t("costs." + one)).join(", ")} />
          </select>
        <//>
        ${Object.entries(only)
          .filter(([, v]) => v)
          .map(([k, v]) => html`
            <button type="button" class="small" onClick=${() => change({ [k]: "" })}>
              ${t("costs." + k)}: ${visible(v)} ✕<span class="unseen"> ${t("costs.all")}</span>
            </button>
          `)}
        <button
          type="button"
          class="small"
          id="csv"
          onClick=${() =>
            saveAnswer(
              "/v1/usage" + query({ by, from, limit: limitCSV, format: "csv", ...only }),
              `usage-${by.replaceAll(",", "-")}-${from}.csv`,
              "text/csv",
            ).catch((e) => toast(e.message, "bad"))
          }
        >
          ${t("costs.csv")}
        </button>
      </form>
      <section>
        <h2>${t("costs.spent")}</h2>
        <${Loaded} of=${read}>${(u) => html`<${Table} of=${u} by=${by} />`}<//>
      </section>
      <${Budgets} />
    </div>
  `;
}

// money writes an exact amount of the API with two to four decimals. An unknown cost stays unknown.
function money(exactly, currency) {
  if (exactly === "unknown") return t("costs.unknown");
  const n = Number(exactly);
  if (n > 0 && n < 0.0001) return t("costs.under", { currency });
  return n.toLocaleString(language, { minimumFractionDigits: 2, maximumFractionDigits: 4 }) + " " + currency;
}

const share = (k) => (k.cached > 0 && k.input > 0 ? number(Math.floor((k.cached * 100) / k.input)) + " %" : "–");

function Table({ of, by }) {
  if (!of.rows.length) return html`<p class="soft">${t("costs.empty")}</p>`;
  const unpriced = of.totals.some((r) => r.cost === "unknown");
  const numbers = (r) => html`
    <td class="end">
      <strong>${money(r.cost, r.currency)}</strong>
    </td>
    <td class="end">
      ${number(r.calls)}
      ${r.failed > 0 && html`
        ${" "}
        <span class="soft">${t("costs.failed", { n: r.failed })}</span>
      `}
    </td>
    <td class="end">${number(r.tokens.input)}</td>
    <td class="end">${share(r.tokens)}</td>
    <td class="end">${number(r.tokens.output)}</td>
  `;
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${t("part.table")}>
      <table id="costs">
        <thead>
          <tr>
            ${by.split(",").map((g) => html`<th>${t("costs." + g)}</th>`)}
            ${["cost", "calls", "input", "cached", "output"].map((c) => html`
              <th class="end">${t("costs." + c)}</th>
            `)}
          </tr>
        </thead>
        <tbody>
          ${of.rows.map((r) => html`
            <tr key=${[...by.split(",").map((g) => r[g]), r.currency].join()}>
              ${by.split(",").map((g) => html`
                <th scope="row">
                  <${Group} by=${g} of=${r[g]} />
                </th>
              `)}
              ${numbers(r)}
            </tr>
          `)}
        </tbody>
        <tfoot>
          ${of.totals.map((r) => html`
            <tr key=${r.currency}>
              <th scope="row" colspan=${by.split(",").length}>
                ${t("costs.total")}
              </th>
              ${numbers(r)}
            </tr>
          `)}
        </tfoot>
      </table>
    </div>
    ${of.more && html`<p class="note warn">${t("costs.more", { n: limit })}</p>`}
    ${unpriced && html`<p class="note warn">${t("costs.noprice")}</p>`}
  `;
}

// Group names what a row counts, with a link to its details.
function Group({ by, of }) {
  if (!of) return html`<span class="soft">${t("costs.none")}</span>`;
  const dayAfter = () => new Date(Date.parse(of + "T00:00:00Z") + 86400000).toISOString().slice(0, 10);
  const leads = {
    day: () => address("runs", "", { since: of + "T00:00:00Z", until: dayAfter() + "T00:00:00Z" }),
    job: () => address("automation", of),
    agent: () => address("costs", "", { by: "model", agent: of }),
    model: () => address("runs", "", { model: of }),
    session: () => address("conversations", of),
  }[by];
  const name =
    by !== "day"
      ? visible(of)
      : new Date(of + "T00:00:00Z").toLocaleDateString(language, {
          timeZone: "UTC",
          weekday: "short",
          year: "numeric",
          month: "short",
          day: "numeric",
        });
  return leads ? html`<a href=${leads()}>${name}</a>` : name;
}

function Budgets() {
  const read = useLoad(() => json("/v1/budgets"), []);
  const amount = (b, n) => (b.unit === "tokens" ? t("costs.tokens", { n: Number(n) }) : money(n, b.unit));
  return html`
    <section>
      <h2>${t("costs.budgets")}</h2>
      <${Loaded} of=${read}>
        ${({ budgets }) =>
          budgets.length === 0 ? html`
            <p class="soft">${t("costs.nobudget")}</p>
          ` : html`
            <ul class="lines" id="budgets">
              ${budgets.map((b) => html`
                <li key=${b.name + b.subject}>
                  <strong>${visible(b.name)}</strong> ${b.subject && visible(b.subject)}${" "}
                  <meter
                    min="0"
                    max="100"
                    low="80"
                    high="95"
                    optimum="0"
                    value=${Math.min(b.percent, 100)}
                    aria-label=${t("costs.usedof", { name: visible(b.name) })}
                  ></meter>${" "}
                  ${t(b.partial ? "costs.usedpartly" : "costs.used", {
                    used: amount(b, b.used),
                    limit: amount(b, b.limit),
                    percent: b.percent,
                  })}${" "}
                  <span class="soft">
                    ${t("costs.per." + b.per)}
                    ${b.until && html` · ${t("costs.until", { at: exact(b.until) })}`}
                  </span>
                </li>
              `)}
            </ul>
            ${budgets.some((b) => b.partial) && html`<p class="soft">${t("costs.partial")}</p>`}
          `
        }
      <//>
    </section>
  `;
}
