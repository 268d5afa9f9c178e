// The panel beside the chat: sessions, deliveries, the gateway's state.

import { json } from "./api.js";

const tones = { sent: "good", queued: "", sending: "", preview: "", discarded: "", connected: "good", standby: "" };

export class Panel {
  constructor(box, view, toggle) {
    this.box = box;
    this.view = view;
    this.tab = "sessions";
    this.timer = 0;
    toggle.addEventListener("click", () => {
      box.hidden = !box.hidden;
      toggle.setAttribute("aria-expanded", String(!box.hidden));
      this.draw();
    });
    for (const b of box.querySelectorAll("[role=tab]")) b.addEventListener("click", () => this.choose(b.dataset.tab));
  }

  choose(tab) {
    this.tab = tab;
    for (const b of this.box.querySelectorAll("[role=tab]")) b.setAttribute("aria-selected", String(b.dataset.tab === tab));
    this.draw();
  }

  // stale says that something has changed; the view is drawn again soon.
  stale() {
    if (this.box.hidden || this.timer) return;
    this.timer = setTimeout(() => { this.timer = 0; this.draw(); }, 1500);
  }

  async draw() {
    if (this.box.hidden) return;
    try {
      const rows = await this[this.tab]();
      this.view.replaceChildren(...rows);
    } catch (problem) {
      this.view.replaceChildren(row("Not available", problem.message, "bad"));
    }
  }

  async sessions() {
    const list = await json("/v1/sessions?limit=100");
    return list.map((s) => row(s.title || s.key, `${s.model} · ${s.taint} · last active ${ago(s.last_activity * 1000)}`, s.busy ? "warn" : "good", s.busy ? "busy" : "ready"));
  }

  async deliveries() {
    const { deliveries, counts } = await json("/v1/deliveries?limit=50");
    const waiting = Object.entries(counts).map(([status, n]) => n + " " + status).join(", ");
    const rows = [text(waiting ? "Unsettled: " + waiting : "All deliveries are settled.")];
    for (const d of deliveries) {
      const r = row(`${d.route.channel} ${d.route.title || d.route.conversation}`, d.text.slice(0, 160), tones[d.status] ?? "bad", d.status);
      if (d.error) r.append(text(d.error));
      const open = !["sent", "sending", "preview", "discarded"].includes(d.status);
      if (open) r.append(this.acts(d));
      rows.push(r);
    }
    return rows;
  }

  acts(d) {
    const box = document.createElement("div");
    box.className = "acts";
    for (const [verb, label] of [["retry", "Send again"], ["discard", "Discard"]]) {
      const b = document.createElement("button");
      b.className = "small";
      b.type = "button";
      b.textContent = label;
      b.addEventListener("click", async () => {
        b.disabled = true;
        try {
          await json(`/v1/deliveries/${d.id}/${verb}`, { method: "POST" });
          await this.draw();
        } catch (problem) {
          box.append(text(problem.message));
        }
      });
      box.append(b);
    }
    return box;
  }

  async status() {
    const s = await json("/v1/status");
    const rows = [row("Sluice " + s.version, "up " + s.uptime, s.ready ? "good" : "bad", s.ready ? "ready" : "not ready")];
    for (const p of s.parts) rows.push(row(p.name, p.detail ?? "", p.ok ? "good" : "bad", p.ok ? "ok" : "not ok"));
    for (const a of s.accounts) if (a.self?.username) rows.push(row(`${a.channel} @${a.self.username}`, "account " + a.account, tones[a.status] ?? "bad", a.status));
    return rows;
  }
}

function row(title, detail, tone = "", tag = "") {
  const r = document.createElement("div");
  r.className = "row";
  const head = document.createElement("div");
  head.className = "head";
  const strong = document.createElement("strong");
  strong.textContent = title;
  const t = document.createElement("span");
  t.className = "tag " + tone;
  t.textContent = tag;
  head.append(strong, t);
  r.append(head);
  if (detail) r.append(text(detail));
  return r;
}

function text(words) {
  const p = document.createElement("p");
  p.textContent = words;
  return p;
}

function ago(ms) {
  const s = Math.max(0, Math.round((Date.now() - ms) / 1000));
  if (s < 60) return s + " s ago";
  if (s < 3600) return Math.round(s / 60) + " min ago";
  if (s < 86400) return Math.round(s / 3600) + " h ago";
  return new Date(ms).toLocaleDateString();
}
