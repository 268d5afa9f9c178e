// The page's first requests, made before its other modules have been read: who is signed in, and what the view of the address
// shows first.

import { arrive, askEarly, me, wasSignedIn } from "./api.js";

// lists are the lists of the API that the views show.
const lists = {
  conversations: "sessions",
  runs: "runs",
  deliveries: "deliveries",
  inbox: "approvals",
  memory: "memory",
  alerts: "alerts",
  audit: "audit",
};

function first() {
  const [view, id] = location.pathname.slice(1).split("/");
  if (!view || view === "overview") return ["/v1/overview"];
  const filters = new URLSearchParams(location.search);
  if (!lists[view] || filters.has("part")) return []; // part: another list of the view
  filters.delete("tab");
  filters.set("limit", "50");
  const list = "/v1/" + lists[view];
  return [list + "?" + filters, ...(id && view !== "audit" ? [list + "/" + id] : [])];
}

arrive().then((wrong) => {
  if (!wrong && wasSignedIn()) for (const path of me ? first() : ["/v1/me", ...first()]) askEarly(path);
});
