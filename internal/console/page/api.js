// The gateway's API, with the token that the address brought.

const place = "sluice.token";

// takeToken moves the token out of the address, so that it is in no history, bookmark or screenshot.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    localStorage.setItem(place, given);
    history.replaceState(null, "", location.pathname);
  }
}

export function setToken(token) {
  localStorage.setItem(place, token.trim());
}

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// call makes a request; an answer that is no success is a Refused.
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
