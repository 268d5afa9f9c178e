// Short words about what was done, at the edge of the page. They are read out, and take the focus from nobody.

import { t } from "../text.js";
import { html, render } from "./html.js";
import { Icon } from "./icon.js";

let shown = [];
let next = 0;

// toast shows a text for some seconds; a bad one stays until it is closed.
export function toast(text, tone = "good") {
  const one = { id: ++next, text, tone };
  shown = [...shown.slice(-3), one];
  draw();
  if (tone !== "bad") setTimeout(() => close(one.id), 5000);
}

function close(id) {
  shown = shown.filter((one) => one.id !== id);
  draw();
}

function draw() {
  let box = document.getElementById("toasts");
  if (!box) {
    box = document.createElement("div");
    box.id = "toasts";
    box.setAttribute("role", "status");
    document.body.append(box);
  }
  render(html`${shown.map((one) => html`<div key=${one.id} class=${"toast " + one.tone}><span>${one.text}</span>
    <button type="button" class="quiet iconic" aria-label=${t("part.close")} onClick=${() => close(one.id)}><${Icon} name="close" size="16" /></button></div>`)}`, box);
}

// say has a text read out without showing it.
export function say(text) {
  document.getElementById("heard").textContent = text;
}
