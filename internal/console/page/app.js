// The console starts here: texts, signing in, the frame around the views, the keyboard. The first requests are made before.

import "./first.js";
import { arrive, me, onSignedOut, whoAmI } from "./api.js";
import { start as startKeys } from "./keys.js";
import { start as startLive } from "./live.js";
import { here, start as startRouter } from "./router.js";
import { dress, ready, Shell, shown } from "./shell.js";
import { load, warm } from "./text.js";
import { start as startExact } from "./ui/exact.js";
import { html, render } from "./ui/html.js";

dress();
startRouter();
startExact();
let known = false;
const draw = () => render(html`<${Shell} again=${draw} known=${known} />`, document.getElementById("app"));
startKeys(shown);
await Promise.all([load(), ready(here().view)]);
draw(); // the frame, while the page still signs in
warm();
const wrong = await arrive();
onSignedOut(async () => (await import("./sign.js")).ask(wrong));
if (!me) await whoAmI().catch(() => {});
known = true;
draw();
startLive();
