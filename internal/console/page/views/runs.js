// Runs: what the agents have worked on, how long it waited and took, and how it ended.

import {
  Act, address, Chip, clock, Facts, html, json, known, Level, Loaded, Moment, number, Place, post, span, t, Unfold,
  useLoad, visible, When,
} from "../base.js";
import { ageColumn, List, statusColumn } from "../ui/list.js";
import { Markdown } from "../ui/markdown-view.js";
import { Tool } from "../ui/tool.js";
import { oneLine } from "./deliveries.js";

export const statuses = ["queued", "running", "done", "failed", "timeout", "aborted", "dropped"];
const between = (from, to) => (from && to ? Date.parse(to) - Date.parse(from) : null);
export const took = (r) => r.took_ms ?? between(r.started, r.finished);
export const waited = (r) => r.waited_ms ?? between(r.accepted, r.started);

export default function Runs() {
  return html`
    <${List}
      name="runs"
      label=${t("view.runs")}
      path="/v1/runs"
      take=${(b) => b.runs}
      id=${(r) => r.id}
      kinds=${["runs"]}
      filters=${[
        { key: "q", text: t("filter.words") },
        { key: "status", text: t("col.status"), options: statuses },
        {
          key: "kind",
          text: t("col.kind"),
          options: ["message", "ask", "reply", "announce", "task", "report", "command", "note", "trigger"],
          words: "kind",
        },
        { key: "agent", text: t("col.agent") },
        { key: "model", text: t("col.model") },
        { key: "channel", text: t("col.channel") },
        { key: "slow", text: t("filter.slow"), hint: "5000" },
        { key: "since", text: t("filter.since"), type: "time" },
        { key: "until", text: t("filter.until"), type: "moment" },
      ]}
      columns=${[
        statusColumn(),
        {
          text: t("col.input"),
          width: "minmax(6rem, 1.6fr)",
          on: "main",
          cell: (r) => oneLine(r.input) || html`<span class="soft">${known("kind", r.kind)}</span>`,
        },
        {
          text: t("conversations.title"),
          width: "minmax(7rem, 1fr)",
          cell: (r) => html`
            <${Place} of=${r.route} />${" "}
            <span class="soft">${known("kind", r.kind)}</span>
          `,
        },
        { text: t("col.model"), width: "minmax(7rem, .9fr)", on: "sub", cell: (r) => visible(r.model ?? "") },
        { text: t("col.waited"), width: "4rem", end: true, cell: (r) => waited(r) !== null && span(waited(r)) },
        { text: t("col.took"), width: "4rem", end: true, cell: (r) => took(r) !== null && span(took(r)) },
        { text: t("col.tokens"), width: "6.2rem", end: true, cell: (r) => tokens(r.usage) },
        { text: t("col.tries"), width: "4.5rem", end: true, wide: true, cell: (r) => number(r.attempts) },
        ageColumn((r) => r.accepted),
      ]}
      why=${(r) => address("why", r.id)}
      rowName=${(r) => r.id}
      empty=${html`<p>${t("runs.empty")}</p>`}
      detail=${Run}
    />
  `;
}

export const tokens = (u) =>
  u?.inputTokens || u?.outputTokens ? `${number(u.inputTokens ?? 0)} › ${number(u.outputTokens ?? 0)}` : "";

