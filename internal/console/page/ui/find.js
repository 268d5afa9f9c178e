// Find looks for a text in a conversation, also in messages that are not read yet, and goes from match to match.

import { change, html, Icon, number, t, useAddress, useEffect, useRef, useState } from "../base.js";

const pause = 300; // ms after the last letter before it looks

export function Find({ chat }) {
  const wanted = useAddress().query.get("find") ?? "";
  const [text, set] = useState(wanted);
  const [result, show] = useState(null); // { words, found, more, at } or { words, error }
  const asked = useRef("");
  const put = useRef(wanted); // what this field has put into the address; meanwhile more may have been typed
  const search = (words) => change({ find: (put.current = words) });
  const ready = Boolean(chat.session); // its messages have been read

  // to goes to a match; the number of an older one is lower.
  const to = async (of, at) => {
    if (!of.found.length) return show(of);
    show({ ...of, at, reading: true });
    const there = await chat.reach(of.found[at]);
    if (asked.current !== of.words) return; // the search has changed meanwhile
    show({ ...of, at, lost: !there });
    requestAnimationFrame(() => mark(chat.entryOf(of.found[at]), of.words));
  };
  useEffect(() => {
    if (wanted !== put.current) set((put.current = wanted));
    asked.current = wanted;
    mark();
    if (!wanted || !ready) return void show(null);
    chat.find(wanted).then(
      (of) => asked.current === of.words && to(of, of.found.length - 1),
      (error) => asked.current === wanted && show({ words: wanted, error }),
    );
  }, [wanted, chat, ready]);
  useEffect(() => () => mark(), []);
  useEffect(() => {
    if (text.trim() === wanted) return () => {};
    const timer = setTimeout(() => search(text.trim()), pause);
    return () => clearTimeout(timer);
  }, [text]);

  const count = result?.found?.length ?? 0;
  const step = (by) => count > 0 && to(result, (result.at + by + count) % count);
  const pressed = (e) => {
    if (e.key === "Enter") {
      e.preventDefault();
      if (text.trim() === wanted) step(e.shiftKey ? 1 : -1);
      else search(text.trim());
    } else if (e.key === "Escape" && text) {
      e.preventDefault();
      set("");
      search("");
    }
  };
  return html`
    <div id="find-in" class="find-in" role="search" aria-label=${t("find.label")}>
      <input
        type="search"
        value=${text}
        maxlength="200"
        placeholder=${t("find.placeholder")}
        aria-label=${t("find.label")}
        onInput=${(e) => set(e.target.value)}
        onKeyDown=${pressed}
      />
      ${[
        [-1, "find.older", "back"],
        [1, "find.newer", "next"],
      ].map(([by, name, icon]) => html`
        <button
          type="button"
          class="quiet iconic"
          disabled=${count === 0}
          aria-label=${t(name)}
          title=${t(name)}
          onClick=${() => step(by)}
        >
          <${Icon} name=${icon} size="16" />
        </button>
      `)}
      <span class="soft" role="status">
        ${said(result)}
      </span>
    </div>
  `;
}

// said is the state of the search in words.
function said(result) {
  if (!result) return "";
  if (result.error) return result.error.status ? result.error.message : t("part.silent");
  if (!result.found.length) return t(result.more ? "find.nonenew" : "find.none");
  if (result.reading) return t("part.loading");
  if (result.lost) return t("find.lost");
  return t(result.more ? "find.ofmore" : "find.of", { at: number(result.at + 1), n: number(result.found.length) });
}

// mark brings a message into sight, marks it, and unfolds what has the words in it; without an entry it takes the mark away.
function mark(entry, words = "") {
  for (const n of document.querySelectorAll("#log .match")) n.classList.remove("match");
  const node = entry && document.querySelector(`#log [data-id="${CSS.escape(entry.id)}"]`);
  if (!node) return;
  node.classList.add("match");
  const has = (value) => (typeof value === "string" ? value : JSON.stringify(value ?? "")).toLowerCase().includes(words.toLowerCase());
  const unfold = (selector) => node.querySelector(selector)?.setAttribute("open", "");
  if (has(entry.thinking)) unfold(".thoughts");
  for (const one of entry.tools) if (has(one.args) || has(one.result)) unfold(`[data-call="${CSS.escape(one.id)}"]`);
  (node.querySelector("[open]") ?? node).scrollIntoView({ block: "center" });
}
