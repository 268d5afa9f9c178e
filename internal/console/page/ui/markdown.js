// Markdown to DOM nodes. The library only reads Markdown; the nodes are made here. Text becomes text nodes, so that
// nothing a model writes can become markup. Links go to http, https and mailto only, and pictures are not loaded.

import MarkdownIt from "../lib/markdown-it.mjs";
import { copy, t as words } from "../base.js";

const textMost = 200000; // characters; a longer text is shown as it is written
const levelMost = 32; // sixteen lists inside each other, or twice as many quotes; what would be deeper is text
const depthMost = 64; // elements inside each other; a style that would be deeper is left out
const notNow = ["linkify", "replacements", "smartquotes"]; // addresses become links below, and text stays as it is

const parser = new MarkdownIt("default", { html: false, breaks: true }).disable(notNow);
for (const name of ["blockquote", "list"]) bound(name);

// bound keeps quotes and lists from beginning where they would be too deep. The library's own bound drops their text.
function bound(name) {
  const rule = parser.block.ruler.__rules__.find((r) => r.name === name);
  const begin = rule.fn;
  parser.block.ruler.at(name, (state, from, to, silent) => state.level < levelMost && begin(state, from, to, silent), {
    alt: rule.alt,
  });
}

// markdown gives the nodes of a text.
export function markdown(text) {
  return nodes(text, {}).content;
}

// nodes gives the nodes of a text, and for each the line where it begins.
function nodes(text, known) {
  const content = document.createDocumentFragment();
  if (text.length > textMost) {
    content.append(code(text));
    return { content, lines: [0] };
  }
  const tokens = parser.parse(text, known);
  build(tokens, content);
  return { content, lines: tokens.filter((t) => t.level === 0 && t.nesting >= 0 && t.map).map((t) => t.map[0]) };
}

// build makes the nodes of tokens.
function build(tokens, into) {
  const open = [into];
  for (const t of tokens) {
    const at = open.at(-1);
    if (t.nesting > 0) open.push(open.length < depthMost ? begin(t, at) : at);
    else if (t.nesting < 0) open.pop();
    else if (t.type === "inline") build(t.children, at);
    else leaf(t, at);
  }
}

const tags = new Set([
  "p",
  "ul",
  "ol",
  "li",
  "blockquote",
  "h1",
  "h2",
  "h3",
  "thead",
  "tbody",
  "tr",
  "th",
  "td",
  "strong",
  "em",
  "s",
]);

// begin makes the element that a token opens, and gives where its content goes.
function begin(t, into) {
  if (t.hidden) return into;
  if (t.type === "link_open") return link(t.attrGet("href"), into);
  if (t.type === "table_open") return table(into);
  const tag = /^h[4-6]$/.test(t.tag) ? "h3" : t.tag;
  if (!tags.has(tag)) return into;
  const n = document.createElement(tag);
  if (t.attrGet("start") !== null) n.start = t.attrGet("start");
  const side = /text-align:(right|center)/.exec(t.attrGet("style"));
  if (side) n.className = side[1];
  into.append(n);
  return n;
}

// table makes a table in a box of its own, which scrolls sideways.
function table(into) {
  const box = document.createElement("div");
  box.className = "table";
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", words("part.table"));
  box.append(document.createElement("table"));
  into.append(box);
  return box.firstChild;
}

function leaf(t, into) {
  switch (t.type) {
    case "text":
      return write(into, t.content);
    case "softbreak":
    case "hardbreak":
      return into.append(document.createElement("br"));
    case "hr":
      return into.append(document.createElement("hr"));
    case "fence":
    case "code_block":
      return into.append(code(t.content.replace(/\n$/, "")));
    case "code_inline": {
      const n = document.createElement("code");
      n.textContent = t.content;
      return into.append(n);
    }
    case "image":
      return say(link(t.attrGet("src"), into), t.content || t.attrGet("src"));
    default:
      return say(into, t.content);
  }
}

function code(text) {
  const box = document.createElement("div"),
    n = document.createElement("pre"),
    button = document.createElement("button");
  box.className = "code-box";
  n.tabIndex = 0;
  n.append(document.createElement("code"));
  n.firstChild.textContent = text;
  button.type = "button";
  button.className = "code-copy";
  button.textContent = words("part.copy");
  box.append(n, button);
  return box;
}

