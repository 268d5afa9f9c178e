// The console starts here: texts, signing in, the frame around the views, the keyboard. The first requests are made before.

import "./first.js";
import { arrive, me, onSignedOut, whoAmI } from "./api.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { here, startRouter } from "./router.js";
import { dress, ready, Shell, shown } from "./shell.js";
import { load } from "./text.js";
import { startExact } from "./ui/exact.js";
import { html, render } from "./ui/html.js";

dress();
startRouter();
startExact();
const frameAfter = 150; // milliseconds of signing in; to draw the frame first and then the view takes longer than both at once
let known = false;
const draw = () => render(html`<${Shell} again=${draw} known=${known} />`, document.getElementById("app"));
startKeys(shown);

async function begin() {
  await Promise.all([load(), ready(here().view)]);
  await Promise.race([arrive(), new Promise((done) => setTimeout(done, frameAfter))]);
  draw(); // the frame
  const wrong = await arrive();
  onSignedOut(async () => (await import("/sign.js")).ask(wrong));
  if (!me) await whoAmI().catch(() => {});
  known = true;
  draw();
  startLive();
}

begin();
