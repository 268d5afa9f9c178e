// A conversation as it is shown: what is stored, what happens now, and what was typed here and is not stored yet. It draws
// nothing itself: `changed` is called when entries come or go, and an entry's own `draw` when only it has changed.

import { call, events, followSession, json, Refused, t } from "./base.js";

const moves = /^\s*\/(edit|retry|undo|branch|compact)\b/i; // commands that change which messages the thread has
const renews = /^\s*\/(new|reset)\b/i;
const isEnd = (e) => /^run\.(done|failed|aborted|dropped)$/.test(e.type);

// isDecision: the button belongs to a question that the page shows itself while it is open.
const isDecision = (button) => /^\/approve apr_\w+ (allow|deny|always)$/.test(button.value ?? "");

const liveMax = 500; // entries that come live before the conversation is read again, so that an open page does not grow for ever

let keys = 0;

export class Chat {
  constructor(name, changed) {
    this.name = name; // of the session: its id, its key, or main
    this.changed = changed;
    this.path = "/v1/sessions/" + encodeURIComponent(name);
    this.session = null; // its record
    this.entries = [];
    this.users = new Map(); // run → entry of the message
    this.answers = new Map(); // run → entry of its answer, during the run
    this.seen = new Set(); // ids of deliveries and files that are shown
    this.results = new Map(); // call → its result, while the call is older than what is shown
    this.unsent = new Map(); // id → entry that has no run yet
    this.state = "connecting"; // connecting, connected, away, withheld, missing
    this.above = false; // the session has learned something that may not be shown here
    this.told = null; // the end of the newest turn, until the session's events have shown it
    this.ended = ""; // the last run whose end the events have shown
    this.moving = null; // the newest run that changes which messages the thread has
    this.asking = null; // reads the answer to the newest message
    this.older = ""; // from where older messages can be read
    this.turn = Promise.resolve(); // until the last reading of the history has ended
    this.branches = []; // of the last turn, if there are several
    this.news = 0; // counts the events but those of texts that grow
    this.read = 0; // how many of the entries were read, and did not come live
    this.follow = followSession(name, {
      opened: () => this.opened(),
      event: (e) => this.onEvent(e),
      away: (failures) => this.away(failures),
      hidden: () => this.tellAbove(),
    });
  }

  close() {
    this.follow.close();
    this.asking?.abort();
    clearTimeout(this.timer);
  }

  // busy is the run in progress, if any.
  busy() {
    return [...this.answers.keys()][0];
  }

  async opened() {
    await this.reload();
    this.above = false;
    clearTimeout(this.timer);
    this.state = "connected";
    this.changed();
  }

  away(failures) {
    if (this.above) return;
    this.state = failures > 2 ? "away" : "reconnecting";
    this.changed();
  }

  // inTurn reads the history after the readings before: what to ask for depends on what they have brought.
  inTurn(read) {
    return (this.turn = this.turn.then(read, read));
  }

  // reload reads what is stored. What happens meanwhile may be in one of the answers and not in another: then it reads again, at
  // once a few times, and later if it never rests.
  reload() {
    return this.inTurn(async () => {
      for (let tries = 1; ; tries++) {
        const before = this.news;
        const [session, history, running, queued] = await Promise.all([
          json(this.path),
          json(this.path + "/history?limit=" + Math.min(500, Math.max(100, this.entries.length))),
          json(this.path + "/runs?status=running&limit=5"),
          json(this.path + "/runs?status=queued&limit=50"),
        ]);
        if (this.news !== before && tries < 3) continue;
        this.session = session;
        this.show(history, running.runs.reverse(), queued.runs.reverse());
        if (this.news !== before) this.soon();
        return;
      }
    });
  }

