// Dialogs. Escape closes them and decides nothing; the focus returns to where it was.

import { t } from "../text.js";
import { html, render, useEffect, useRef } from "./html.js";
import { Icon } from "./icon.js";

// Dialog shows its children above the page.
export function Dialog({ title, close, children, wide = false, name = "" }) {
  const box = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  return html`<dialog ref=${box} class=${wide ? "wide" : ""} data-dialog=${name} aria-labelledby="dialog-title" onCancel=${(e) => { e.preventDefault(); close(); }} onClick=${(e) => e.target === box.current && close()}>
    <div class="dialog"><header><h2 id="dialog-title">${title}</h2><button type="button" class="quiet iconic" aria-label=${t("part.close")} onClick=${close}><${Icon} name="close" /></button></header>${children}</div>
  </dialog>`;
}

// ask shows a question with the effect as its button. It gives whether the person has chosen it.
export function ask(question, effect, { detail = "", danger = false } = {}) {
  return new Promise((done) => {
    const box = document.createElement("div");
    document.body.append(box);
    const end = (yes) => {
      render(null, box);
      box.remove();
      done(yes);
    };
    render(html`<${Dialog} name="ask" title=${question} close=${() => end(false)}>
      ${detail && html`<p>${detail}</p>`}
      <div class="acts"><button type="button" class=${danger ? "danger solid" : "main"} onClick=${() => end(true)}>${effect}</button><button type="button" onClick=${() => end(false)}>${t("part.cancel")}</button></div>
    <//>`, box);
  });
}
