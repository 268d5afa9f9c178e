// The rows of a list that is read page by page. What has changed changes in place; new rows wait until they are asked for; what
// no longer belongs to the list is marked, and leaves it with the next order. So nothing moves under a pointer.
//
// Lists are newest first, so new rows are on the first page. In a list with another order, new rows can be on any page; sort
// compares two rows of such a list.

import { page } from "../base.js";

const first = 50; // rows of the first page, and of those that are read again
const further = 200; // rows of the pages that follow
const patience = 30000; // milliseconds after which a refresh ends without its response

export class Rows {
  constructor({ path, take, id, changed, sort }) {
    this.path = path; // of the list, with its filters
    this.take = take; // returns the rows of a response
    this.id = id;
    this.changed = changed;
    this.sort = sort;
    this.order = []; // ids as shown
    this.known = new Map(); // id → row
    this.gone = new Set(); // ids that no longer match
    this.fresh = []; // rows that wait to be shown, newest first
    this.pages = []; // how each page was read: { path, from }
    this.next = "";
    this.body = null; // the first page's response, with its counts
    this.error = null;
    this.state = "loading"; // loading, more, end
    this.reading = null;
    this.refreshing = null;
    this.waits = null;
    this.sight = [0, 0]; // the first and the last row that are in sight
  }

  at(i) {
    return this.known.get(this.order[i]);
  }

  // begin reads the first page, and as many as are needed to show a row that was in sight before.
  async begin(upTo = 0) {
    await this.more(this.path(first));
    while (this.next && this.order.length < upTo && this.order.length < 4000) await this.more();
  }

  // more reads the next page. Two calls at the same time are one.
  more(path = this.next) {
    if (!path && this.order.length) return Promise.resolve();
    if (this.reading) return this.reading;
    const reading = this.read(path || this.path(first)).finally(() => {
      if (this.reading === reading) this.reading = null;
      this.changed();
    });
    return (this.reading = reading);
  }

  async read(path) {
    const pages = this.pages;
    if (pages.length) path = path.replace(/([?&]limit=)\d+/, "$1" + further);
    try {
      const { body, next } = await page(path);
      if (pages !== this.pages) return; // the list was read again in the meantime
      const rows = this.take(body);
      if (!this.pages.length) this.body = body;
      this.pages.push({ path, from: this.order.length });
      for (const row of rows) {
        const id = this.id(row);
        if (!this.known.has(id)) this.order.push(id);
        this.known.set(id, row);
      }
      this.next =
        next ||
        (body.next ? path.replace(/([?&])after=[^&]*&?/, "$1") + "&after=" + encodeURIComponent(body.next) : "");
      this.state = this.next ? "more" : "end";
      this.error = null;
    } catch (error) {
      if (pages !== this.pages) return;
      this.error = error;
      if (this.state === "loading") this.state = "end";
    }
  }

  // refresh reads the pages again that are in sight, and the first one. While something is being read, it waits, because that
  // read may have begun before the change; one refresh then stands for all that wait.
  refresh(from, to) {
    this.sight = [from, to];
    const before = this.reading ?? this.refreshing;
    if (!before) return (this.refreshing = this.readAgain(...this.sight).finally(() => (this.refreshing = null)));
    this.waits ??= before.then(() => {
      this.waits = null;
      return this.refresh(...this.sight);
    });
    return this.waits;
  }

  async readAgain(from, to) {
    if (!this.pages.length) return this.begin();
    const wanted = this.pages
      .filter((p, i) => i === 0 || (p.from <= to && (this.pages[i + 1]?.from ?? Infinity) > from))
      .slice(0, 3);
    const last = this.pages.at(-1);
    if (this.sort && !wanted.includes(last)) wanted.push(last);
    const fresh = new Map();
    for (const p of wanted) {
      try {
        const { body, next } = await page(p.path, { signal: AbortSignal.timeout(patience) });
        if (!this.pages.includes(p)) return; // the list was read again in the meantime
        if (p === this.pages[0]) this.body = body;
        for (const row of this.merge(this.take(body), p, !next && !body.next)) fresh.set(this.id(row), row);
        if (this.sort && p === last && next && !this.next) [this.next, this.state] = [next, "more"];
        this.error = null;
      } catch (error) {
        this.error = error;
      }
    }
    if (!this.error) this.fresh = [...fresh.values()];
    this.changed();
  }

  // merge takes the rows of a page as they are now, and returns those that are new. ended: no page follows it.
  merge(rows, p, ended) {
    const ids = new Set(rows.map(this.id));
    const place = new Map(this.order.map((id, i) => [id, i]));
    const mayGrow = this.sort || p === this.pages[0];
    let last = ended ? (this.pages[this.pages.indexOf(p) + 1]?.from ?? this.order.length) - 1 : -1;
    const fresh = [];
    for (const row of rows) {
      const id = this.id(row);
      if (place.has(id)) {
        last = Math.max(last, place.get(id));
        this.gone.delete(id);
        this.known.set(id, row);
      } else if (mayGrow) fresh.push(row);
    }
    for (let i = p.from; i <= last; i++) if (!ids.has(this.order[i])) this.gone.add(this.order[i]);
    return fresh;
  }

  // settle shows the rows that wait, and takes away those that are gone.
  settle() {
    this.fresh = this.fresh.filter((row) => !this.known.has(this.id(row)));
    if (!this.fresh.length && !this.gone.size) return;
    if (this.fresh.length >= first) return this.restart();
    for (const row of this.fresh) this.known.set(this.id(row), row);
    const firsts = this.pages.map((p) => this.order.find((id, i) => i >= p.from && !this.gone.has(id)));
    const kept = this.order.filter((id) => !this.gone.has(id));
    for (const id of this.gone) this.known.delete(id);
    this.order = [...this.fresh.map(this.id), ...kept];
    if (this.sort) this.order.sort((a, b) => this.sort(this.known.get(a), this.known.get(b)));
    this.pages.forEach((p, i) => (p.from = i && firsts[i] ? this.order.indexOf(firsts[i]) : i && this.order.length));
    this.fresh = [];
    this.gone.clear();
    this.changed();
  }

  // restart reads the list again from the beginning: too much has changed since.
  restart() {
    this.order = [];
    this.known.clear();
    this.gone.clear();
    this.fresh = [];
    this.pages = [];
    this.reading = this.refreshing = this.waits = null;
    this.next = "";
    this.state = "loading";
    this.changed();
    return this.begin();
  }
}