  // show takes the stored conversation, and keeps what is not stored yet.
  show(history, running, queued) {
    const kept = [...this.unsent.values()];
    const partial = new Map([...this.answers].map(([run, entry]) => [run, entry.text]));
    const before = new Map(this.entries.map((e) => [e.id, e]));
    this.entries = [];
    this.users.clear();
    this.answers.clear();
    this.seen.clear();
    this.results.clear();
    for (const m of history.messages) this.stored(m, before);
    this.reachesBack(history);
    this.branches = history.branches ?? [];
    for (const run of queued)
      if (!this.users.has(run.id))
        this.users.set(
          run.id,
          this.user(run.input, { under: { text: t("chat.waiting") }, run: run.id, created: run.accepted }),
        );
    for (const run of running) this.think(run.id, partial.get(run.id));
    this.entries.push(...kept);
    this.read = this.entries.length;
    this.changed();
  }

  // reachesBack notes where a part of the history begins, if there is more before it.
  reachesBack(history) {
    this.older = (history.truncated && history.messages[0]?.id) || "";
  }

  // find looks for a text in all messages, also in those that are not read yet. It returns the ids of those that contain it, oldest
  // first. A new message gets its id when it is read again.
  async find(words) {
    if (this.entries.some((e) => !e.id && e.run && !e.working)) await this.reload();
    const { found = [], found_more } = await json(this.path + "/history?limit=1&find=" + encodeURIComponent(words));
    return { words, found, more: Boolean(found_more) };
  }

  // entryOf finds the entry that shows a message: a call shows its result too.
  entryOf(id) {
    return this.entries.find((e) => e.id === id || e.tools.some((one) => one.message === id));
  }

  // reach reads older messages until this one is there.
  async reach(id) {
    const there = () => this.entryOf(id) !== undefined;
    while (this.reading) await this.turn.catch(() => {}); // older messages that somebody scrolls to
    for (let older = ""; !there() && this.older && this.older !== older;) {
      older = this.older;
      await this.readOlder(500);
    }
    return there();
  }

  // readOlder puts older messages above the ones that are shown.
  async readOlder(limit = 100) {
    if (!this.older || this.reading) return;
    this.reading = true;
    try {
      await this.inTurn(async () => {
        if (!this.older) return; // the conversation was reset meanwhile
        const history = await json(this.path + `/history?limit=${limit}&before=` + encodeURIComponent(this.older));
        const newer = this.entries;
        this.entries = [];
        for (const m of history.messages) this.stored(m, new Map());
        this.reachesBack(history);
        this.read += this.entries.length;
        this.entries.push(...newer);
        this.changed();
      });
    } catch {
      this.soon(); // the thread has changed, or the gateway does not answer
    } finally {
      this.reading = false;
    }
  }

  stored(m, before) {
    const facts = { id: m.id, run: m.run, created: m.created, label: m.label, model: m.model };
    const files = [
      ...(m.files ?? []),
      ...(m.parts ?? [])
        .filter((p) => p.attachment?.media)
        .map((p) => ({
          id: p.attachment.media,
          name: p.attachment.name || p.attachment.kind,
          mime: p.attachment.mime,
          size: p.attachment.size,
        })),
    ];
    let same = before.get(m.id);
    switch (m.role) {
      case "user":
        if (this.keep(same, { kind: "user", text: m.text, files })) this.under(same, null);
        else same = this.user(m.text, { ...facts, sender: m.sender, files });
        return void this.users.set(m.run, same);
      case "notice": {
        const buttons = m.buttons ?? [];
        const open = buttons.some(isDecision);
        if (this.keep(same, { kind: "notice", text: m.text, files, open, buttons: buttons.filter((b) => !isDecision(b)) }))
          for (const id of [m.id, ...files.map((f) => f.id)]) this.seen.add(id);
        else this.notice(m.text, m.id, m.buttons, { ...facts, files });
        return;
      }
      case "agent":
        if (!this.keep(same, { kind: "agent", text: m.text, files }))
          this.add("agent", { ...facts, text: m.text, sender: m.sender, files });
        return;
      case "summary":
        if (!this.keep(same, { kind: "notice", summary: m.text }))
          this.add("notice", { ...facts, text: t("chat.summary"), summary: m.text });
        return;
      case "toolResult":
        for (const p of m.parts ?? []) this.result(m.run, { ...p, message: m.id });
        return;
      case "assistant": {
        const tools = (m.parts ?? [])
          .filter((p) => p.type === "toolCall")
          .map((p) => ({ id: p.callId, name: p.tool, args: p.args, state: "done" }));
        const thinking = (m.parts ?? [])
          .filter((p) => p.type === "thinking")
          .map((p) => p.text)
          .join("\n\n");
        const said = this.users.get(m.run);
        if (m.withheld && said) said.under = { text: m.withheld.message, rule: true, delivery: m.withheld.delivery };
        if (!m.text && !tools.length && !thinking) return;
        if (same && same.text === m.text && same.tools.length === tools.length) return void this.entries.push(same);
        this.add("assistant", { ...facts, text: m.text, tools, thinking, ended: true, files });
        for (const tool of tools) if (this.results.has(tool.id)) this.result(m.run, this.results.get(tool.id));
      }
    }
  }

