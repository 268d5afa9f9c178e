// Conversations: find one, read it, steer it, write in it.

import { address, Age, Chip, html, levels, sessionName, t, visible } from "../base.js";
import { levelColumn, List } from "../ui/list.js";
import { Conversation } from "../ui/conversation.js";

const kinds = ["main", "direct", "group", "channel", "cron", "hook", "node", "subagent", "api"];

// nameOf is what a session is called for people: its title, the name that somebody gave it, or what its key says.
export const nameOf = (s) => visible(s.title || s.label || "") || sessionName(s.key, s.place);

export default function Conversations() {
  return html`
    <${List}
      name="conversations"
      reader
      label=${t("view.conversations")}
      path="/v1/sessions"
      take=${(b) => b}
      id=${(s) => s.id}
      kinds=${["runs"]}
      filters=${[
        { key: "q", text: t("filter.words") },
        { key: "channel", text: t("col.channel") },
        { key: "agent", text: t("col.agent") },
        { key: "kind", text: t("col.kind"), options: kinds, words: "sessionkind" },
        { key: "level", text: t("col.level"), options: levels, words: "level" },
        { key: "busy", text: t("col.status"), options: ["true"], names: { true: t("status.busy") } },
        { key: "archived", text: t("conversations.which"), all: t("conversations.kept"), options: ["true"], names: { true: t("conversations.archived") } },
      ]}
      head=${() => html`
        <div class="strip">
          <a class="button small" href=${address("conversations", "main")}>
            ${t("conversations.main")}
          </a>
        </div>
      `}
      columns=${[
        {
          text: t("col.status"),
          width: "7.5rem",
          on: "status",
          cell: (s) => html`<${Chip} status=${s.status === "archived" ? "archived" : s.busy ? "busy" : "ready"} />`,
        },
        { text: t("conversations.title"), width: "minmax(10rem, 2fr)", on: "main", cell: nameOf },
        { text: t("col.channel"), width: "minmax(5rem, .6fr)", cell: (s) => s.channel },
        {
          text: t("col.agent"),
          width: "minmax(5rem, .6fr)",
          on: "sub",
          cell: (s) => visible(s.agent) + (s.channel ? " · " + s.channel : ""),
        },
        { text: t("col.model"), width: "minmax(6rem, .8fr)", cell: (s) => visible(s.model) },
        levelColumn((s) => s.taint),
        {
          text: t("conversations.last"),
          width: "4rem",
          on: "age",
          end: true,
          cell: (s) => html`<${Age} at=${new Date(s.last_activity * 1000).toISOString()} />`,
        },
      ]}
      rowName=${nameOf}
      empty=${
        html`
          <p>${t("conversations.empty")}</p>
          <a class="button main" href=${address("conversations", "main")}>
            ${t("conversations.write")}
          </a>
        `
      }
      detail=${Conversation}
    />
  `;
}
