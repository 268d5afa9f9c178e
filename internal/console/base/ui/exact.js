// The exact time of an age, with its zone, beside the element with the keyboard focus. Under the pointer, it is the title of the age.
// It is formatted only then: the first use of Intl.DateTimeFormat would delay the first view by some 20 ms.

import { exact } from "../text.js";

const edge = 8; // pixels between it and the edge of the window

const tip = document.createElement("div");
tip.id = "exact";
tip.setAttribute("role", "tooltip");
let of = null; // the focused element whose time is shown

// timeOf is the time that belongs to an element: the element itself, one in it, or one in the current row of a list.
function timeOf(node) {
  if (!node?.matches) return null;
  if (node.matches("time.moment")) return node;
  if (node.matches(".rows")) return node.querySelector(".row.at time.moment");
  return node.matches("a:focus-visible, button:focus-visible, summary:focus-visible") ? node.querySelector("time.moment") : null;
}

// look shows the exact time of the element with the focus, if it has one.
export function look() {
  const node = document.activeElement;
  const time = timeOf(node);
  if (!time) return hide();
  if (of !== node) hide();
  of = node;
  tip.textContent = exact(time.dateTime);
  (node.closest("dialog, main, nav") ?? document.body).append(tip);
  node.setAttribute("aria-describedby", tip.id);
  const at = time.getBoundingClientRect(),
    own = tip.getBoundingClientRect();
  const below = at.bottom + 4;
  tip.style.left = Math.max(edge, Math.min(at.left, innerWidth - own.width - edge)) + "px";
  tip.style.top = (below + own.height > innerHeight - edge ? at.top - own.height - 4 : below) + "px";
}

function hide() {
  tip.remove();
  of?.removeAttribute("aria-describedby");
  of = null;
}

// startExact follows the focus. Escape hides the time, and still closes what is open.
export function startExact() {
  document.addEventListener("pointerover", (e) => {
    const time = e.target.closest?.("time.moment");
    if (time) time.title = exact(time.dateTime);
  });
  document.addEventListener("focusin", look);
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", () => of && look(), { capture: true, passive: true });
  document.addEventListener("keydown", (e) => e.key === "Escape" && hide(), { capture: true });
}
