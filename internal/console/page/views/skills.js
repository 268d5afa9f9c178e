// Skills: what agents can look up how to do, whether its content is what was reviewed, and trusting it.

import { Act, ask, Chip, Facts, html, json, known, Level, owns, t, useLoad, visible, When } from "../base.js";
import { Card, Cards } from "../ui/cards.js";

const tones = { ok: "good", unpinned: "warn", changed: "bad", invalid: "bad", missing: "bad" };
const short = (digest) => digest && html`<code title=${digest}>${visible(digest.replace(/^sha256:/, "").slice(0, 12))}</code>`;

export default function Skills() {
  const read = useLoad(() => json("/v1/skills"), []);
  return html`
    <div class="page-body">
      <${Cards} of=${read} take=${(b) => b.skills} id=${(s) => s.agent + "/" + s.name} empty=${t("skills.empty")}>
        ${(s) => html`
          <${Skill} of=${s} again=${read.again} />
        `}
      <//>
    </div>
  `;
}

function Skill({ of: s, again }) {
  const pinned = s.trust === "trusted" && s.state === "ok";
  const pin = (trust) => async () => {
    if (
      trust &&
      !(await ask(t("skills.ask", { name: visible(s.name), agent: visible(s.agent) }), t("skills.trust"), {
        detail: t("skills.detail"),
      }))
    )
      return false;
    await json("/v1/skills/" + encodeURIComponent(s.name) + "?agent=" + encodeURIComponent(s.agent), {
      method: "PATCH",
      body: { trust, digest: s.digest },
    });
    again();
    return true;
  };
  return html`
    <${Card}
      title=${visible(s.name)}
      mark=${html`<${Chip} status=${s.state} tone=${tones[s.state]} text=${known("skillstate", s.state)} />`}
      acts=${s.digest && html`
        <${Act} allowed=${owns()} done=${t("skills.done")} run=${pin(!pinned)}>
          ${pinned ? t("skills.distrust") : t("skills.trust")}
        <//>
      `}
    >
      ${s.description && html`<p>${visible(s.description)}</p>`}
      ${s.problem && html`<p class="note bad">${visible(s.problem)}</p>`}
      <${Facts}
        of=${[
          [t("chat.agent"), visible(s.agent)],
          [t("skills.trusted"), known("skilltrust", s.trust)],
          [t("col.level"), html`<${Level} label=${s.classification} />`],
          [t("skills.digest"), short(s.digest)],
          [t("skills.pinned"), s.pinned !== s.digest && short(s.pinned)],
          [t("skills.signer"), s.signer && visible(s.signer)],
          [t("skills.source"), s.source && visible(s.source)],
          [t("skills.by"), s.by && visible(s.by)],
          [t("skills.added"), s.added && html`<${When} at=${s.added} />`],
        ]}
      />
    <//>
  `;
}
