// Logs: the newest lines of the gateway's log. They are kept in memory, so a restart begins with an empty list.

import { Chip, Facts, html, known, t, Text, useState, visible, When } from "../base.js";
import { ageColumn, List } from "../ui/list.js";
import { Everything } from "../ui/locked.js";
import { oneLine } from "./deliveries.js";

const levels = ["debug", "info", "warn", "error"];
const every = 15; // seconds: the stream reports only the lines of its own replica
const tones = { debug: "rest", info: "busy", warn: "warn", error: "bad" };

const chip = (l) => html`<${Chip} status=${l.level} tone=${tones[l.level]} text=${t("loglevel." + l.level)} />`;

export default function Logs() {
  return html`
    <${Everything}
      title=${t("logs.locked")}
      why=${(values) => t("logs.nolevel", values)}
      command="sluice logs"
      content=${Lines}
    />
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
