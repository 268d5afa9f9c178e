// What a conversation did: its runs one by one, and what it asked of others.

import {
  address, Age, Chip, html, json, Level, Loaded, number, sessionName, span, t, useLoad, visible,
} from "../base.js";
import { oneLine } from "../views/deliveries.js";
import { took, tokens, waited } from "../views/runs.js";

export function Steps({ session }) {
  const read = useLoad(() => json(`/v1/sessions/${encodeURIComponent(session)}/runs?limit=50`), [session]);
  return html`
    <div class="page-body inner">
      <${Loaded} of=${read}>
        ${({ runs }) =>
          runs.length === 0 ? html`
            <p class="empty">${t("runs.empty")}</p>
          ` : html`
            <ol class="lines">
              ${runs.map((r) => html`
                <li key=${r.id}>
                  <${Chip} status=${r.status} />${" "}
                  <a href=${address("runs", r.id)}>${oneLine(r.input).slice(0, 90) || r.kind}</a>${" "}
                  <${Level} short label=${r.label} />
                  <span class="soft">
                    ${visible(r.model ?? "")} ${took(r) !== null && t("runs.tookv", { v: span(took(r)) })}${" "}
                    ${waited(r) > 1000 && t("runs.waitedv", { v: span(waited(r)) })} ${tokens(r.usage)}${" "}
                    ${r.attempts > 1 && t("runs.tries", { n: r.attempts })} · <${Age} at=${r.accepted} />
                  </span>${" "}
                  <a href=${address("why", r.id)}>${t("why.button")}</a>
                  ${r.error && html`<p class="note bad">${visible(r.error)}</p>`}
                </li>
              `)}
            </ol>
          `
        }
      <//>
    </div>
  `;
}

// Graph draws what this conversation asked of others, and what they asked of it.
export function Graph({ session }) {
  const read = useLoad(async () => {
    const { id } = await json("/v1/sessions/" + encodeURIComponent(session));
    return { id, ...(await json("/v1/exchanges?limit=100&session=" + encodeURIComponent(id))) };
  }, [session]);
  return html`
    <div class="page-body inner">
      <${Loaded} of=${read}>
        ${({ id, exchanges }) =>
          exchanges.length === 0 ? html`
            <p class="empty">${t("graph.empty")}</p>
          ` : html`
            <${Drawing} id=${id} exchanges=${exchanges} />
            <ol class="lines">
              ${exchanges.map((x) => html`
                <li key=${x.id}>
                  <${Chip} status=${x.phase === "ended" ? x.outcome : x.phase} />${" "}
                  ${x.kind === "spawn" ? t("graph.spawn") : t("graph.send")}${" "}
                  <a href=${address("conversations", other(x, id).session)}>${partyName(other(x, id))}</a>${" "}
                  <${Level} short label=${x.label} />
                  <span class="soft">
                    ${t("graph.turns", { n: x.turn, max: number(x.max_turns) })} · <${Age} at=${x.started} />
                  </span>${" "}
                  <a href=${address("why", x.id)}>${t("why.button")}</a>
                  <p>${oneLine(x.request)}</p>
                  ${x.reply && html`<p class="soft">${oneLine(x.reply)}</p>`}
                  ${x.detail && html`<p class="note">${visible(x.detail)}</p>`}
                </li>
              `)}
            </ol>
          `
        }
      <//>
    </div>
  `;
}

const other = (x, id) => (x.requester.session === id ? x.target : x.requester);
const partyName = (p) =>
  [p.key ? sessionName(p.key) : visible(p.session ?? ""), visible(p.agent ?? "")].filter(Boolean).join(" · ");

function Drawing({ id, exchanges }) {
  const others = [...new Map(exchanges.map((x) => [other(x, id).session, other(x, id)])).values()].slice(0, 24);
  const rows = Math.max(others.length, 1),
    high = rows * 44 + 20;
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${t("chat.graph")}>
      <svg
        class="graph"
        width="640"
        height=${high}
        viewBox=${`0 0 640 ${high}`}
        role="img"
        aria-label=${t("graph.label", { n: others.length })}
      >
        ${others.map((o, i) => {
          const y = 32 + i * 44,
            mine = exchanges.some((x) => x.requester.session === id && x.target.session === o.session);
          return html`
            <path
              d=${`M170 ${high / 2} C 250 ${high / 2}, 250 ${y}, 330 ${y}`}
              class=${mine ? "out" : "in"}
              fill="none"
            />
            <rect x="330" y=${y - 16} width="300" height="32" rx="8"></rect>
            <text x="342" y=${y + 5}>
              ${partyName(o).slice(0, 40)}
            </text>
          `;
        })}
        <rect x="10" y=${high / 2 - 16} width="160" height="32" rx="8" class="self"></rect>
        <text x="22" y=${high / 2 + 5}>
          ${t("graph.self")}
        </text>
      </svg>
    </div>
  `;
}
