// The console starts here: texts, signing in, the frame around the views, the keyboard.

import { arrive, onSignedOut, whoAmI } from "./api.js";
import { start as startKeys } from "./keys.js";
import { start as startLive } from "./live.js";
import { start as startRouter } from "./router.js";
import { Shell, shown } from "./shell.js";
import { ask, explain } from "./sign.js";
import { load } from "./text.js";
import { html, render } from "./ui/html.js";
import { apply } from "./theme.js";

apply();
onSignedOut(ask);
startRouter();
const [wrong] = await Promise.all([arrive(), load()]);
explain(wrong);
const draw = () => render(html`<${Shell} again=${draw} />`, document.getElementById("app"));
startKeys(shown);
draw();
await whoAmI().catch(() => {});
draw();
startLive();
