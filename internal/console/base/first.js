// The page's first requests, made before its other modules have been read: who is signed in, and what the view of the address
// shows first.

import { arrive, askEarly, me, tokenBrought, wasSignedIn } from "./api.js";

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
  const filters = new URLSearchParams([...new URLSearchParams(location.search)].filter(([, value]) => value));
  if (!lists[view] || filters.has("part")) return []; // part: another list of the view
  for (const name of ["tab", "find"]) filters.delete(name); // they belong to the open conversation
  filters.set("limit", "50");
  const list = "/v1/" + lists[view];
  return [list + "?" + filters, ...(id && view !== "audit" ? [list + "/" + id] : [])];
}

// With a token in the address, the page signs in and asks for the rows at the same time. The browser may be signed in as somebody
// else, so these requests carry the token.
const token = tokenBrought();
if (token) for (const path of first()) askEarly(path, token);
arrive().then((wrong) => {
  if (token || wrong || !wasSignedIn()) return;
  for (const path of me ? first() : ["/v1/me", ...first()]) askEarly(path);
});
