// Signing in. Everything that needs the token waits for it, once for all.

import { html, render, signedInElsewhere, signIn, t, useEffect, useRef, useState, wasSignedIn } from "./base.js";

let asking = null;

let accepted = false; // a token, since the page was opened

// ask shows the dialog until the gateway accepts a token. Calls made meanwhile wait for the same answer. wrong is the key of the
// text that says what is wrong with what the address brought.
export function ask(wrong) {
  asking ??= new Promise((done) => {
    const box = document.createElement("div");
    document.body.append(box);
    const end = () => {
      if (!box.isConnected) return;
      render(null, box);
      box.remove();
      asking = null;
      done();
    };
    signedInElsewhere().then(end);
    render(
      html`<${SignIn}
        why=${wrong && !accepted ? t(wrong) : wasSignedIn() ? t("sign.replaced") : ""}
        done=${end}
      />`,
      box,
    );
  });
  return asking;
}

function SignIn({ why, done }) {
  const box = useRef(null);
  const [wrong, say] = useState(why);
  const [busy, set] = useState(false);
  useEffect(() => box.current.showModal(), []);
  const submit = async (e) => {
    e.preventDefault();
    set(true);
    say("");
    const problem = await signIn({ token: box.current.querySelector("input").value });
    set(false);
    if (!problem) {
      accepted = true;
      return done();
    }
    say(t(problem));
    box.current.querySelector("input").select();
  };
  return html`
    <dialog
      id="ask"
      ref=${box}
      aria-labelledby="ask-title"
      aria-describedby="ask-why"
      onCancel=${(e) => e.preventDefault()}
    >
      <form class="dialog" onSubmit=${submit}>
        <h2 id="ask-title">${t("sign.title")}</h2>
        <p>${t("sign.where")}</p>
        <label class="field">
          <span>${t("sign.token")}</span>
          <input id="token" type="password" aria-describedby="ask-why" autocomplete="off" />
        </label>
        <p id="ask-why" class="bad" role="alert">
          ${wrong}
        </p>
        <button type="submit" class="main" disabled=${busy}>
          ${t("sign.in")}
        </button>
      </form>
    </dialog>
  `;
}
