// A call of a tool, with its arguments and its result.

import { bytes, html, Level, t, Text, visible } from "../base.js";

// Tool shows a call in one line, with its arguments and its result behind it.
export function Tool({ of: one }) {
  const size = one.result !== undefined ? bytes(one.result.length) : "";
  return html`
    <details class=${"tool " + one.state} data-call=${one.id}>
      <summary>
        <span class="tool-name">${visible(one.name)}</span>${" "}
        <span class="soft">
          ${t("chat.tool." + one.state)} ${size}
        </span>
      </summary>
      ${one.args !== undefined && html`
        <${Text}
          code
          text=${typeof one.args === "string" ? one.args : JSON.stringify(one.args, null, 2)}
          label=${t("inbox.args")}
        />
      `}
      ${one.result !== undefined && html`
        <p class="soft">
          ${t("chat.result")} <${Level} label=${one.label} />
        </p>
        <${Text} code text=${one.result} label=${t("chat.result")} />
      `}
    </details>
  `;
}
