// The console starts here: texts, signing in, the frame around the views, the keyboard.

import { arrive, me, onSignedOut, whoAmI } from "./api.js";
import { start as startKeys } from "./keys.js";
import { start as startLive } from "./live.js";
import { here, start as startRouter } from "./router.js";
import { ready, Shell, shown } from "./shell.js";
import { ask, explain } from "./sign.js";
import { load } from "./text.js";
import { html, render } from "./ui/html.js";
import { apply } from "./theme.js";

apply();
onSignedOut(ask);
startRouter();
const [wrong, , there] = await Promise.all([arrive(), load(), ready(here().view)]);
// A browser does not ask again for a module that it could not get once: the page is loaded again, but not again and again.
const reloaded = "sluice.reloaded";
if (there) sessionStorage.removeItem(reloaded);
else if (!sessionStorage.getItem(reloaded)) {
  sessionStorage.setItem(reloaded, "1");
  location.reload();
  await new Promise(() => {});
}
explain(wrong);
let known = Boolean(me);
const draw = () => render(html`<${Shell} again=${draw} known=${known} />`, document.getElementById("app"));
startKeys(shown);
draw();
await whoAmI().catch(() => {});
known = true;
draw();
startLive();
