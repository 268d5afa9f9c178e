// The palette (Ctrl K) finds views, conversations and objects by their id; and the list of keys.

import {
  address, cls, Dialog, go, goLetters, html, Icon, json, letters, lettersOn, setLetters, t, useEffect, useReducer,
  useState, visible,
} from "./base.js";
import { nameOf } from "./views/conversations.js";

// byID: an id begins with its kind.
const byID = { sess_: "conversations", run_: "runs", dlv_: "deliveries", apr_: "inbox", mem_: "memory" };
// explained: ids of these kinds have an explanation.
const explained = ["run_", "dlv_", "apr_", "aud_", "xch_", "mem_", "cron/", "hook/"];

export function Palette({ views, close, show }) {
  const [text, set] = useState("");
  const [at, move] = useState(0);
  const [sessions, found] = useState([]);
  useEffect(() => {
    json("/v1/sessions?limit=100").then(found, () => {});
  }, []);
  const words = text.trim().toLowerCase();
  const id = Object.keys(byID).find((k) => words.startsWith(k));
  const all = [
    ...(id
      ? [{ icon: byID[id], text: text.trim(), hint: t("view." + byID[id]), to: address(byID[id], text.trim()) }]
      : []),
    ...(explained.some((k) => words.startsWith(k))
      ? [{ icon: "why", text: text.trim(), hint: t("view.why"), to: address("why", text.trim()) }]
      : []),
    ...views.map((v) => ({ icon: v, text: t("view." + v), hint: t("palette.view"), to: address(v) })),
    ...(sessions.some((s) => nameOf(s) === t("conversations.main"))
      ? []
      : [
          {
            icon: "conversations",
            text: t("conversations.main"),
            hint: t("palette.conversation"),
            to: address("conversations", "main"),
          },
        ]),
    ...sessions.map((s) => ({
      icon: "conversations",
      text: nameOf(s),
      hint: visible(s.agent),
      to: address("conversations", s.id),
    })),
    { icon: "settings", text: t("keys.title"), hint: "?", run: () => show("keys") },
    { icon: "settings", text: t("shell.you"), hint: "", run: () => show("you") },
  ]
    .filter((one) => !words || one.text.toLowerCase().includes(words) || one.to?.endsWith(words))
    .slice(0, 12);
  const take = (one) => {
    if (!one) return;
    if (one.run) return one.run();
    close();
    go(one.to);
  };
  const keys = (e) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      move((at + (e.key === "ArrowDown" ? 1 : all.length - 1)) % Math.max(1, all.length));
    } else if (e.key === "Enter") {
      e.preventDefault();
      take(all[at]);
    }
  };
  return html`
    <${Dialog} name="palette" title=${t("shell.find")} close=${close}>
      <input
        id="find"
        class="find-input"
        type="search"
        autofocus
        value=${text}
        placeholder=${t("palette.hint")}
        aria-label=${t("palette.hint")}
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant=${all.length ? "found-" + at : undefined}
        onInput=${(e) => {
          set(e.target.value);
          move(0);
        }}
        onKeyDown=${keys}
      />
      ${all.length > 0 ? html`
        <ul id="found" class="found" role="listbox" aria-label=${t("shell.find")}>
          ${all.map((one, i) => html`
            <li
              role="option"
              id=${"found-" + i}
              aria-selected=${i === at}
              class=${cls(i === at && "at")}
              onClick=${() => take(one)}
            >
              <${Icon} name=${one.icon} />
              <span>${one.text}</span>
              <small>${one.hint}</small>
            </li>
          `)}
        </ul>
      ` : html`
        <p id="found" class="soft">
          ${t("palette.nothing")}
        </p>
      `}
    <//>
  `;
}

export function Keys({ views, close }) {
  const [, draw] = useReducer((n) => n + 1, 0);
  const names = { " ": t("keys.space"), ArrowDown: "↓", ArrowUp: "↑", Enter: "Enter", Escape: "Esc" };
  return html`
    <${Dialog} name="keys" title=${t("keys.title")} close=${close} wide>
      <label class="check">
        <input
          type="checkbox"
          checked=${lettersOn()}
          onChange=${(e) => {
            setLetters(e.target.checked);
            draw();
          }}
        />${" "}
        ${t("keys.letters")}
      </label>
      <div class="key-columns">
        <dl class="keys">
          ${[
            ["Ctrl K", t("shell.find")],
            ["Ctrl F6", t("keys.regions")],
            ["?", t("keys.title")],
            ...Object.entries(letters).map(([k, action]) => [names[k] ?? k, t("keys." + action)]),
            ["Enter", t("keys.send")],
            ["↑", t("keys.edit")],
          ].map(([k, text]) => html`
            <div>
              <dt>
                <kbd>${k}</kbd>
              </dt>
              <dd>${text}</dd>
            </div>
          `)}
        </dl>
        <dl class="keys">
          ${Object.entries(goLetters)
            .filter(([, v]) => views.includes(v))
            .map(([k, v]) => html`
              <div>
                <dt>
                  <kbd>g</kbd> <kbd>${k}</kbd>
                </dt>
                <dd>${t("view." + v)}</dd>
              </div>
            `)}
        </dl>
      </div>
    <//>
  `;
}