  // keep puts an entry back that shows the same as before, so that it is not drawn again. The conversation is read twice while it
  // opens, because something may have happened between the first reading and the first event.
  keep(same, now) {
    const equal = (a, b) => (Array.isArray(b) ? (a ?? []).length === b.length : (a ?? false) === b);
    if (!same || !Object.entries(now).every(([name, value]) => equal(same[name], value))) return false;
    this.entries.push(same);
    return true;
  }

  // result gives the result of a call to the entry that has the call.
  result(run, p) {
    if (p.type === "text" || !p.callId) return;
    for (let i = this.entries.length - 1; i >= 0; i--) {
      const tool = this.entries[i].tools.find((one) => one.id === p.callId);
      if (!tool) continue;
      const now = { result: p.text ?? "", state: p.error ? "failed" : "done", label: p.label, message: p.message };
      if (Object.entries(now).every(([name, value]) => tool[name] === value)) return;
      Object.assign(tool, now);
      this.touch(this.entries[i]); // it may be shown already
      return;
    }
    this.results.set(p.callId, p);
  }

  add(kind, facts) {
    const entry = { key: ++keys, kind, text: "", tools: [], files: [], created: new Date().toISOString(), ...facts };
    this.entries.push(entry);
    this.changed();
    return entry;
  }

  remove(entry) {
    this.entries = this.entries.filter((e) => e !== entry);
    this.changed();
  }

  touch(entry) {
    entry.draw?.();
  }

  user(text, facts = {}) {
    return this.add("user", { text, ...facts });
  }

  notice(text, id, buttons, facts = {}) {
    if (id && this.seen.has(id)) return;
    if (id) this.seen.add(id);
    const files = (facts.files ?? []).filter((f) => !this.seen.has(f.id));
    for (const f of files) this.seen.add(f.id);
    if (!text && !files.length) return;
    this.add("notice", {
      ...facts,
      text,
      id,
      files,
      buttons: (buttons ?? []).filter((b) => !isDecision(b)),
      open: buttons?.some(isDecision),
    });
  }

  // decided takes the buttons of a question away and shows the decision.
  decided(id, text) {
    const entry = this.entries.find((e) => e.kind === "notice" && e.id === id);
    if (!entry) return;
    Object.assign(entry, { buttons: [], decided: text, open: false });
    this.touch(entry);
    this.changed();
  }

  // files shows the files of a delivery.
  async files(delivery) {
    const d = await json("/v1/deliveries/" + encodeURIComponent(delivery));
    this.notice("", "", [], { files: d.files ?? [] });
  }

  under(entry, under) {
    entry.under = under;
    this.touch(entry);
  }

  // think shows that a run is in progress and gives the entry of its answer.
  think(run, text = "") {
    let entry = this.answers.get(run);
    if (!entry) {
      entry = this.add("assistant", { run, text, working: true, ended: false });
      this.answers.set(run, entry);
      const said = this.users.get(run);
      if (said) this.under(said, null);
    }
    return entry;
  }

