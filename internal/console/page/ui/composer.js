// The field to write in: drafts are kept, commands are completed, files are dropped on it, Enter sends, Up edits.

import { json } from "../api.js";
import { bytes, t, visible } from "../text.js";
import { cls, html, useEffect, useRef, useState } from "./html.js";
import { Icon } from "./icon.js";
import { toast } from "./toast.js";

const place = (name) => "sluice.draft." + name;

// commands of a chat; the catalogue has what each does.
export const commands = ["help", "status", "whoami", "new", "reset", "stop", "retry", "edit", "undo", "branch", "compact", "usage", "model", "set", "temperature", "maxtokens", "queue", "send", "activation", "approve", "raise", "pair", "cron", "alerts", "ack", "silence", "resolve", "subagents"];

export function Composer({ chat, busy }) {
  const [text, setText] = useState(() => localStorage.getItem(place(chat.name)) ?? "");
  const [picked, pick] = useState(0);
  const [hidden, hide] = useState(false);
  const [stopping, stop] = useState(false);
  const box = useRef(null);

  const write = (value) => {
    setText(value);
    hide(false);
    pick(0);
    try {
      if (value) localStorage.setItem(place(chat.name), value);
      else localStorage.removeItem(place(chat.name));
    } catch {
      // a draft that is not kept is no reason to stop writing
    }
  };
  useEffect(() => {
    setText(localStorage.getItem(place(chat.name)) ?? "");
    if (matchMedia("(hover: hover)").matches) box.current.focus();
    chat.edit = (old) => { write("/edit " + old); box.current.focus(); };
  }, [chat]);
  useEffect(() => {
    const n = box.current;
    n.style.height = "auto";
    if (text) n.style.height = n.scrollHeight + 2 + "px";
  }, [text]);

  const matching = !hidden && /^\/[a-z]*$/.test(text) ? commands.filter((c) => c.startsWith(text.slice(1))) : [];
  const complete = (c) => { write("/" + c + " "); box.current.focus(); };
  const send = () => {
    const said = text.trim();
    if (!said) return;
    write("");
    chat.say(said);
    box.current.focus();
  };
  const keys = (e) => {
    if (e.isComposing) return;
    if (matching.length && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      e.preventDefault();
      return pick((picked + (e.key === "ArrowDown" ? 1 : matching.length - 1)) % matching.length);
    }
    if (matching.length && (e.key === "Tab" || e.key === "Enter" && "/" + matching[picked] !== text)) {
      e.preventDefault();
      return complete(matching[picked]);
    }
    if (e.key === "Escape" && matching.length) return hide(true);
    if (e.key === "Enter" && !e.shiftKey) {
      e.preventDefault();
      return send();
    }
    if (e.key === "ArrowUp" && text === "") {
      const mine = chat.entries.findLast((one) => one.kind === "user" && !one.text.startsWith("/"));
      if (mine) { e.preventDefault(); chat.edit(mine.text); }
    }
  };
  const halt = async () => {
    stop(true);
    await chat.stop().catch((error) => toast(error.message, "bad"));
    stop(false);
  };
  return html`<form id="composer" autocomplete="off" onSubmit=${(e) => { e.preventDefault(); send(); }}>
    ${matching.length > 0 && html`<ul class="commands" id="commands" role="listbox" aria-label=${t("chat.commands")}>${matching.map((c, i) => html`<li role="option" id=${"command-" + c} aria-selected=${i === picked} class=${cls(i === picked && "at")} onMouseDown=${(e) => { e.preventDefault(); complete(c); }}><code>/${c}</code> <span>${t("command." + c)}</span></li>`)}</ul>`}
    <textarea id="text" ref=${box} rows="1" value=${text} placeholder=${matchMedia("(min-width: 48rem)").matches ? `${t("chat.write")} (${t("chat.slash")})` : t("chat.write")} aria-label=${t("chat.write")} enterkeyhint="send" onInput=${(e) => write(e.target.value)} onKeyDown=${keys}
      aria-controls=${matching.length ? "commands" : undefined} aria-autocomplete="list" aria-activedescendant=${matching.length ? "command-" + matching[picked] : undefined}></textarea>
    <button id="stop" type="button" class="danger" hidden=${!busy} disabled=${stopping} onClick=${halt}><${Icon} name="stop" />${t("chat.stop")}</button>
    <button id="send" type="submit" class="main" aria-label=${t("chat.send")}><${Icon} name="send" /></button>
  </form>`;
}
