// The keyboard: single letters for lists and views, which can be turned off, and combinations that always work.

import { address, go } from "./router.js";

const place = "sluice.keys";

export const lettersOn = () => localStorage.getItem(place) !== "off";
export const setLetters = (on) => (on ? localStorage.removeItem(place) : localStorage.setItem(place, "off"));

let handlers = {}; // of the list or view that is shown
let after = ""; // a letter that waits for a second one
let waiting = 0;

// current says what the letters do here, until the function that it returns is called.
export function current(what) {
  handlers = what;
  return () => {
    if (handlers === what) handlers = {};
  };
}

// goLetters: g and then one of these opens a view.
export const goLetters = {
  o: "overview",
  i: "inbox",
  c: "conversations",
  r: "runs",
  d: "deliveries",
  p: "policy",
  e: "people",
  u: "audit",
  a: "agents",
  j: "automation",
  l: "alerts",
  m: "memory",
  f: "config",
  g: "logs",
  t: "costs",
  k: "access",
  s: "skills",
  w: "why",
};

// letters of lists, with the text that explains each.
export const letters = {
  j: "down",
  k: "up",
  ArrowDown: "down",
  ArrowUp: "up",
  Enter: "open",
  " ": "peek",
  x: "select",
  "/": "filter",
  f: "find",
  w: "why",
  y: "link",
  Escape: "close",
};

const writes = (n) =>
  n.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable=true]");

// startKeys handles the keys. views are all views; find opens the palette, help the list of keys.
export function startKeys({ views, find, help, regions }) {
  document.addEventListener("keydown", (e) => {
    if (e.isComposing || e.defaultPrevented) return;
    if ((e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === "k") {
      e.preventDefault();
      return find();
    }
    if (e.ctrlKey && e.key === "F6") {
      e.preventDefault();
      return regions(e.shiftKey ? -1 : 1);
    }
    if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
    if (writes(e.target)) return void (e.key === "Escape" && e.target.closest("#filters") && e.target.blur());
    const action = letters[e.key];
    const always = e.key.startsWith("Arrow") || e.key === "Enter" || e.key === "Escape" || e.key === " ";
    if (!always && !lettersOn()) return;
    if (
      always &&
      e.key !== "Escape" &&
      e.target.closest("a, button, input, summary, [role=tab], .peek-body, pre, .chat-log")
    )
      return;
    if (after === "g") {
      after = "";
      clearTimeout(waiting);
      const view = goLetters[e.key];
      if (!view || !views().includes(view)) return;
      e.preventDefault();
      return go(address(view));
    }
    if (e.key === "g") {
      after = "g";
      waiting = setTimeout(() => {
        after = "";
      }, 3000);
      return;
    }
    if (e.key === "?") return help();
    if (!action || !handlers[action]) return;
    e.preventDefault();
    handlers[action]();
  });
}