  write(entry, text) {
    entry.text = text;
    this.touch(entry);
  }

  onEvent(e) {
    if (!e.type.endsWith(".delta")) this.news++;
    if (isEnd(e)) {
      this.ended = e.run;
      if (this.told?.run === e.run) this.told = null;
    }
    this.happened(e);
    if (e.type === "run.started" || isEnd(e)) this.changed();
    if (isEnd(e) && this.entries.length - this.read > liveMax) this.soon();
    const said = this.users.get(e.run) ?? { text: "" };
    if ((e.type === "run.started" || isEnd(e)) && (e.run === this.moving || moves.test(said.text))) this.soon();
  }

  // soon reads the conversation again, because its thread has changed.
  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.reload().catch(() => {}), 150);
  }

  happened(e) {
    const said = this.users.get(e.run);
    switch (e.type) {
      case "message.user":
        return this.heard(e);
      case "message.notice":
        if (e.file && e.text) this.notice(e.text);
        if (e.file) return void this.files(e.delivery).catch((problem) => this.notice(problem.message));
        return this.notice(e.text, e.delivery, e.buttons);
      case "message.decided":
        return this.decided(e.delivery, e.text);
      case "run.started":
        return void this.think(e.run);
      case "text.delta": {
        const entry = this.think(e.run);
        return this.write(entry, entry.text + e.text);
      }
      case "thinking.delta": {
        const entry = this.think(e.run);
        entry.thinking = (entry.thinking ?? "") + e.text;
        return this.touch(entry);
      }
      case "tool.call": {
        const entry = this.think(e.run);
        entry.text = "";
        entry.tools.push({ id: e.callId, name: e.tool, state: "running" });
        return this.touch(entry);
      }
      case "tool.result": {
        const entry = this.think(e.run),
          tool = entry.tools.find((one) => one.id === e.callId);
        if (tool) tool.state = e.failed ? "failed" : "done";
        return this.touch(entry);
      }
      case "run.retrying": {
        const entry = this.think(e.run);
        entry.text = "";
        return this.under(entry, { text: t("chat.retrying") });
      }
      case "run.done":
        return this.done(e);
      case "run.failed":
        return this.over(e, said, t("chat.noreply"), true);
      case "run.aborted":
        return this.over(e, said, t("chat.stopped"));
      case "run.dropped":
        return this.over(e, said, t("chat.dropped"), true);
    }
  }

  // heard shows a message, unless it was typed here.
  heard(e) {
    if (this.users.has(e.run)) return;
    const mine = [...this.unsent.values()].find((entry) => entry.text === e.text);
    if (mine) {
      this.unsent.delete(mine.unsent);
      this.under(mine, null);
    }
    const entry = mine ?? this.user(e.text, { sender: e.sender, created: e.at, run: e.run });
    entry.run = e.run;
    this.users.set(e.run, entry);
    if (this.answers.size) this.under(entry, { text: t("chat.waiting") });
  }

  done(e) {
    const entry = this.answers.get(e.run);
    this.answers.delete(e.run);
    const said = this.users.get(e.run);
    if (said) this.under(said, null);
    if (entry) entry.working = false;
    if (!e.text || e.withheld) {
      if (entry && !entry.tools.length && !entry.thinking) this.remove(entry);
      else if (entry) (Object.assign(entry, { text: "", ended: true }), this.touch(entry));
      if (said)
        this.under(said, {
          text: e.text || t("chat.silence"),
          rule: Boolean(e.withheld),
          delivery: e.withheld?.delivery,
        });
      return;
    }
    // An answer that was stored before this page looked is shown already: its events must not show it twice, and not leave it out.
    const stored = this.entries.some(
      (one) => one !== entry && one.ended && one.text === e.text && (!entry || one.run === e.run),
    );
    if (Boolean(entry) === stored) this.soon();
    if (!entry) return; // merged into another message's answer, or stored before this page looked
    Object.assign(entry, { under: null, text: e.text, ended: true, usage: e.usage });
    this.touch(entry);
  }

  // over shows below a message that it has no answer. A notice says why.
  over(e, said, word, bad = false) {
    const entry = this.answers.get(e.run);
    this.answers.delete(e.run);
    if (entry && !entry.tools.length && entry.text === "") this.remove(entry);
    else if (entry) (Object.assign(entry, { working: false, ended: true }), this.touch(entry));
    if (!said) return;
    // A button of an agent that was pressed before a reload must not become a command, as it would if it were typed.
    const typed = said.press || !said.text.startsWith("/");
    this.under(said, {
      text: word,
      bad,
      run: e.run,
      action: typed ? { text: t("chat.again"), run: () => this.say(said.text, { press: said.press }) } : null,
    });
  }

  // say posts a message, or a press of a button. Repeating a failed post keeps the id, so it is the same message.
  async say(text, { id = crypto.randomUUID?.() ?? String(Date.now()) + Math.random(), press, files } = {}) {
    const entry = this.unsent.get(id) ?? this.user(text, { unsent: id, press, attached: files, files: [] });
    this.unsent.set(id, entry);
    this.under(entry, { text: t("chat.sending") });
    this.changed();
    try {
      const reading = new AbortController();
      const answer = await call(this.path + "/messages", {
        method: "POST",
        headers: { Accept: "text/event-stream" },
        body: press ? { press, id } : { message: text, id, ...(files?.length ? { files } : {}) },
        signal: reading.signal,
      });
      const run = answer.headers.get("X-Run-Id");
      if (run) {
        this.accepted(entry, run);
        if (moves.test(text)) {
          this.moving = run;
          if (this.ended === run) this.soon(); // its events came first
        }
        this.asking?.abort(); // a browser opens few connections at once
        this.asking = reading;
        events(answer, (e) => this.ownEvent(e)).catch(() => {}); // the session's own events show the same
      } else {
        await events(answer, (e) => this.onEvent(e));
        answer.body.cancel().catch(() => {});
        this.unsent.delete(id);
        this.under(entry, null);
        if (!press && renews.test(text))
          this.follow.again(); // a new session: read it from its beginning
        else if (moves.test(text)) this.soon();
      }
    } catch (problem) {
      this.under(entry, {
        text: t("chat.notsent", { why: problem instanceof Refused ? problem.message : t("part.silent") }),
        bad: true,
        action: { text: t("part.retry"), run: () => this.say(text, { id, press, files }) },
      });
    }
    this.changed();
  }

  accepted(entry, run) {
    this.unsent.delete(entry.unsent);
    const shown = this.users.get(run);
    entry.run = run;
    if (shown && shown !== entry)
      this.remove(entry); // its event came first
    else this.users.set(run, entry);
    if (entry.under?.text === t("chat.sending")) this.under(entry, null);
  }

  // ownEvent handles the events of the person's own message. They are shown even if nothing else of the session is.
  ownEvent(e) {
    if (isEnd(e) && e.run !== this.ended) {
      this.told = e;
      setTimeout(() => this.told === e && this.follow.look(), 300); // the session's own events did not come: it may be hidden now
    }
    if (e.type === "message.notice" && (this.above || e.delivery)) this.happened(e); // known again by its delivery
    if (this.above) this.showTold();
  }

  showTold() {
    if (!this.told) return;
    this.think(this.told.run);
    this.happened(this.told);
    this.told = null;
  }

  // tellAbove explains that the session is no longer shown, and what to do.
  tellAbove() {
    this.state = "withheld";
    if (!this.above) {
      this.above = true;
      this.showTold();
      this.add("notice", {
        text: t("chat.above"),
        buttons: [
          { label: t("chat.knows"), value: "/status" },
          { label: t("chat.startover"), value: "/new" },
        ],
        page: true,
      });
    }
    this.changed();
  }

  async stop() {
    const run = this.busy();
    if (run) await call(this.path + "/runs/" + run + "/cancel", { method: "POST" });
  }
}
