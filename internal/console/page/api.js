// The gateway's API as this browser's user: requests, lists of pages, and signing in and out.

const place = "sluice.token";

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

// takeToken removes the token from the address, so that it stays out of history, bookmarks and screenshots.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return;
  localStorage.setItem(place, given);
  history.replaceState(null, "", location.pathname + location.search);
}

export const hadToken = () => Boolean(localStorage.getItem(place));

// signOut forgets the token and everything else that the page keeps.
export async function signOut() {
  for (const key of Object.keys(localStorage)) if (key.startsWith("sluice.")) localStorage.removeItem(key);
  sessionStorage.clear();
  location.assign("/");
}

// tryToken stores a token that the gateway accepts; otherwise it gives the key of the text that says what is wrong.
export async function tryToken(token) {
  if (!token.trim()) return "sign.empty";
  let answer;
  try {
    answer = await fetch("/v1/status", { headers: { Authorization: "Bearer " + token.trim(), "Sluice-Client": "page" }, cache: "no-store" });
  } catch (problem) {
    return problem instanceof TypeError && /header|ByteString|ISO-8859-1/i.test(problem.message) ? "sign.characters" : "sign.silent";
  }
  if (answer.status === 401) return "sign.unknown";
  if (answer.status >= 500) return "sign.broken";
  localStorage.setItem(place, token.trim());
  return "";
}

// call makes a request. It throws Refused if the gateway answers with an error, and asks to sign in first if that is why.
export async function call(path, options = {}) {
  const { body, headers, ...rest } = options;
  const given = { Authorization: "Bearer " + (localStorage.getItem(place) ?? ""), Accept: "application/json", "Sluice-Client": "page", ...headers };
  if (body !== undefined) given["Content-Type"] = "application/json";
  const answer = await fetch(path, { ...rest, headers: given, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  if (answer.status === 401) {
    await asked();
    return call(path, options);
  }
  throw new Refused(answer.status, problem.message ?? "HTTP " + answer.status, problem.error);
}

export async function json(path, options) {
  const answer = await call(path, options);
  return answer.status === 204 ? null : answer.json();
}

export const post = (path, body) => json(path, { method: "POST", body });

// page reads one page of a list: its body, and the address of the next page.
export async function page(path, options) {
  const answer = await call(path, options);
  return { body: await answer.json(), next: /<([^>]*)>; rel="next"/.exec(answer.headers.get("Link") ?? "")?.[1] ?? "" };
}

// events reads server-sent events; on gets each, with its id and its name. It returns when the stream ends.
export async function events(answer, on) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const data = frame.split("\n").filter((l) => l.startsWith("data:")).map((l) => l.slice(5).trimStart()).join("\n");
      if (data) on(JSON.parse(data), /^id: *(.*)$/m.exec(frame)?.[1], /^event: *(.*)$/m.exec(frame)?.[1]);
    }
  }
}

// file reads a stored file, whose address needs the token and so can't be a link.
export async function file(id) {
  return (await call("/v1/media/" + encodeURIComponent(id), { headers: { Accept: "*/*" } })).blob();
}

// save gives a file to the browser as a download.
export async function save(f) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await file(f.id));
  link.download = f.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

export const query = (values) => {
  const text = new URLSearchParams(Object.entries(values).filter(([, v]) => v !== "" && v !== undefined && v !== null)).toString();
  return text && "?" + text;
};
