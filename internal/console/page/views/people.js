// People: who is heard, who asks to be, and what decides it.

import {
  Act, address, Age, ask, Chip, Facts, html, json, known, Loaded, onChange, post, Sheet, t, useEffect, useLoad,
  visible,
} from "../base.js";
import { Narrowed } from "../ui/list.js";
import { Person } from "./inbox.js";

const states = ["approved", "denied", "revoked", "pending"];

export default function People() {
  const read = useLoad(() => json("/v1/pairings?status=all"), []);
  useEffect(() => onChange(["pairings"], read.again), []);
  return html`
    <div class="page-body">
      <${Loaded} of=${read}>
        ${({ pairings }) => {
          const asking = pairings.filter((p) => p.status === "pending" && p.code);
          const rest = pairings.filter((p) => !asking.includes(p));
          return html`
            <section>
              <h2>${t("people.asking")}</h2>
              ${asking.length ? (
                asking.map((p) => html`<${Person} key=${p.code} p=${p} again=${read.again} />`)
              ) : html`
                <p class="soft">${t("people.nobody")}</p>
              `}
            </section>
            <section data-part="answered">
              <h2>${t("people.heard")}</h2>
              ${rest.length ? html`
                <${Narrowed}
                  filter=${{ key: "state", text: t("col.status"), options: states }}
                  rows=${rest}
                  of=${(p) => p.status}
                >
                  ${(matching) => html`
                    <${Sheet}
                      heads=${[t("col.status"), t("people.person"), t("col.channel"), t("people.since")]}
                      acts
                    >
                      ${matching.map((p) => html`
                        <tr key=${p.channel + p.account + p.user.id}>
                          <td>
                            <${Chip} status=${p.status} />
                          </td>
                          <td>
                            ${visible(p.user.name || p.user.id)}${" "}
                            <span class="soft">${p.user.name && visible(p.user.id)}</span>
                          </td>
                          <td>
                            ${p.channel} <span class="soft">${p.account}</span>
                          </td>
                          <td>
                            <${Age} at=${p.created} />
                          </td>
                          <td>
                            ${p.status === "approved" && html`
                              <${Act}
                                tone="danger"
                                done=${t("people.revoked")}
                                run=${async () => {
                                  if (
                                    !(await ask(
                                      t("people.revokeask", { name: visible(p.user.name || p.user.id) }),
                                      t("people.revoke"),
                                      { danger: true },
                                    ))
                                  )
                                    return false;
                                  await post("/v1/pairings/revoke", {
                                    channel: p.channel,
                                    account: p.account,
                                    user: p.user.id,
                                  });
                                  read.again();
                                }}
                              >
                                ${t("people.revoke")}
                              <//>
                            `}
                          </td>
                        </tr>
                      `)}
                    <//>
                  `}
                <//>
              ` : html`
                <p class="soft">${t("people.none")}</p>
              `}
            </section>
          `;
        }}
      <//>
      <${Speakers} />
      <${Refused} />
    </div>
  `;
}

// Speakers lists who has spoken or may, where, and by what right; and whom each channel lets speak.
function Speakers() {
  const read = useLoad(() => json("/v1/people"), []);
  useEffect(() => onChange(["pairings", "runs"], read.again), []);
  const right = (r) => html`<${Chip} status=${r} tone=${tones[r]} text=${t("right." + r)} />`;
  return html`
    <${Loaded} of=${read}>
      ${({ people, channels, more }) => html`
        <section data-part="speakers">
          <h2>${t("people.where")}</h2>
          ${people.length ? html`
            <${Sheet}
              label=${t("people.where")}
              heads=${[t("people.person"), t("people.private"), t("people.spoke")]}
            >
              ${people.map((p) => html`
                <tr key=${p.person}>
                  <td>
                    ${visible(p.user.name || p.user.id)} <span class="soft">${visible(p.person)}</span>
                  </td>
                  <td>${right(p.direct)}</td>
                  <td>
                    ${p.spoke.length ? html`
                      <ul class="lines">
                        ${p.spoke.map((s) => html`
                          <li key=${s.session + s.conversation}>
                            <a href=${address("conversations", s.session)}>
                              ${known("chattype", s.chat_type)} ${visible(s.title || s.conversation)}
                            </a>${" "}
                            ${right(s.right)}${" "}
                            <span class="soft">
                              ${t("people.times", { n: s.messages })} · <${Age} at=${s.last} />
                            </span>
                          </li>
                        `)}
                      </ul>
                    ` : html`
                      <span class="soft">${t("people.notspoken")}</span>
                    `}
                  </td>
                </tr>
              `)}
            <//>
          ` : html`
            <p class="soft">${t("people.nospeaker")}</p>
          `}
          ${more && html`<p class="soft">${t("people.more")}</p>`}
        </section>
        <section data-part="channels">
          <h2>${t("people.channels")}</h2>
          ${channels.length ? html`
            <div class="cards">
              ${channels.map((c) => html`
                <article class="card" key=${c.channel}>
                  <header>
                    <h2>${visible(c.channel)}</h2>
                  </header>
                  <${Facts}
                    of=${[
                      [t("people.private"), known("access", c.direct)],
                      [t("people.listed"), c.allow_from.map(visible).join(", ")],
                      [t("people.groups"), known("access", c.groups)],
                    ]}
                  />
                  ${c.listed.length > 0 && html`
                    <ul class="lines">
                      ${c.listed.map((g) => html`
                        <li key=${g.kind + g.id}>
                          <code>${g.id === "*" ? t("people.othergroups") : visible(g.id)}</code> ${heard(g)}
                          ${g.require_mention && html`
                            ${" "}
                            <span class="soft">${t("people.mention")}</span>
                          `}
                        </li>
                      `)}
                    </ul>
                  `}
                </article>
              `)}
            </div>
          ` : html`
            <p class="soft">${t("people.nochannel")}</p>
          `}
          <p class="soft">
            ${t("people.change")} <a href=${address("config")}>${t("view.config")}</a>
          </p>
        </section>
      `}
    <//>
  `;
}

const tones = {
  owner: "good",
  open: "good",
  listed: "good",
  role: "good",
  paired: "good",
  token: "good",
  ask: "warn",
  none: "rule",
};

// heard says who is heard in a group of the configuration.
const heard = (g) =>
  [
    g.allow_from.includes("*") || g.allow_from.length + g.allow_roles.length === 0
      ? t("people.everybody")
      : g.allow_from.map(visible).join(", "),
    g.allow_roles.length > 0 && t("people.roles", { names: g.allow_roles.map(visible).join(", ") }),
  ]
    .filter(Boolean)
    .join("; ");

// Refused lists whose messages were refused, with the reason. Their texts are not kept.
function Refused() {
  const read = useLoad(() => json("/v1/refused?limit=50"), []);
  return html`
    <section>
      <h2>${t("people.refused")}</h2>
      <${Loaded} of=${read}>
        ${({ refused }) =>
          refused.length ? html`
            <ul class="lines">
              ${refused.map((r) => html`
                <li key=${r.id}>
                  <strong>${visible(r.user.name || r.user.id)}</strong> ${r.channel} ${visible(r.title || r.conversation)}${" "}
                  <span class="soft">
                    ${visible(r.reason)} · ${t("people.times", { n: r.count })} · <${Age} at=${r.last} />
                  </span>${" "}
                  <a href=${address("why", r.id)}>${t("why.button")}</a>
                </li>
              `)}
            </ul>
          ` : html`
            <p class="soft">${t("people.norefused")}</p>
          `
        }
      <//>
    </section>
  `;
}
