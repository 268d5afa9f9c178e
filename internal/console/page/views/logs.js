// Logs: the newest lines of the gateway's log. They are kept in memory, so a restart begins with an empty list.

import { json, owns } from "../api.js";
import { address } from "../router.js";
import { known, t, visible } from "../text.js";
import { html, useState } from "../ui/html.js";
import { ageColumn, List } from "../ui/list.js";
import { Chip, Facts, levelOf, Loaded, Text, useLoad, When } from "../ui/parts.js";
import { oneLine } from "./deliveries.js";

const levels = ["debug", "info", "warn", "error"];
const every = 15; // seconds: the stream reports only the lines of its own replica
const tones = { debug: "rest", info: "busy", warn: "warn", error: "bad" };

const chip = (l) => html`<${Chip} status=${l.level} tone=${tones[l.level]} text=${t("loglevel." + l.level)} />`;

const highest = "RESTRICTED"; // log lines have no level of their own, so they count as this one
const pageLevel = "channels.webchat.classification";
const command = "sluice logs";

export default function Logs() {
  const who = useLoad(() => json("/v1/me"), []); // again each time: a change of the configuration may have unlocked the log
  return html`
    <${Loaded} of=${who}>
      ${(me) => (levelOf(me.level) === highest ? html`<${Lines} />` : html`<${Locked} of=${me} />`)}
    <//>
  `;
}

// Locked says why the log is not shown, and what to change where.
function Locked({ of: me }) {
  const byPage = levelOf(me.token_level) === highest;
  const values = { level: known("level", levelOf(byPage ? me.level : me.token_level)), highest: known("level", highest) };
  return html`
    <div class="empty" data-part="locked">
      <h2>${t("logs.locked")}</h2>
      <p>${t("logs.nolevel", values)}</p>
      ${byPage ? html`
        <p>
          ${t("logs.pagelevel", values)} <code>${pageLevel}: ${highest}</code>
        </p>
        <p>
          ${t("logs.terminal")} <code>${command}</code>
        </p>
        ${owns() && html`
          <a class="button main" href=${address("config", "", { q: pageLevel })}>
            ${t("logs.change")}
          </a>
        `}
      ` : html`
        <p>${t("logs.tokenlevel", values)}</p>
      `}
    </div>
  `;
}

function Lines() {
  const [still, setStill] = useState(false);
  return html`
    <${List}
      name="logs"
      label=${t("view.logs")}
      path="/v1/logs"
      take=${(b) => b.lines}
      id=${(l) => l.id}
      kinds=${still ? [] : ["logs"]}
      every=${still ? 0 : every}
      head=${() => html`
        <div class="strip">
          <button type="button" class="small" onClick=${() => setStill(!still)}>
            ${t(still ? "logs.follow" : "logs.pause")}
          </button>
        </div>
      `}
      filters=${[
        { key: "level", text: t("logs.atleast"), options: levels, words: "loglevel" },
        { key: "part", text: t("logs.part"), hint: "telegram/default" },
        { key: "q", text: t("filter.words") },
      ]}
      columns=${[
        { text: t("col.status"), width: "6rem", on: "status", cell: chip },
        { text: t("logs.part"), width: "minmax(6rem, .5fr)", cell: (l) => visible(l.part ?? "") },
        { text: t("col.text"), width: "minmax(12rem, 2fr)", on: "main", cell: (l) => oneLine(l.text) },
        {
          text: t("logs.fields"),
          width: "minmax(10rem, 2fr)",
          on: "sub",
          cell: (l) => oneLine(l.fields.map((f) => f.name + "=" + f.value).join("  ")),
        },
        ageColumn((l) => l.at),
      ]}
      rowName=${(l) => l.text}
      empty=${html`<p>${t("logs.empty")}</p>`}
      detail=${One}
    />
  `;
}

function One({ row: l }) {
  if (!l) return html`<p class="note">${t("logs.gone")}</p>`;
  return html`
    <header class="detail-head">
      <h2>${oneLine(l.text)}</h2>
      <p>${chip(l)}</p>
    </header>
    <${Text} text=${l.text} />
    <${Facts}
      of=${[
        [t("col.time"), html`<${When} at=${l.at} />`],
        [t("logs.part"), visible(l.part ?? "")],
        ...l.fields.map((f) => [visible(f.name), visible(f.value)]),
      ]}
    />
  `;
}
