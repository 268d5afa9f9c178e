// What only somebody may see who sees everything: it, or what to change where.

import { address, html, json, known, levelOf, Loaded, owns, t, useLoad } from "../base.js";

const highest = "RESTRICTED";
const pageLevel = "channels.webchat.classification";

// Everything shows content to those who see everything, else why it is not shown. command shows the same in a terminal.
export function Everything({ title, why, command, top, content: Content }) {
  const who = useLoad(() => json("/v1/me"), []); // again each time: a change of the configuration may have unlocked it
  return html`
    <${Loaded} of=${who}>
      ${(me) =>
        levelOf(me.level) === highest ? html`<${Content} top=${top} />` : html`
          <div class="page-body">
            ${top}
            <${Locked} title=${title} why=${why} command=${command} of=${me} />
          </div>
        `}
    <//>
  `;
}

function Locked({ title, why, command, of: me }) {
  const byPage = levelOf(me.token_level) === highest;
  const values = { level: known("level", levelOf(byPage ? me.level : me.token_level)), highest: known("level", highest) };
  return html`
    <div class="empty" data-part="locked">
      <h2>${title}</h2>
      <p>${why(values)}</p>
      ${byPage ? html`
        <p>
          ${t("locked.page", values)} <code>${pageLevel}: ${highest}</code>
        </p>
        <p>
          ${t("locked.terminal")} <code>${command}</code>
        </p>
        ${owns() && html`
          <a class="button main" href=${address("config", "", { q: pageLevel })}>
            ${t("locked.change")}
          </a>
        `}
      ` : html`
        <p>${t("locked.token", values)}</p>
      `}
    </div>
  `;
}
