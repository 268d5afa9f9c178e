// Questions that wait for a decision, above the message field. One is shown at a time, oldest first, with all of its
// arguments. A button only decides about the question that it was drawn with.

import { json, Refused } from "./api.js";

const often = 5000; // milliseconds between two requests, because another conversation may ask
const soon = 200; // after something has happened
const settle = 600; // a question that replaces another cannot be answered before, so that a late click has no effect
const hidden = /[\p{Cc}\p{Cf}\p{Co}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu;

// visible replaces characters that could hide or reverse a text with their numbers.
function visible(text) {
  return text.replace(hidden, (c) => (c === "\n" || c === "\t" ? c : "\\u{" + c.codePointAt(0).toString(16) + "}"));
}

export class Approvals {
  constructor(box, heard, { changed, done }) {
    this.box = box;
    this.heard = heard; // screen readers read it, also while the box is hidden
    this.changed = changed;
    this.done = done;
    this.open = [];
    this.shown = "";
    this.timer = 0;
    this.part = Object.fromEntries([...box.querySelectorAll("[data-part]")].map((n) => [n.dataset.part, n]));
    this.part.allow.addEventListener("click", () => this.decide("allow"));
    this.part.deny.addEventListener("click", () => this.decide("deny"));
    setInterval(() => this.left(), 1000);
    document.addEventListener("visibilitychange", () => this.stale());
    this.look();
  }

  // stale says that something has happened.
  stale() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), soon);
  }

  async look() {
    clearTimeout(this.timer);
    try {
      if (!document.hidden) this.show((await json("/v1/approvals?status=pending&limit=50")).approvals.reverse());
    } catch (problem) {
      if (problem instanceof Refused) this.show([]); // the caller may not see approvals
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), often);
  }

  show(open) {
    this.open = open.filter((p) => Date.parse(p.expires) > Date.now());
    const first = this.open.find((p) => p.id === this.shown) ?? this.open[0];
    if (first?.id !== this.shown) this.draw(first);
    this.part.more.textContent = this.open.length > 1 ? `1 of ${this.open.length}` : "";
    this.left();
    this.changed();
  }

  // waits reports whether a run waits for a decision.
  waits(run) {
    return this.open.some((p) => p.run === run);
  }

  draw(p) {
    const took = this.shown !== "";
    const focused = this.box.contains(document.activeElement);
    this.shown = p?.id ?? "";
    this.box.hidden = !p;
    if (p) this.fill(p, took);
    if (focused) this.done();
  }

  fill(p, took) {
    const what = p.delivery ? "Send this message?" : `Allow ${visible(p.tool)} to run?`;
    this.part.what.textContent = what;
    this.part.who.textContent = visible([p.agent && "Agent " + p.agent, p.label, p.approvers && "to be decided by " + p.approvers.map((list) => list.join(", ") || "the owners").join("; and ")].filter(Boolean).join(" · "));
    this.part.why.textContent = visible(p.why ?? "");
    this.part.args.textContent = visible(JSON.stringify(p.args ?? {}, null, 2));
    this.part.problem.textContent = "";
    this.heard.textContent = `Please decide: ${what} Allow or deny it above the message field.`;
    this.enable(!took);
    if (took) setTimeout(() => this.enable(true), settle);
  }

  enable(on) {
    this.part.allow.disabled = this.part.deny.disabled = !on;
  }

  // left shows the remaining time, and what happens after it.
  left() {
    const p = this.open.find((one) => one.id === this.shown);
    if (!p) return;
    const seconds = Math.max(0, Math.round((Date.parse(p.expires) - Date.now()) / 1000));
    const words = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left, then ${p.on_timeout === "allow" ? "allowed" : "denied"} automatically`;
    if (this.part.left.textContent !== words) this.part.left.textContent = words;
    if (seconds === 0) this.stale();
  }

  async decide(verb) {
    const id = this.shown;
    this.enable(false);
    try {
      await json(`/v1/approvals/${encodeURIComponent(id)}/${verb}`, { method: "POST" });
      this.heard.textContent = verb === "allow" ? "Allowed." : "Denied.";
    } catch (problem) {
      if (this.shown === id) this.part.problem.textContent = problem instanceof Refused ? problem.message : "The gateway does not answer. Your decision was not saved; try again.";
    }
    if (this.shown === id) this.enable(true);
    await this.look();
  }
}
