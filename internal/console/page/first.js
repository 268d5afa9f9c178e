// The page's first requests, made before its other modules have been read.

import { arrive, askEarly, me, wasSignedIn } from "./api.js";

const first = { "/": ["/v1/overview"], "/overview": ["/v1/overview"] }[location.pathname] ?? [];

arrive().then((wrong) => {
  if (wrong || !wasSignedIn()) return;
  for (const path of me ? first : ["/v1/me", ...first]) askEarly(path);
});
