// One conversation: its messages, what it did, and a field to write in.

import { Chat } from "../chat.js";
import {
  Act, address, change, clock, cls, Component, Copy, day, html, Icon, json, Level, Moment, number, post, Problem, t,
  untrusted, useAddress, useEffect, useLayoutEffect, useReducer, useRef, useState, visible,
} from "../base.js";
import { Composer } from "./composer.js";
import { Files } from "./files.js";
import { Find } from "./find.js";
import { Growing, loading as loadMarkdown, Markdown } from "./markdown-view.js";
import { Question } from "./question.js";
import { Settings } from "./settings.js";
import { Tool } from "./tool.js";
import { Graph, Steps } from "./trace.js";
import { nameOf } from "../views/conversations.js";

const suggestions = ["chat.try1", "chat.try2", "chat.try3"];

export function Conversation({ id, close }) {
  const [, draw] = useReducer((n) => n + 1, 0);
  const [chat, set] = useState(null);
  const [waits, setWaits] = useState([]);
  const at = useAddress();
  const tab = ["steps", "graph"].includes(at.query.get("tab")) ? at.query.get("tab") : "messages";

  useEffect(() => {
    let waiting = false;
    const one = new Chat(id, () => {
      if (waiting) return;
      waiting = true;
      queueMicrotask(() => {
        waiting = false;
        draw();
      });
    });
    set(one);
    loadMarkdown();
    return () => one.close();
  }, [id]);

  if (!chat) return null;
  const s = chat.session,
    busy = chat.busy();
  const state =
    chat.state !== "connected"
      ? chat.state
      : waits.some((p) => p.run === busy)
        ? "waiting"
        : busy
          ? "working"
          : "connected";
  return html`
    <div class="conversation">
      <header class="talk-head">
        <button type="button" class="quiet iconic" aria-label=${t("part.back")} onClick=${close}>
          <${Icon} name="back" />
        </button>
        <div class="talk-name">
          <h2>${s ? nameOf(s) : id === "main" ? t("conversations.main") : id}</h2>
          <p class="soft">
            ${s && html`
              ${visible(s.agent)} · ${visible(s.model)} <${Level} label=${s.taint} />
            `}
          </p>
        </div>
        <span id="state" class=${"pill " + state} role="status">
          ${t("chat.state." + state)}
        </span>
        ${s && html`<${Settings} session=${s} changed=${() => chat.reload()} />`}
      </header>
      <nav class="tabs" aria-label=${t("chat.parts")}>
        ${["messages", "steps", "graph"].map((p) => html`
          <button
            type="button"
            aria-pressed=${p === tab}
            onClick=${() => change({ tab: p === "messages" ? "" : p }, { replace: false })}
          >
            ${t("chat." + p)}
          </button>
        `)}
        ${tab === "messages" && html`<${Find} chat=${chat} />`}
      </nav>
      ${s?.held && html`<p class="note rule">${visible(s.held)}</p>`}
      ${tab === "steps" ? html`<${Steps} session=${id} />` : tab === "graph" ? html`<${Graph} session=${id} />` : html`<${Log} chat=${chat} />`}
      <${Question} session=${s?.id} busy=${busy} chat=${chat} told=${setWaits} />
      <${Composer} chat=${chat} busy=${busy} />
    </div>
  `;
}

