// A decision of the gate: what it says, and every rule that it looked at, in order.

import { Chip, html, known, t, visible } from "../base.js";

export const Decision = ({ of }) => html`
  <div class="decision">
    <p>
      <${Chip} status=${of.action} /> ${visible(of.reason)}
    </p>
    <${Rules} of=${of.rules} />
  </div>
`;

// Rules lists rules that were looked at. The ones that decided are marked.
export const Rules = ({ of }) =>
  of?.length ? html`
    <ol class="rules">
      ${of.map((r) => html`
        <li class=${r.matched ? "matched" : ""}>
          <span class="mark" aria-hidden="true">
            ${r.matched ? "●" : "○"}
          </span>
          <code>${visible(r.rule)}</code>${" "}
          <span class="soft">${r.matched ? known("status", r.action || "allow") : t("policy.nomatch")}</span>
          ${r.detail && html`<span class="rule-detail">${visible(r.detail)}</span>`}
        </li>
      `)}
    </ol>
  ` : null;
