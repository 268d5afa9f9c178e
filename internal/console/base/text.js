// Texts in the reader's language, and how numbers, times and sizes are written. The catalogues are text/<language>.js.

const languages = ["en", "de"];
const place = "sluice.language";

let words = {};
let plural = null;
export let language = "en";

// load reads the catalogue of the chosen language, or of the browser's.
export async function load() {
  const wanted = [localStorage.getItem(place), ...navigator.languages.map((l) => l.slice(0, 2))];
  language = wanted.find((l) => languages.includes(l)) ?? "en";
  words = (await import(`/text/${language}.js`)).default;
  plural = new Intl.PluralRules(language);
  document.documentElement.lang = language;
}

export const languagesKnown = languages;

// choose keeps a language and draws the page in it.
export async function choose(code) {
  localStorage.setItem(place, code);
  await load();
}

// t gives a text. {name} in it is replaced; with n, the text "key#one" is taken for one, if there is one.
export function t(key, values = {}) {
  const form = values.n !== undefined && words[key + "#" + plural.select(values.n)];
  const text = form || words[key];
  if (text === undefined) return key;
  return text.replace(/\{(\w+)\}/g, (_, name) =>
    typeof values[name] === "number" ? number(values[name]) : (values[name] ?? ""),
  );
}

// known gives a text if the catalogue has it, and otherwise the word of the API as it is.
export const known = (prefix, word) => words[prefix + "." + word] ?? word;

// writer formats values with a class of Intl. Its object is made once for a language: making one takes longer than using it a
// hundred times.
function writer(Format, options) {
  let made = null,
    of = "";
  return (value) => {
    if (of !== language) [made, of] = [new Format(language, options), language];
    return made.format(value);
  };
}

// number writes a number, with at most so many decimals. It does not use Intl.NumberFormat, whose first use would delay the first view
// by some 30 ms.
export function number(value, decimals = 3) {
  const [whole, rest] = String(Number(Number(value).toFixed(decimals))).split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, words["number.thousands"]) + (rest ? words["number.decimals"] + rest : "");
}

// span writes a duration: 0.8 s, 4:12, 3 h, 3 d.
export function span(ms) {
  const s = Math.abs(ms) / 1000;
  if (s < 1) return t("time.ms", { n: Math.round(s * 1000) });
  if (s < 60) return t("time.s", { v: s < 10 ? number(s, 1) : String(Math.round(s)) });
  if (s < 3600) return Math.floor(s / 60) + ":" + String(Math.floor(s % 60)).padStart(2, "0");
  if (s < 86400) return t("time.h", { v: Math.floor(s / 3600) });
  return t("time.d", { v: Math.floor(s / 86400) });
}

// age writes how long ago something was, in one unit.
export function age(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 5) return t("time.now");
  if (s < 60) return t("time.s", { v: Math.floor(s) });
  if (s < 3600) return t("time.min", { v: Math.floor(s / 60) });
  if (s < 86400) return t("time.h", { v: Math.floor(s / 3600) });
  return t("time.d", { v: Math.floor(s / 86400) });
}

// time writes a time with these options; what is not a time is left out.
function time(options) {
  const write = writer(Intl.DateTimeFormat, options);
  return (at) => {
    const date = new Date(at);
    return Number.isNaN(date.getTime()) ? "" : write(date);
  };
}

export const exact = time({
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
});
export const clock = time({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
export const minute = time({ hour: "2-digit", minute: "2-digit" });
export const day = time({ weekday: "long", day: "numeric", month: "long" });
export const date = time({ month: "short", day: "numeric" });

// local writes a time in the reader's zone as a field for times wants it.
export function local(at) {
  const date = new Date(at);
  const ms = date.getTime() - date.getTimezoneOffset() * 60000;
  return Number.isNaN(ms) ? "" : new Date(ms).toISOString().slice(0, 16);
}

export function bytes(n) {
  if (n < 1024) return number(n) + " B";
  const [v, unit] = n < 1048576 ? [n / 1024, "kB"] : [n / 1048576, "MB"];
  return number(v, v < 10 ? 1 : 0) + " " + unit;
}

// count writes a count of the API: {count, more}, or a number.
export const count = (c) => (typeof c === "number" ? number(c) : number(c.count) + (c.more ? "+" : ""));

const hidden = /[\p{Cc}\p{Cf}\p{Co}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu;

// visible replaces characters that could hide or reverse a text with their numbers.
export const visible = (text) =>
  String(text).replace(hidden, (c) => (c === "\n" || c === "\t" ? c : "\\u{" + c.codePointAt(0).toString(16) + "}"));

const uuid = /^[0-9a-f-]{28}([0-9a-f]{8})$/;

// sessionName is what a conversation is called that nobody named: what it is, and with whom or where, as its key says. place is
// the platform's name of the group or channel.
export function sessionName(key, place = "") {
  const [, agent, rest] = /^(?:agent:([^:]+):)?(.*)$/s.exec(key);
  if (agent && !rest.includes(":")) return t("conversations.main");
  const named = (kind, of) => t("session." + kind, { of: visible(of.replace(uuid, "$1")) });
  const group = agent && /^[^:]+:(group|channel):(.+?)(?::(?:thread|topic):(.+))?$/s.exec(rest);
  if (group) return (visible(place) || named(group[1], group[2])) + (group[3] ? " › " + visible(group[3]) : "");
  const direct = agent && /^(?:[^:]+:){0,2}direct:(.+)$/s.exec(rest);
  if (direct) return named("direct", direct[1]);
  const other = agent ? /^(subagent|http):(.+)$/s.exec(rest) : /^(cron|hook|node)[:-](.+)$/s.exec(rest);
  return other ? named(other[1], other[2]) : visible(rest);
}