// Log shows the messages. What was said last stays in sight if it is; older messages appear above without a jump.
function Log({ chat }) {
  const box = useRef(null);
  const last = useRef(true); // what was said last is in sight, and stays so
  const anchor = useRef(null);
  const top = useRef(0);
  const entries = chat.entries.filter((e) => !e.open); // an open question stands above the field to write in
  const count = entries.length,
    first = entries[0]?.key;
  // look notices whether the person has scrolled up, or back to the end. The browser tells of it only with the next frame.
  const look = () => {
    const n = box.current;
    if (!n) return; // the conversation was closed in the meantime
    if (n.scrollHeight - n.scrollTop - n.clientHeight < 80) last.current = true;
    else if (n.scrollTop < top.current - 1) last.current = false;
    top.current = n.scrollTop;
  };
  const end = () => {
    look();
    if (!last.current || !box.current) return;
    box.current.scrollTop = box.current.scrollHeight;
    top.current = box.current.scrollTop;
  };
  useLayoutEffect(() => {
    const a = anchor.current;
    if (a && a.first !== first && a.node.isConnected) box.current.scrollTop += a.node.getBoundingClientRect().top - a.y;
    else end();
    anchor.current = null;
  }, [count, first]);
  useEffect(() => {
    const size = new ResizeObserver(end),
      content = new MutationObserver(end);
    size.observe(box.current);
    content.observe(box.current, { subtree: true, childList: true, characterData: true });
    return () => {
      size.disconnect();
      content.disconnect();
    };
  }, []);
  const older = () => {
    const node = box.current.querySelector(".entry");
    anchor.current = node && { node, y: node.getBoundingClientRect().top, first };
    chat.readOlder();
  };
  const scrolled = () => {
    look();
    if (chat.older && box.current.scrollTop < 400) older();
  };
  let shownDay = "";
  return html`
    <div
      id="log"
      class="chat-log"
      ref=${box}
      role="log"
      aria-live="off"
      aria-label=${t("chat.messages")}
      tabindex="0"
      onScroll=${scrolled}
    >
      <ol class="entries">
        ${chat.older && html`
          <li class="older">
            <button type="button" class="small" onClick=${older}>
              ${t("chat.older")}
            </button>
          </li>
        `}
        ${chat.entries.length === 0 && chat.state !== "connecting" && html`
          <li class="welcome">
            <p>${t("chat.empty")}</p>
            ${suggestions.map((k) => html`
              <button type="button" class="small" onClick=${() => chat.say(t(k))}>
                ${t(k)}
              </button>
            `)}
          </li>
        `}
        ${entries.flatMap((e, i) => {
          // one flat list: only then do keys tell which entries stay when older ones come above them
          const d = day(e.created),
            fresh = d !== shownDay;
          shownDay = d;
          return [
            fresh && html`
              <li class="day" key=${"day" + e.key}>
                <span>${d}</span>
              </li>
            `,
            html`<${Entry} key=${e.key} entry=${e} chat=${chat} last=${i >= count - 2} />`,
          ];
        })}
        ${chat.branches.length > 1 && !chat.busy() && html`<${Branches} chat=${chat} />`}
      </ol>
    </div>
  `;
}

// Branches leads to the other branches of the last turn.
function Branches({ chat }) {
  const count = chat.branches.length,
    n = chat.branches.findIndex((b) => b.selected) + 1;
  const to = (number, name, sign) => html`
    <button
      type="button"
      class="small quiet"
      aria-label=${t(name)}
      disabled=${number < 1 || number > count}
      onClick=${() => chat.say("/branch " + number)}
    >
      ${sign}
    </button>
  `;
  return html`
    <li class="branches">
      ${to(n - 1, "chat.branchbefore", "‹")}
      <span>${t("chat.branch", { n, count })}</span>
      ${to(n + 1, "chat.branchafter", "›")}
    </li>
  `;
}

// Entry draws one message, and only again when it has changed itself.
class Entry extends Component {
  shouldComponentUpdate(next) {
    return next.entry !== this.props.entry || next.last !== this.props.last || this.under !== next.entry.under;
  }

  componentDidMount() {
    this.props.entry.draw = () => this.forceUpdate();
  }

  componentDidUpdate() {
    this.props.entry.draw = () => this.forceUpdate();
  }

