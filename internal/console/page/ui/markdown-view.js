// A text as Markdown. The library comes after the first words are shown; until then, and while it fails, the text stands
// as it was written.

import { html, useEffect, useLayoutEffect, useRef, useState, visible } from "../base.js";

let library = null;
let reading = null;
export const loading = () =>
  (reading ??= import("./markdown.js").then(
    (m) => (library = m),
    () => {
      reading = null;
    },
  ));

// useLibrary reports whether the library is there, and draws the component again when it is.
function useLibrary() {
  const [ready, set] = useState(Boolean(library));
  useEffect(() => {
    if (!ready)
      loading().then(
        () => set(true),
        () => {},
      );
  }, []);
  return ready;
}

// Markdown shows a text that does not change while it is shown, or changes as a whole.
export function Markdown({ text }) {
  const box = useRef(null);
  const ready = useLibrary();
  useLayoutEffect(() => {
    if (ready) box.current.replaceChildren(library.markdown(text ?? ""));
  }, [text, ready]);
  return ready ? html`<div class="md" ref=${box}></div>` : html`<div class="md plain">${visible(text ?? "")}</div>`;
}

// Growing shows a text that grows: what is drawn already stays.
export function Growing({ text, ended }) {
  const box = useRef(null),
    drawing = useRef(null);
  const ready = useLibrary();
  useLayoutEffect(() => {
    if (!ready) return;
    drawing.current ??= new library.Drawing(box.current);
    if (ended) drawing.current.end(text);
    else drawing.current.show(text);
  }, [text, ended, ready]);
  return html`
    <div class="md" ref=${box}>
      ${!ready && visible(text)}
    </div>
  `;
}
