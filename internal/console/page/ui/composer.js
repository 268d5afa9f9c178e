// The field to write in: drafts are kept, commands are completed, files are dropped on it, Enter sends, Up edits.

import {
  acts, bytes, call, cls, html, Icon, passFocus, t, toast, useEffect, useRef, useState, visible,
} from "../base.js";

const largest = 100 << 20; // bytes of a file
const most = 10; // files of a message

// store puts a file of a message into the folder of the session, where its agent finds it, and gives the path there.
// Several files of a message may have one name: pasted pictures do.
async function store(chat, f, i) {
  const name =
    f.name
      .slice(-80)
      .replace(/[^\p{L}\p{N}._-]+/gu, "-")
      .replace(/^\.+/, "") || "file";
  const path = `.sessions/${chat.session.id}/inbox/${Date.now().toString(36)}${i || ""}-${name}`;
  await call(
    `/v1/sessions/${encodeURIComponent(chat.session.id)}/files/${path.split("/").map(encodeURIComponent).join("/")}`,
    { method: "PUT", body: f },
  );
  return path;
}

const place = (name) => "sluice.draft." + name;

// commands of a chat; the catalogue has what each does.
export const commands = [
  "help",
  "status",
  "whoami",
  "new",
  "reset",
  "stop",
  "retry",
  "edit",
  "undo",
  "branch",
  "compact",
  "usage",
  "model",
  "set",
  "temperature",
  "maxtokens",
  "queue",
  "send",
  "activation",
  "approve",
  "raise",
  "pair",
  "cron",
  "alerts",
  "ack",
  "silence",
  "resolve",
  "subagents",
];

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
    if (!box.current) return;
    setText(localStorage.getItem(place(chat.name)) ?? "");
    if (matchMedia("(hover: hover)").matches) box.current.focus();
    chat.edit = (old) => {
      write("/edit " + old);
      box.current.focus();
    };
  }, [chat]);
  useEffect(() => {
    const n = box.current;
    if (!n) return;
    n.style.height = "auto";
    if (text) n.style.height = n.scrollHeight + 2 + "px";
  }, [text]);

  const [files, setFiles] = useState([]);
  const [recording, record] = useState(null);
  const [over, drag] = useState(false);
  const attach = (list) => {
    const fit = [...list].filter((f) => f.size <= largest);
    if (fit.length < list.length) toast(t("chat.toolarge", { size: bytes(largest) }), "bad");
    setFiles((before) => {
      const all = [...before, ...fit];
      if (all.length > most) toast(t("chat.toomany", { n: most }), "bad");
      return all.slice(0, most);
    });
  };
  useEffect(() => {
    const area = box.current?.closest(".conversation");
    if (!area) return;
    const has = (e) => e.dataTransfer?.types.includes("Files");
    const enter = (e) => {
      if (has(e)) {
        e.preventDefault();
        drag(true);
      }
    };
    const leave = (e) => {
      if (!area.contains(e.relatedTarget)) drag(false);
    };
    const drop = (e) => {
      if (has(e)) {
        e.preventDefault();
        drag(false);
        attach(e.dataTransfer.files);
      }
    };
    const events = { dragenter: enter, dragover: enter, dragleave: leave, drop };
    for (const [name, f] of Object.entries(events)) area.addEventListener(name, f);
    return () => {
      for (const [name, f] of Object.entries(events)) area.removeEventListener(name, f);
    };
  }, []);
  const leave = useRef(() => {}); // ends a recording whose conversation is left
  useEffect(() => () => leave.current(), []);
  const voice = async () => {
    if (recording) return recording.stop();
    let left = false;
    leave.current = () => (left = true);
    try {
      const sound = await navigator.mediaDevices.getUserMedia({ audio: true });
      const off = () => {
        for (const track of sound.getTracks()) track.stop();
      };
      if (left) return off();
      const recorder = new MediaRecorder(sound),
        parts = [];
      leave.current = () => {
        recorder.onstop = null;
        off();
      };
      recorder.ondataavailable = (e) => parts.push(e.data);
      recorder.onstop = () => {
        off();
        record(null);
        const kind = (recorder.mimeType || "audio/webm").split(";")[0];
        attach([
          new File(parts, `voice-${new Date().toISOString().replace(/[:.]/g, "-")}.${kind.split("/")[1]}`, {
            type: kind,
          }),
        ]);
      };
      recorder.start();
      record(recorder);
    } catch {
      toast(t("chat.nomic"), "bad");
    }
  };

  const matching = !hidden && /^\/[a-z]*$/.test(text) ? commands.filter((c) => c.startsWith(text.slice(1))) : [];
  const complete = (c) => {
    write("/" + c + " ");
    box.current.focus();
  };
  const send = async () => {
    const said = text.trim(),
      given = files;
    if (!said && !given.length) return;
    write("");
    setFiles([]);
    box.current.focus();
    try {
      const paths = await Promise.all(given.map((f, i) => store(chat, f, i)));
      chat.say([said, ...paths.map((path) => t("chat.attached", { path }))].filter(Boolean).join("\n"));
    } catch (error) {
      write([said, localStorage.getItem(place(chat.name))].filter(Boolean).join("\n")); // with what was written meanwhile
      setFiles((since) => [...given, ...since].slice(0, most));
      toast(error.message, "bad");
    }
  };
  const keys = (e) => {
    if (e.isComposing) return;
    if (matching.length && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      e.preventDefault();
      return pick((picked + (e.key === "ArrowDown" ? 1 : matching.length - 1)) % matching.length);
    }
    if (matching.length && (e.key === "Tab" || (e.key === "Enter" && "/" + matching[picked] !== text))) {
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
      if (mine) {
        e.preventDefault();
        chat.edit(mine.text);
      }
    }
  };
  const halt = async () => {
    stop(true);
    await chat.stop().catch((error) => toast(error.message, "bad"));
    stop(false);
  };
  if (!acts()) return html`<p class="foot">${t("chat.readonly")}</p>`;
  return html`
    <form
      id="composer"
      class=${cls(over && "over")}
      autocomplete="off"
      onSubmit=${(e) => {
        e.preventDefault();
        send();
      }}
    >
      ${matching.length > 0 && html`
        <ul class="commands" id="commands" role="listbox" aria-label=${t("chat.commands")}>
          ${matching.map((c, i) => html`
            <li
              role="option"
              id=${"command-" + c}
              aria-selected=${i === picked}
              class=${cls(i === picked && "at")}
              onMouseDown=${(e) => {
                e.preventDefault();
                complete(c);
              }}
            >
              <code>/${c}</code> <span>${t("command." + c)}</span>
            </li>
          `)}
        </ul>
      `}
      ${files.length > 0 && html`
        <ul class="attached" aria-label=${t("chat.files")}>
          ${files.map((f) => html`
            <li>
              <${Icon} name="file" size="15" />
              ${visible(f.name)} <span class="soft">${bytes(f.size)}</span>
              <button
                type="button"
                class="quiet iconic"
                aria-label=${t("chat.removefile", { name: f.name })}
                onClick=${(e) => {
                  passFocus(e.currentTarget);
                  setFiles(files.filter((one) => one !== f));
                }}
              >
                <${Icon} name="close" size="14" />
              </button>
            </li>
          `)}
        </ul>
      `}
      <label class="button quiet iconic" title=${t("chat.attach")}>
        <${Icon} name="file" />
        <span class="unseen">${t("chat.attach")}</span>
        <input
          class="unseen"
          type="file"
          multiple
          onChange=${(e) => {
            attach(e.target.files);
            e.target.value = "";
          }}
        />
      </label>
      ${navigator.mediaDevices && globalThis.MediaRecorder && html`
        <button
          type="button"
          class=${cls("quiet iconic", recording && "recording")}
          aria-pressed=${Boolean(recording)}
          aria-label=${t(recording ? "chat.endvoice" : "chat.voice")}
          title=${t(recording ? "chat.endvoice" : "chat.voice")}
          onClick=${voice}
        >
          <${Icon} name=${recording ? "stop" : "mic"} />
        </button>
      `}
      <textarea
        id="text"
        onPaste=${(e) => {
          if (e.clipboardData?.files.length) {
            e.preventDefault();
            attach(e.clipboardData.files);
          }
        }}
        ref=${box}
        rows="1"
        value=${text}
        placeholder=${
          matchMedia("(min-width: 48rem)").matches ? `${t("chat.write")} (${t("chat.slash")})` : t("chat.write")
        }
        aria-label=${t("chat.write")}
        enterkeyhint="send"
        onInput=${(e) => write(e.target.value)}
        onKeyDown=${keys}
        aria-controls=${matching.length ? "commands" : undefined}
        aria-autocomplete="list"
        aria-activedescendant=${matching.length ? "command-" + matching[picked] : undefined}
      ></textarea>
      <button id="stop" type="button" class="danger" hidden=${!busy} disabled=${stopping} onClick=${halt}>
        <${Icon} name="stop" />
        ${t("chat.stop")}
      </button>
      <button id="send" type="submit" class="main" aria-label=${t("chat.send")}>
        <${Icon} name="send" />
      </button>
    </form>
  `;
}
