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
const [wrong] = await Promise.all([arrive(), load(), ready(here().view)]);
explain(wrong);
let known = Boolean(me);
const draw = () => render(html`<${Shell} again=${draw} known=${known} />`, document.getElementById("app"));
startKeys(shown);
draw();
await whoAmI().catch(() => {});
known = true;
draw();
startLive();
