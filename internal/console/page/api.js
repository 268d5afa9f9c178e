// The gateway's API, with the token that the address brought.

const place = "sluice.token";

// takeToken removes the token from the address, so that it stays out of history, bookmarks and screenshots.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    localStorage.setItem(place, given);
    history.replaceState(null, "", location.pathname);
  }
}

// hadToken reports whether the page has a token. It is asked after the gateway has refused a request.
export function hadToken() {
  return Boolean(localStorage.getItem(place));
}

// tryToken stores a token that the gateway accepts; otherwise it returns what is wrong.
export async function tryToken(token) {
  if (!token.trim()) return "Enter your access token.";
  const headers = { Authorization: "Bearer " + token.trim(), "Sluice-Client": "page" };
  let answer;
  try {
    answer = await fetch("/v1/status", { headers, cache: "no-store" });
  } catch (problem) {
    return problem instanceof TypeError && /header|ByteString|ISO-8859-1/i.test(problem.message)
      ? "The token contains characters that no token has. Copy it again." : "The gateway does not answer, so the token could not be checked. Make sure that it is running.";
  }
  if (answer.status === 401) return "The gateway does not know this token. It may be mistyped, or it was replaced or revoked.";
  if (answer.status >= 500) return `The gateway answered ${answer.status}, so the token could not be checked. Try again.`;
  localStorage.setItem(place, token.trim());
  return "";
}

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// call makes a request. It throws Refused if the gateway answers with an error.
export async function call(path, options = {}) {
  const headers = { Authorization: "Bearer " + (localStorage.getItem(place) ?? ""), Accept: "application/json", "Sluice-Client": "page", ...options.headers };
  if (options.body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { ...options, headers, body: options.body && JSON.stringify(options.body), cache: "no-store" });
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, problem.message ?? "the gateway answered " + answer.status);
}

export async function json(path, options) {
  const answer = await call(path, options);
  return answer.status === 204 ? null : answer.json();
}

// events reads server-sent events; on gets each, with its id. It returns when the stream ends.
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
      if (data) on(JSON.parse(data), frame.match(/^id: *(.*)$/m)?.[1]);
    }
  }
}
