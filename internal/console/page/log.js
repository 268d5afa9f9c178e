// The conversation: what is stored, and what happens now.

import { call, json } from "./api.js";
import { Drawing, markdown } from "./markdown.js";

const suggestions = ["What can you do?", "list sessions", "/help"];

function size(bytes) {
  return bytes < 1024 ? bytes + " B" : bytes < 1048576 ? (bytes / 1024).toFixed(1) + " KB" : (bytes / 1048576).toFixed(1) + " MB";
}

// save gives a file to the browser as a download.
async function save(f) {
  const answer = await call("/v1/media/" + encodeURIComponent(f.id));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = f.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// isDecision: the button belongs to a question that the page shows above the message field while it is open.
function isDecision(button) {
  return /^\/approve apr_/.test(button.value ?? "");
}

export class Log {
  constructor(box, { retry, suggest }) {
    this.box = box;
    this.retry = retry;
    this.suggest = suggest;
    this.users = new Map(); // run → entry of the message
    this.answers = new Map(); // run → entry of its answer, during the run
    this.seen = new Set(); // ids of deliveries that are shown
    this.unsent = new Map(); // id → entry that has no run yet
    let last = true; // the end of the conversation is in sight
    box.addEventListener("scroll", () => { last = this.atBottom(); });
    new ResizeObserver(() => this.bottom(last)).observe(box); // it stays so when a question takes some of the room
  }

  // busy is the run in progress, if any.
  busy() {
    return [...this.answers.keys()][0];
  }

  // show redraws the stored conversation and keeps what is not stored yet.
  show(messages, running, queued) {
    const kept = [...this.unsent.values()];
    const partial = new Map([...this.answers].map(([run, entry]) => [run, entry.text]));
    this.box.replaceChildren();
    this.users.clear();
    this.answers.clear();
    this.seen.clear();
    for (const m of messages) this.stored(m);
    for (const run of queued) if (!this.users.has(run.id)) this.users.set(run.id, this.user(run.input, "waiting"));
    for (const run of running) this.think(run.id, partial.get(run.id));
    for (const entry of kept) this.box.append(entry.node);
    this.welcome();
    this.bottom(true);
  }

  stored(m) {
    if (m.role === "user") this.users.set(m.run, this.user(m.text));
    else if (m.role === "notice") {
      this.notice(m.text, m.id, m.buttons);
      for (const f of m.files ?? []) this.file(f);
    }
    else if (m.role === "agent") this.entry("notice").bubble.append(markdown(`*From agent ${m.sender?.name ?? ""}:* ${m.text}`));
    else if (m.role === "summary") this.notice("Earlier messages were shortened to a summary.");
    else if (m.role === "assistant") {
      const tools = (m.parts ?? []).filter((p) => p.type === "toolCall");
      const said = this.users.get(m.run);
      if (m.withheld && said) this.under(said, m.withheld.message);
      if (!m.text && !tools.length) return;
      const entry = this.entry("assistant");
      for (const t of tools) this.tool(entry, t.callId, t.tool);
      if (m.text) entry.bubble.append(markdown(m.text));
      else entry.bubble.remove();
    }
  }

  entry(kind) {
    const node = document.createElement("li");
    node.className = "entry " + kind;
    const bubble = document.createElement("div");
    bubble.className = "bubble";
    node.append(bubble);
    const stay = this.atBottom();
    this.box.querySelector(".welcome")?.remove();
    this.box.append(node);
    this.bottom(stay);
    return { node, bubble, text: "", under: null, tools: null };
  }

  user(text, under = "") {
    const entry = this.entry("user");
    entry.text = text;
    entry.bubble.textContent = text;
    this.under(entry, under);
    return entry;
  }

  notice(text, id, buttons) {
    if (id && this.seen.has(id)) return;
    if (id) this.seen.add(id);
    if (!text) return;
    const bubble = this.entry("notice").bubble;
    bubble.append(markdown(text));
    if (id) bubble.dataset.delivery = id;
    for (const b of buttons ?? []) if (!isDecision(b)) bubble.append(this.button(b));
  }

  // decided removes the buttons of a question and shows the decision.
  decided(id, text) {
    const bubble = this.box.querySelector(`[data-delivery="${CSS.escape(id)}"]`);
    if (!bubble) return;
    for (const b of bubble.querySelectorAll("button")) b.remove();
    bubble.append(markdown(text));
  }

  // button sends its press. A suggestion of the page itself sends its value as if it had been typed.
  button({ label, value, press }) {
    const b = document.createElement("button");
    b.className = "small";
    b.type = "button";
    b.textContent = label;
    b.title = value;
    b.addEventListener("click", () => this.suggest(value, undefined, press));
    return b;
  }

  // file shows a file as a button. A click downloads it with the token, which a link cannot carry.
  file(f) {
    if (this.seen.has(f.id)) return;
    this.seen.add(f.id);
    const link = document.createElement("button");
    link.className = "small";
    link.type = "button";
    link.textContent = f.name ? `${f.name} (${size(f.size ?? 0)})` : "a file that is no longer kept";
    link.disabled = !f.name;
    link.addEventListener("click", () => save(f).catch((e) => { link.textContent = e.message; }));
    this.entry("notice").bubble.append(link);
  }

  // files shows the files of a delivery.
  async files(delivery) {
    const d = await json("/v1/deliveries/" + encodeURIComponent(delivery));
    for (const f of d.files ?? []) this.file(f);
  }

  under(entry, text, bad = false, action = null) {
    entry.under?.remove();
    entry.under = null;
    if (!text && !action) return;
    entry.under = document.createElement("div");
    entry.under.className = "under" + (bad ? " bad" : "");
    entry.under.append(text);
    if (action) {
      const b = document.createElement("button");
      b.className = "small";
      b.type = "button";
      b.textContent = action.label;
      b.addEventListener("click", () => { b.disabled = true; action.run(); });
      entry.under.append(b);
    }
    entry.node.append(entry.under);
  }

  // say shows a message that was just typed; the same id is the same entry.
  say(text, id) {
    const entry = this.unsent.get(id) ?? this.user(text);
    entry.id = id;
    this.unsent.set(id, entry);
    this.under(entry, "sending…");
    this.bottom(true);
    return entry;
  }

  accepted(entry, run) {
    this.unsent.delete(entry.id);
    const shown = this.users.get(run);
    if (shown && shown !== entry) entry.node.remove(); // its event came first
    else this.users.set(run, entry);
    if (entry.under?.textContent === "sending…") this.under(entry, "");
  }

  answered(entry) {
    this.unsent.delete(entry.id);
    this.under(entry, "");
  }

  failed(entry, why) {
    this.under(entry, "Not sent: " + why, true, { label: "Retry", run: () => this.retry(entry.text, entry.id, entry.press) });
  }

  // think shows that a run is in progress and returns the entry of its answer.
  think(run, text = "") {
    let entry = this.answers.get(run);
    if (!entry) {
      entry = this.entry("assistant");
      this.answers.set(run, entry);
      this.write(entry, text);
      const said = this.users.get(run);
      if (said) this.under(said, "");
    }
    return entry;
  }

  write(entry, text) {
    entry.text = text;
    entry.bubble.classList.toggle("thinking", text === "");
    entry.drawing ??= new Drawing(entry.bubble);
    entry.drawing.show(text, (draw) => this.staying(draw));
  }

  // finish shows the whole answer.
  finish(entry, text) {
    this.write(entry, text);
    this.staying(() => entry.drawing.end(text));
  }

  // staying draws, and stays at the end of the conversation if that is in sight.
  staying(draw) {
    const stay = this.atBottom();
    draw();
    this.bottom(stay);
  }

  tool(entry, id, name) {
    if (!entry.tools) {
      entry.tools = document.createElement("div");
      entry.tools.className = "tools";
      entry.node.prepend(entry.tools);
    }
    const chip = document.createElement("span");
    chip.className = "tool";
    chip.dataset.call = id ?? "";
    chip.textContent = name;
    entry.tools.append(chip);
    return chip;
  }

  event(e) {
    this.staying(() => this.happened(e));
  }

  happened(e) {
    const said = this.users.get(e.run);
    switch (e.type) {
      case "message.user": return this.heard(e);
      case "message.notice":
        if (e.file && e.text) this.notice(e.text);
        if (e.file) return void this.files(e.delivery).catch((problem) => this.notice(problem.message));
        return this.notice(e.text, e.delivery, e.buttons);
      case "message.decided": return this.decided(e.delivery, e.text);
      case "run.started": return void this.think(e.run);
      case "text.delta": {
        const entry = this.think(e.run);
        return this.write(entry, entry.text + e.text);
      }
      case "tool.call": {
        const entry = this.think(e.run);
        this.write(entry, "");
        return void (this.tool(entry, e.callId, e.tool).textContent = e.tool + " …");
      }
      case "tool.result": {
        const chip = this.think(e.run).node.querySelector(`[data-call="${CSS.escape(e.callId)}"]`);
        if (chip) chip.textContent = e.tool + (e.failed ? " failed" : "");
        return void chip?.classList.toggle("bad", Boolean(e.failed));
      }
      case "run.retrying": {
        const entry = this.think(e.run);
        this.write(entry, "");
        return this.under(entry, "The model failed; trying again.");
      }
      case "run.done": return this.done(e);
      case "run.failed": return this.ended(e, said, "No reply.", true);
      case "run.aborted": return this.ended(e, said, "Stopped.");
      case "run.dropped": return this.ended(e, said, "Not processed: too many messages were waiting.", true);
    }
  }

  // heard shows a message, unless it was typed here.
  heard(e) {
    if (this.users.has(e.run)) return;
    const mine = [...this.unsent.values()].find((entry) => entry.text === e.text);
    if (mine) {
      this.unsent.delete(mine.id);
      this.under(mine, "");
    }
    const entry = mine ?? this.user(e.text);
    this.users.set(e.run, entry);
    if (this.answers.size) this.under(entry, "waiting");
  }

  done(e) {
    const entry = this.answers.get(e.run);
    this.answers.delete(e.run);
    const said = this.users.get(e.run);
    if (said) this.under(said, "");
    if (!e.text || e.withheld) {
      if (entry && !entry.tools) entry.node.remove();
      else entry?.bubble.remove();
      if (said) this.under(said, e.text || "Processed; there was nothing to say.");
      return;
    }
    if (!entry) return; // merged into another message's answer, or stored before this page looked
    this.under(entry, "");
    this.finish(entry, e.text);
  }

  // ended shows below a message that it has no answer. A notice says why.
  ended(e, said, word, bad = false) {
    const entry = this.answers.get(e.run);
    this.answers.delete(e.run);
    if (entry && !entry.tools && entry.text === "") entry.node.remove();
    else entry?.bubble.classList.remove("thinking");
    if (!said) return;
    const again = { label: "Ask again", run: () => this.retry(said.text, undefined, said.press) };
    const typed = said.press || !said.text.startsWith("/"); // otherwise it may be an agent's button pressed before a reload, which would become a command if typed
    this.under(said, word, bad, typed ? again : undefined);
  }

  welcome() {
    if (this.box.children.length) return;
    const node = document.createElement("li");
    node.className = "welcome";
    node.append("No messages yet. Try:", document.createElement("br"));
    for (const text of suggestions) {
      node.append(this.button({ label: text, value: text }));
    }
    this.box.append(node);
  }

  atBottom() {
    return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < 80;
  }

  bottom(stay) {
    if (stay) this.box.scrollTop = this.box.scrollHeight;
  }
}