// One listener copies for all blocks of code: their nodes come and go while a text grows.
document.addEventListener("click", async (e) => {
  const button = e.target.closest?.(".code-copy");
  if (!button) return;
  await copy(button.previousSibling.textContent);
  button.textContent = words("part.copied");
  setTimeout(() => {
    button.textContent = words("part.copy");
  }, 1500);
});

// link makes a link where it may be followed. Elsewhere the address stands behind the text.
function link(address, into) {
  const n = document.createElement(/^(https?:|mailto:)/i.test(address) ? "a" : "span");
  if (n.tagName === "A") follow(n, address);
  else n.title = address;
  into.append(n);
  return n;
}

function follow(n, address) {
  n.href = address;
  n.rel = "noopener noreferrer";
  n.target = "_blank";
}

const address = /https?:\/\/[^\s<>)\]]*[^\s<>)\].,;:!?]/g;

// write adds a text, and makes links of the addresses in it.
function write(into, text) {
  if (into.closest?.("a")) return say(into, text);
  let from = 0;
  for (const m of text.matchAll(address)) {
    say(into, text.slice(from, m.index));
    say(link(m[0], into), m[0]);
    from = m.index + m[0].length;
  }
  say(into, text.slice(from));
}

// say adds a text to the one that stands last, so that neighbours are one node.
function say(into, text) {
  if (into.lastChild?.nodeType === Node.TEXT_NODE) into.lastChild.data += text;
  else if (text) into.append(text);
}

// Drawing is a text in a box that grows while it is shown. What is there already stays: only the end of the text is
// read again, and only what differs is drawn. At most a fifth of the time goes into it.
export class Drawing {
  constructor(box) {
    this.box = box;
    this.text = "";
    this.waiting = false;
    this.rest();
  }

  // rest forgets what is settled: the whole text is read again.
  rest() {
    this.settled = ""; // the beginning of the text that can't change any more
    this.count = 0; // its nodes
    this.known = {}; // the link definitions in it
  }

  // show draws a text soon.
  show(text) {
    this.text = text;
    if (this.waiting) return;
    this.waiting = true;
    const later = this.pause > 16 ? (f) => setTimeout(f, this.pause) : requestAnimationFrame;
    later(() => {
      this.waiting = false;
      const start = performance.now();
      this.draw();
      this.pause = 4 * (performance.now() - start);
    });
  }

  // end draws the whole text, with the link definitions that came last.
  end(text) {
    this.text = text;
    this.rest();
    this.draw();
  }

  draw() {
    const text = this.text.includes("\r") ? this.text.replace(/\r\n?/g, "\n") : this.text;
    if (!text.startsWith(this.settled) || text.length > textMost) this.rest();
    const { content, lines } = nodes(text.slice(this.settled.length), this.known);
    patch(this.box, content, this.count);
    this.settle(text, lines);
  }

  // settle takes all but the last two blocks for settled: the last one grows, and may become a part of the previous one.
  settle(text, lines) {
    const done = lines.length - 2;
    if (done <= 0 || text.length > textMost) return;
    let at = this.settled.length;
    for (let line = 0; line < lines[done]; line++) at = text.indexOf("\n", at) + 1;
    this.settled = text.slice(0, at);
    this.count += done;
  }
}

// patch makes the children of a box, from one on, what they are in another, and leaves alone what is the same.
function patch(box, wanted, from = 0) {
  let old = box.childNodes[from] ?? null;
  for (const n of [...wanted.childNodes]) {
    if (n.nodeType === Node.TEXT_NODE) old = patchText(box, old, n.data);
    else if (old?.nodeType === Node.ELEMENT_NODE && old.cloneNode(false).isEqualNode(n.cloneNode(false))) {
      patch(old, n);
      old = old.nextSibling;
    } else if (old?.nodeType === Node.ELEMENT_NODE) {
      const next = old.nextSibling;
      old.replaceWith(n);
      old = next;
    } else box.insertBefore(n, old);
  }
  while (old) old = remove(old);
}

// patchText makes a row of text nodes say a text. What is new becomes a node of its own.
function patchText(box, old, text) {
  for (; old?.nodeType === Node.TEXT_NODE; old = old.nextSibling) {
    if (!text.startsWith(old.data)) break;
    text = text.slice(old.data.length);
  }
  while (old?.nodeType === Node.TEXT_NODE) old = remove(old);
  if (text) box.insertBefore(document.createTextNode(text), old);
  return old;
}

function remove(n) {
  const next = n.nextSibling;
  n.remove();
  return next;
}
