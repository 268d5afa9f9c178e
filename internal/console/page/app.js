// The console starts here: texts, signing in, the frame around the views, the keyboard.

import { onSignedOut, takeToken } from "./api.js";
import { start as startKeys } from "./keys.js";
import { start as startLive } from "./live.js";
import { start as startRouter } from "./router.js";
import { Shell, shown } from "./shell.js";
import { ask } from "./sign.js";
import { load } from "./text.js";
import { html, render } from "./ui/html.js";
import { apply } from "./theme.js";

apply();
takeToken();
await load();
onSignedOut(ask);
startRouter();
const draw = () => render(html`<${Shell} again=${draw} />`, document.getElementById("app"));
draw();
startKeys(shown);
startLive();
