// Access: the tokens with what each may, and the browsers that are signed in.

import {
  Act, Age, ask, call, Copy, exact, Field, html, json, Level, levels, Loaded, me, Options, owns, post, Problem, Sheet,
  t, useLoad, useState, visible,
} from "../base.js";
import { Narrowed } from "../ui/list.js";

export default function Access() {
  return html`
    <div class="page-body">
      ${owns() && html`<${Tokens} />`}
      <${SignIns} />
    </div>
  `;
}

const roles = ["viewer", "operator", "owner", "sender"];

const nameOf = (row) => (row.name ? visible(row.name) : t("you.owner"));

function Tokens() {
  const read = useLoad(() => json("/v1/tokens"), []);
  const [made, show] = useState(null);
  return html`
    <section>
      <h2>${t("access.tokens")}</h2>
      <${Loaded} of=${read}>
        ${({ tokens }) => html`
          <${Narrowed}
            filter=${{ key: "role", text: t("access.role"), options: roles, words: "role" }}
            rows=${tokens}
            of=${(one) => one.role}
          >
            ${(matching) => html`
              <${Sheet}
                heads=${[
                  t("access.name"),
                  t("access.role"),
                  t("col.level"),
                  t("access.until"),
                  t("access.source"),
                  t("access.used"),
                ]}
                acts
              >
                ${matching.map((one) => html`
                  <tr key=${one.name}>
                    <td>${nameOf(one)}</td>
                    <td>${t("role." + one.role)}</td>
                    <td>
                      <${Level} label=${one.level} />
                    </td>
                    <td>${one.expires ? exact(one.expires) : "–"}</td>
                    <td>${one.source === "made" ? visible(one.by ?? "") : t("access.config")}</td>
                    <td>${one.last_used ? html`<${Age} at=${one.last_used} />` : "–"}</td>
                    <td>
                      ${one.source === "made" && html`
                        <${Act}
                          tone="danger"
                          done=${t("access.revoked")}
                          run=${async () => {
                            if (
                              !(await ask(t("access.revokeask", { name: visible(one.name) }), t("access.revoke"), {
                                danger: true,
                                detail: t("access.revokedetail"),
                              }))
                            )
                              return false;
                            await call("/v1/tokens/" + encodeURIComponent(one.name), { method: "DELETE" });
                            read.again();
                          }}
                        >
                          ${t("access.revoke")}
                        <//>
                      `}
                    </td>
                  </tr>
                `)}
              <//>
            `}
          <//>
        `}
      <//>
    </section>
    <section class="card">
      <h2>${t("access.make")}</h2>
      ${made ? html`
        <div class="note good">
          <p>${t("access.once", { name: visible(made.name) })}</p>
          <p>
            <code class="wrap" id="made">
              ${made.token}
            </code>
          </p>
        </div>
        <div class="acts">
          <${Copy} text=${made.token} />
          <button type="button" class="small" onClick=${() => show(null)}>
            ${t("access.kept")}
          </button>
        </div>
      ` : html`
        <${Make}
          done=${(token) => {
            show(token);
            read.again();
          }}
        />
      `}
    </section>
  `;
}

function Make({ done }) {
  const [form, set] = useState({ name: "", role: "viewer", level: "PUBLIC", expires_in: "" });
  const [error, fail] = useState(null);
  const field = (k) => ({ value: form[k], onInput: (e) => set({ ...form, [k]: e.target.value }) });
  const make = async (e) => {
    e.preventDefault();
    try {
      done(
        await post("/v1/tokens", {
          name: form.name.trim(),
          role: form.role,
          level: form.level,
          ...(form.expires_in.trim() ? { expires_in: form.expires_in.trim() } : {}),
        }),
      );
    } catch (problem) {
      fail(problem);
    }
  };
  return html`
    <form class="form" onSubmit=${make}>
      <${Field} text=${t("access.name")} hint=${t("access.namehint")}>
        <input required maxlength="64" pattern="[A-Za-z0-9._\\-]+" ...${field("name")} />
      <//>
      <${Field} text=${t("access.role")} hint=${t("rolehint." + form.role)}>
        <select ...${field("role")}>
          <${Options} of=${roles} chosen=${form.role} name=${(r) => t("role." + r)} />
        </select>
      <//>
      <${Field} text=${t("col.level")} hint=${t("access.levelhint")}>
        <select ...${field("level")}>
          <${Options} of=${levels} chosen=${form.level} name=${(l) => t("level." + l)} />
        </select>
      <//>
      <${Field} text=${t("access.until")} hint=${t("access.untilhint")}>
        <input ...${field("expires_in")} />
      <//>
      ${error && html`<${Problem} error=${error} />`}
      <button type="submit" class="main">
        ${t("access.maketoken")}
      </button>
    </form>
  `;
}

function SignIns() {
  const read = useLoad(() => json("/v1/sign-ins"), []);
  return html`
    <section>
      <h2>${t("access.signins")}</h2>
      <${Loaded} of=${read}>
        ${({ sign_ins: all }) =>
          all.length ? html`
            <ul class="lines">
              ${all.map((s) => html`
                <li key=${s.id}>
                  <strong>${nameOf(s)}</strong> ${s.current && html`<span class="tag">${t("access.current")}</span>`}${" "}
                  <span class="soft">
                    ${visible(s.agent).slice(0, 90)} · ${s.address} · ${t("access.since")} <${Age} at=${s.created} />
                    ${s.last_used && html`
                      ${" "}
                      · ${t("access.used")} <${Age} at=${s.last_used} />
                    `}
                  </span>
                  ${!s.current && html`
                    ${" "}
                    <${Act}
                      allowed=${Boolean(me)}
                      tone="danger"
                      done=${t("access.ended")}
                      run=${async () => {
                        await call("/v1/sign-ins/" + encodeURIComponent(s.id), { method: "DELETE" });
                        read.again();
                      }}
                    >
                      ${t("access.end")}
                    <//>
                  `}
                </li>
              `)}
            </ul>
          ` : html`
            <p class="soft">${t("access.nosignin")}</p>
          `
        }
      <//>
    </section>
  `;
}
