// The gateway's API as this browser's user: requests, lists of pages, and signing in and out.

const place = "sluice.key"; // of this browser's sign-in; the cookie that belongs to it can't be read here

export class Refused extends Error {
  constructor(status, message, code = "") {
    super(message);
    this.status = status;
    this.code = code;
  }
}

let asked = () => {}; // asks the person to sign in; gives a promise that ends when they have

// onSignedOut says what asks the person to sign in.
export function onSignedOut(ask) {
  asked = ask;
}

export let me = null; // who is signed in: { name, role, level, … }

// acts and owns report whether the person may do something, and whether they may do everything.
export const acts = () => me?.role === "operator" || me?.role === "owner";
export const owns = () => me?.role === "owner";

export const wasSignedIn = () => Boolean(localStorage.getItem(place));

let arriving = null;

// arrive signs in once, see [signInFromAddress].
export const arrive = () => (arriving ??= signInFromAddress());

const brought = (name) => new URLSearchParams(location.hash.slice(1)).get(name);

// tokenBrought is the token in the address, before the page signs in with it.
export const tokenBrought = () => brought("token");

// signInFromAddress signs in with what the address brought, a token or a one-time link, and takes it out of the address, so that it stays
// out of history, bookmarks and screenshots. It gives the key of the text that says what is wrong.
async function signInFromAddress() {
  const token = brought("token"),
    link = brought("link");
  if (!token && !link) return "";
  history.replaceState(null, "", location.pathname + location.search);
  return signIn(link ? { link } : { token });
}

// signIn makes a sign-in of a token or a link; it gives the key of the text that says what is wrong.
export async function signIn(body) {
  if ("token" in body && !body.token.trim()) return "sign.empty";
  let answer;
  try {
    answer = await fetch("/login", {
      method: "POST",
      headers: { "Content-Type": "application/json", "Sluice-Client": "page" },
      body: JSON.stringify("token" in body ? { token: body.token.trim() } : body),
      cache: "no-store",
    });
  } catch {
    return "sign.silent";
  }
  if (answer.status === 429) return "sign.often";
  if (answer.status >= 500) return "sign.broken";
  if (!answer.ok) return body.link ? "sign.link" : "sign.unknown";
  const given = await answer.json();
  localStorage.setItem(place, given.key);
  await become(given.me);
  return "";
}

// whoAmI asks who is signed in.
export async function whoAmI() {
  me ??= await json("/v1/me");
}

// become takes who is signed in now. For somebody else the page reloads: what it shows may be above their level.
function become(now) {
  const before = me;
  me = now;
  if (!before || ["actor", "role", "level"].every((key) => before[key] === now[key])) return undefined;
  return startAgain();
}

let leaving = false; // the page signs out and leads elsewhere

// startAgain loads the page again, for a proxy so that it asks the person to sign in. Nothing goes on until then.
function startAgain() {
  if (!leaving) location.reload();
  return new Promise(() => {});
}

let elsewhere = () => {};
let signedIn = new Promise((done) => (elsewhere = done));

// signedInElsewhere ends when another tab has signed in as the same person.
export const signedInElsewhere = () => signedIn;

// Another tab has signed in or out.
addEventListener("storage", async (e) => {
  if (e.key !== null && e.key !== place) return;
  if (!wasSignedIn()) return location.assign("/");
  try {
    await become(await (await call("/v1/me")).json());
  } catch {
    return location.reload();
  }
  elsewhere();
  signedIn = new Promise((done) => (elsewhere = done));
});

// canSignOut reports whether the page can sign the person out. It cannot if a proxy would sign them in again at once.
export const canSignOut = () => me?.via !== "proxy" || Boolean(me.sign_out);

// signOut ends the sign-in and forgets everything that the page keeps. If a proxy has signed the person in, it leads there.
export async function signOut() {
  leaving = true;
  const ended = call("/logout", { method: "POST" }).catch(() => {});
  for (const key of Object.keys(localStorage))
    if (key.startsWith("sluice.") && !["sluice.theme", "sluice.language", "sluice.keys"].includes(key))
      localStorage.removeItem(key);
  sessionStorage.clear();
  await ended;
  location.assign(me?.via === "proxy" && me.sign_out ? me.sign_out : "/");
}

