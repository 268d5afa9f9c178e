// Addresses: /view/id/tab?filters. Each state that can be sent to a colleague is in the address; back and forward work.

import { useEffect, useReducer } from "./ui/html.js";

const listeners = new Set();

// here is the current address.
export function here() {
  const [view = "", id = "", tab = ""] = location.pathname.split("/").slice(1).map(decoded);
  return { view: view || "overview", id, tab, query: new URLSearchParams(location.search) };
}

export function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// address is that of a view, of an object in it, and of what is chosen there. Empty values are left out.
export function address(view, id = "", query = {}, tab = "") {
  const path = [view, id, tab].filter(Boolean).map(encodeURIComponent).join("/");
  const search = new URLSearchParams(
    Object.entries(query).filter(([, v]) => v !== "" && v !== null && v !== undefined),
  ).toString();
  return "/" + path + (search && "?" + search);
}

// go opens an address. replace: it takes the place of the current one in the history.
export function go(to, { replace = false } = {}) {
  if (to === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  told();
}

// change sets filters of the current address.
export function change(values, { replace = true } = {}) {
  const at = here();
  go(address(at.view, at.id, { ...Object.fromEntries(at.query), ...values }, at.tab), { replace });
}

function told() {
  for (const l of listeners) l();
}

// useAddress gives the current address and draws the component again when it changes.
export function useAddress() {
  const [, draw] = useReducer((n) => n + 1, 0);
  useEffect(() => {
    listeners.add(draw);
    return () => listeners.delete(draw);
  }, []);
  return here();
}

// startRouter follows links of the page without loading it again.
export function startRouter() {
  addEventListener("popstate", told);
  document.addEventListener("click", (e) => {
    const link = e.target.closest?.("a[href]");
    if (!link || e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    if (
      link.target ||
      link.hasAttribute("download") ||
      link.origin !== location.origin ||
      link.getAttribute("href").startsWith("#")
    )
      return;
    e.preventDefault();
    go(link.pathname + link.search);
  });
}