function Run({ id, row, refresh }) {
  const read = useLoad(() => json("/v1/runs/" + encodeURIComponent(id)), [id, row?.status]);
  return html`
    <${Loaded} of=${read}>
      ${(r) => html`
        <header class="detail-head">
          <h2>${oneLine(r.input).slice(0, 80) || r.kind}</h2>
          <p>
            <${Chip} status=${r.status} /> <${Level} label=${r.label} />
          </p>
        </header>
        ${r.error && html`<p class="note bad">${visible(r.error)}</p>`}
        ${r.withheld && html`<p class="note rule">${visible(r.withheld.message)}</p>`}
        <div class="acts">
          <a class="button small" href=${address("conversations", r.session)}>
            ${t("runs.conversation")}
          </a>
          ${["queued", "running"].includes(r.status) && html`
            <${Act}
              tone="danger"
              icon="stop"
              done=${t("runs.stopped")}
              run=${async () => {
                await post(`/v1/sessions/${encodeURIComponent(r.session)}/runs/${encodeURIComponent(r.id)}/cancel`);
                read.again();
                refresh();
              }}
            >
              ${t("runs.stop")}
            <//>
          `}
        </div>
        ${r.input && html`
          <h3>${t("col.input")}</h3>
          <section class="said">
            <${Markdown} text=${r.input} />
          </section>
        `}
        ${r.reply && html`
          <h3>${t("runs.reply")}</h3>
          <section class="said">
            <${Markdown} text=${r.reply} />
          </section>
        `}
        ${r.started && html`
          <${Unfold} key=${r.id} part="steps" text=${t("runs.steps")}>
            ${() => html`<${StepList} run=${r} />`}
          <//>
        `}
        <${Facts}
          of=${[
            [t("col.id"), html`<code>${r.id}</code>`],
            [t("col.kind"), r.kind],
            [t("col.model"), visible(r.model ?? "")],
            [t("col.waited"), waited(r) !== null && span(waited(r))],
            [t("col.took"), took(r) !== null && span(took(r))],
            [t("col.tokens"), tokens(r.usage)],
            [t("col.tries"), number(r.attempts)],
            [t("col.to"), html`<${Place} of=${r.route} />`],
            [t("runs.leader"), r.leader && html`<a href=${address("runs", r.leader)}>${r.leader}</a>`],
            [t("runs.accepted"), html`<${When} at=${r.accepted} />`],
            [t("runs.started"), r.started && html`<${When} at=${r.started} />`],
            [t("col.finished"), r.finished && html`<${When} at=${r.finished} />`],
          ]}
        />
      `}
    <//>
  `;
}

// callTokens are the tokens of one call: input, with those from the provider's cache, and output.
const callTokens = (u) =>
  t(u.cachedTokens ? "runs.calltokenscached" : "runs.calltokens", {
    in: number(u.inputTokens ?? 0),
    out: number(u.outputTokens ?? 0),
    cached: number(u.cachedTokens ?? 0),
  });

// StepList shows what a run did, as its conversation has it: calls of models, and tools with their results.
function StepList({ run }) {
  const read = useLoad(
    () => json(`/v1/sessions/${encodeURIComponent(run.session)}/history?limit=500&run=${encodeURIComponent(run.id)}`),
    [run.id, run.status],
  );
  return html`
    <${Loaded} of=${read}>
      ${({ messages }) => {
        const steps = stepsOf(messages, run.started, run.model_calls);
        return steps.length === 0 ? html`
          <p class="soft">${t("runs.nosteps")}</p>
        ` : html`
          <ol class="lines">
            ${steps.map((s) => html`
              <li key=${s.id}>
                ${s.model !== undefined ? html`
                  <strong>${visible(s.model)}</strong> ${oneLine(s.text)}
                  ${s.calls.map((c) => html`
                    ${" "}
                    <span class="soft" data-part="call">
                      ${c.failed ? t("runs.callfailed", { model: visible(c.model) }) : callTokens(c.usage)}
                    </span>
                  `)}
                ` : html`
                  <${Tool} of=${s} />
                `}${" "}
                ${s.at && html`
                  <span class="soft">
                    ${t("runs.tookv", { v: span(s.took) })} ·${" "}
                    <${Moment} at=${s.at}>
                      ${clock(s.at)}
                    <//>
                  </span>
                `}
              </li>
            `)}
          </ol>
        `;
      }}
    <//>
  `;
}

// stepsOf are the steps in a run's messages. Each takes from the end of what came before it to its own; calls of tools that run
// together end together. A call of a model belongs to the message after its start.
function stepsOf(messages, started, calls = []) {
  const steps = [];
  let before = started;
  for (const m of messages) {
    const times = { at: m.created, took: Date.parse(m.created) - Date.parse(before) };
    if (m.role === "assistant") {
      const [from, to] = [Date.parse(before), Date.parse(m.created)];
      steps.push({
        id: m.id,
        model: m.model ?? "",
        text: m.text,
        calls: calls.filter((c) => Date.parse(c.started) >= from && Date.parse(c.started) <= to),
        ...times,
      });
      for (const p of m.parts ?? [])
        if (p.type === "toolCall") steps.push({ id: p.callId, name: p.tool, args: p.args, state: "running" });
    }
    for (const p of m.role === "toolResult" ? (m.parts ?? []) : []) {
      const call = steps.find((s) => s.id === p.callId);
      if (call)
        Object.assign(call, { result: p.text ?? "", state: p.error ? "failed" : "done", label: p.label, ...times });
    }
    if (m.role === "assistant" || m.role === "toolResult") before = m.created;
  }
  return steps;
}
