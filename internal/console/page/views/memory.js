// Memory: what the agents know, for whom and at which level; every version, and forgetting.

import {
  Act, address, Age, ask, call, Chip, Facts, html, json, Level, levels, Loaded, t, Text, useLoad, visible, When,
} from "../base.js";
import { ageColumn, levelColumn, List } from "../ui/list.js";
import { oneLine } from "./deliveries.js";

const label = (m) => m.classification + "/" + m.trust;

export default function Memory() {
  return html`
    <${List}
      name="memory"
      label=${t("view.memory")}
      path="/v1/memory"
      take=${(b) => b.memories}
      id=${(m) => m.id}
      kinds=${["runs"]}
      filters=${[
        { key: "q", text: t("filter.words") },
        { key: "namespace", text: t("col.namespace") },
        { key: "audience", text: t("col.audience"), hint: "owner" },
        { key: "level", text: t("col.level"), options: levels, words: "level" },
        { key: "tag", text: t("memory.tag") },
      ]}
      columns=${[
        { text: t("col.namespace"), width: "7.5rem", on: "status", cell: (m) => visible(m.namespace) },
        { text: t("col.key"), width: "minmax(7rem, .8fr)", on: "main", cell: (m) => visible(m.key) },
        { text: t("col.text"), width: "minmax(10rem, 2fr)", on: "sub", cell: (m) => oneLine(m.content) },
        { text: t("col.audience"), width: "minmax(6rem, .6fr)", cell: (m) => visible(m.audience) },
        levelColumn(label),
        ageColumn((m) => m.updated_at),
      ]}
      rowName=${(m) => m.key}
      why=${(m) => address("why", m.id)}
      empty=${html`<p>${t("memory.empty")}</p>`}
      detail=${One}
    />
  `;
}

function One({ id, refresh, close }) {
  const path = "/v1/memory/" + encodeURIComponent(id);
  const read = useLoad(() => json(path), [id]);
  return html`
    <${Loaded} of=${read}>
      ${({ memory: m, versions }) => html`
        <header class="detail-head">
          <h2>${visible(m.key)}</h2>
          <p>
            <${Level} label=${label(m)} />
            ${m.deleted && html`
              ${" "}
              <${Chip} status="discarded" text=${t("memory.forgotten")} />
            `}
          </p>
        </header>
        <${Text} text=${m.content} />
        ${!m.ended_at && !m.deleted && html`
          <div class="acts">
            <${Act}
              tone="danger"
              done=${t("memory.done")}
              run=${async () => {
                if (
                  !(await ask(t("memory.ask", { key: visible(m.key) }), t("memory.forget"), {
                    danger: true,
                    detail: t("memory.kept"),
                  }))
                )
                  return false;
                await call(path, { method: "DELETE" });
                refresh();
                close();
              }}
            >
              ${t("memory.forget")}
            <//>
          </div>
        `}
        <${Facts}
          of=${[
            [t("col.namespace"), visible(m.namespace)],
            [t("col.audience"), visible(m.audience)],
            [t("memory.tags"), m.tags?.map(visible).join(", ")],
            [t("col.session"), m.session && html`<a href=${address("conversations", m.session)}>${m.session}</a>`],
            [t("col.run"), m.run && html`<a href=${address("runs", m.run)}>${m.run}</a>`],
            [t("col.created"), html`<${When} at=${m.created_at} />`],
            [t("memory.updated"), html`<${When} at=${m.updated_at} />`],
            [t("memory.expires"), m.expires_at && html`<${When} at=${m.expires_at} />`],
          ]}
        />
        <h3>${t("memory.versions")}</h3>
        <ol class="versions">
          ${versions.map((v) => html`
            <li>
              <a href=${address("memory", v.id)}>
                <${Age} at=${v.updated_at} />
              </a>${" "}
              <${Level} short label=${label(v)} />${" "}
              <span class="soft">
                ${v.deleted ? t("memory.forgotten") : v.ending ? t("memory.ending." + v.ending) : t("memory.current")}
              </span>
              <p>${oneLine(v.content)}</p>
            </li>
          `)}
        </ol>
      `}
    <//>
  `;
}