const fromPage = { Accept: "application/json", "Sluice-Client": "page" };

function credentials() {
  const key = localStorage.getItem(place);
  return { ...fromPage, ...(key && { "Sluice-Key": key }) };
}

// call makes a request. It throws Refused if the gateway answers with an error, and asks to sign in first if that is why.
export async function call(path, options = {}) {
  const { body, headers, ...rest } = options;
  const key = localStorage.getItem(place);
  const given = { ...credentials(), ...headers };
  const raw = body instanceof Blob;
  if (body !== undefined && !raw) given["Content-Type"] = "application/json";
  const answer = await fetch(path, {
    ...rest,
    headers: given,
    redirect: "manual", // the gateway sends nobody elsewhere, a proxy sends people to its sign-in
    body: raw || body === undefined ? body : JSON.stringify(body),
    cache: "no-store",
  });
  if (answer.ok) return answer;
  if (me?.via === "proxy" && path !== "/logout" && (answer.status === 401 || answer.type === "opaqueredirect")) return startAgain();
  const problem = await answer.json().catch(() => ({}));
  if (answer.status === 401 && path !== "/logout") {
    if (localStorage.getItem(place) === key) await asked(); // otherwise the person has signed in since the request
    return call(path, options);
  }
  throw new Refused(answer.status, problem.message ?? "HTTP " + answer.status, problem.error);
}

const early = new Map(); // what is asked for → { at, answer }, before the view that needs it is there
const earlyMax = 5000; // milliseconds after which such an answer is too old

// keyOf is a path with its parameters in order.
function keyOf(path) {
  const url = new URL(path, location.origin);
  url.searchParams.sort();
  return url.pathname + url.search;
}

// askEarly asks for what a view will need first, with a token if the page is not signed in yet. If this fails, the view asks again.
export function askEarly(path, token = "") {
  const headers = token ? { ...fromPage, Authorization: "Bearer " + token } : credentials();
  early.set(keyOf(path), {
    at: performance.now(),
    answer: fetch(path, { headers, cache: "no-store" }).then(
      (answer) => (answer.ok ? answer : null),
      () => null,
    ),
  });
}

// read makes a request, or takes the answer that was asked for early.
async function read(path, options) {
  const asked = !options && early.size > 0 && early.get(keyOf(path));
  if (!asked) return call(path, options);
  early.delete(keyOf(path));
  return (performance.now() - asked.at < earlyMax && (await asked.answer)) || call(path);
}

export async function json(path, options) {
  const answer = await read(path, options);
  return answer.status === 204 ? null : answer.json();
}

export const post = (path, body) => json(path, { method: "POST", body });

// page reads one page of a list: its body, and the address of the next page.
export async function page(path, options) {
  const answer = await read(path, options);
  return { body: await answer.json(), next: /<([^>]*)>; rel="next"/.exec(answer.headers.get("Link") ?? "")?.[1] ?? "" };
}

// events reads server-sent events; on gets each, with its id and its name, and beat hears that the stream is alive. It returns when
// the stream ends.
export async function events(answer, on, beat = () => {}) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    beat();
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const data = frame
        .split("\n")
        .filter((l) => l.startsWith("data:"))
        .map((l) => l.slice(5).trimStart())
        .join("\n");
      if (data) on(JSON.parse(data), /^id: *(.*)$/m.exec(frame)?.[1], /^event: *(.*)$/m.exec(frame)?.[1]);
    }
  }
}

// file reads a stored file, whose address needs the token and so can't be a link.
export async function file(id) {
  return (await call("/v1/media/" + encodeURIComponent(id), { headers: { Accept: "*/*" } })).blob();
}

// save gives a stored file to the browser as a download, and saveAnswer what the gateway answers.
export const save = async (f) => give(await file(f.id), f.name);
export const saveAnswer = async (path, name, type) =>
  give(await (await call(path, { headers: { Accept: type } })).blob(), name);

function give(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

export const query = (values) => {
  const text = new URLSearchParams(filled(values)).toString();
  return text && "?" + text;
};

// filled leaves out what has no value.
export const filled = (values) =>
  Object.fromEntries(Object.entries(values).filter(([, v]) => v !== "" && v !== undefined && v !== null));