  render({ entry: e, chat, last }) {
    this.under = e.under;
    const empty = e.kind === "assistant" && e.text === "" && !e.working;
    return html`
      <li class=${"entry " + e.kind} data-id=${e.id}>
        ${e.kind !== "notice" && html`
          <p class="by">
            <span>${by(e)}</span>${" "}
            <${Moment} at=${e.created}>
              ${clock(e.created)}
            <//>
            ${e.label && !e.label.startsWith("PUBLIC/") && html`
              ${" "}
              <${Level} label=${e.label} />
            `}
            ${untrusted(e.label) && e.label.startsWith("PUBLIC/") && html`
              ${" "}
              <span class="soft">${t("level.untrusted")}</span>
            `}
          </p>
        `}
        ${e.thinking && html`
          <details class="thoughts">
            <summary>${t("chat.thinking")}</summary>
            <div>${visible(e.thinking)}</div>
          </details>
        `}
        ${e.tools.length > 0 && html`
          <div class="tools">
            ${e.tools.map((one) => html`
              <${Tool} key=${one.id} of=${one} />
            `)}
          </div>
        `}
        ${e.kind === "user" ? html`
          <div class="bubble">${visible(e.text)}</div>
        ` : e.kind === "assistant" ? (
          !empty && html`
            <div class=${cls("bubble", e.working && e.text === "" && "thinking")} data-thinking=${t("chat.works")}>
              ${e.text !== "" && html`<${Growing} text=${e.text} ended=${e.ended} />`}
            </div>
          `
        ) : html`
          <div class="bubble">
            ${e.text && html`
              <${Markdown}
                text=${
                  e.kind === "agent" ? `*${t("chat.fromagent", { name: e.sender?.name ?? "" })}* ${e.text}` : e.text
                }
              />
            `}
            ${e.summary && html`
              <details>
                <summary>${t("chat.summaryshow")}</summary>
                <${Markdown} text=${e.summary} />
              </details>
            `}
            ${e.decided && html`<${Markdown} text=${e.decided} />`}
            ${e.buttons?.map((b) => html`
              <button
                type="button"
                class="small"
                title=${visible(b.value)}
                onClick=${() => chat.say(b.value, { press: b.press })}
              >
                ${visible(b.label)}
              </button>
            `)}
          </div>
        `}
        ${e.attached?.length > 0 && html`<p class="soft">${e.attached.map((f) => visible(f.name)).join(", ")}</p>`}
        <${Files} of=${e.files} />
        ${e.under && html`
          <div class=${cls("under", e.under.bad && "bad", e.under.rule && "rule")}>
            <span>${e.under.text}</span>
            ${e.under.delivery && html`<a href=${address("why", e.under.delivery)}>${t("why.button")}</a>`}
            ${e.under.action && html`
              <button
                type="button"
                class="small"
                onClick=${(ev) => {
                  ev.target.disabled = true;
                  e.under.action.run();
                }}
              >
                ${e.under.action.text}
              </button>
            `}
          </div>
        `}
        ${e.ended && e.text && html`
          <div class="entry-acts">
            <${Copy} text=${e.text} />
            ${last && html`
              <button type="button" class="small quiet" onClick=${() => chat.say("/retry")}>
                <${Icon} name="retry" size="15" />
                ${t("chat.retry")}
              </button>
            `}
            ${e.run && html`
              <a class="small" href=${address("runs", e.run)}>
                ${t("col.run")}
              </a>${" "}
              <a class="small" href=${address("why", e.run)}>
                ${t("why.button")}
              </a>
            `}
          </div>
        `}
        ${e.kind === "user" && last && e.run && !e.text.startsWith("/") && html`
          <div class="entry-acts">
            <button type="button" class="small quiet" onClick=${() => chat.edit?.(e.text)}>
              <${Icon} name="edit" size="15" />
              ${t("chat.edit")}
            </button>
          </div>
        `}
      </li>
    `;
  }
}

const by = (e) =>
  e.kind === "user"
    ? e.sender?.name
      ? visible(e.sender.name)
      : e.sender?.id && e.sender.id !== "local"
        ? visible(e.sender.id)
        : t("chat.you")
    : e.kind === "agent"
      ? visible(e.sender?.name ?? "")
      : e.model
        ? visible(e.model)
        : t("chat.agent");
