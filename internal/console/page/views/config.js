// Config: the settings in effect with where each comes from, changes that are checked and shown before they are saved, and
// earlier versions. A secret is never here: its field is empty, and a new one is sent only when it was typed.

import {
  Act, address, Age, ask, call, change, Chip, cls, exact, Field, go, html, json, known, Loaded, Options, owns, Pager,
  passFocus, post, Problem, Refused, t, Tabs, toast, useAddress, useEffect, useLoad, useMemo, useReducer, useRef,
  useState, visible,
} from "../base.js";
import { Entries, inside, isEntry, placeOf, source } from "../ui/entries.js";

const shownMax = 100; // settings at a time
const parts = ["settings", "entries", "history"];

export default function Config() {
  const at = useAddress();
  const asked = at.query.get("part");
  const part = parts.includes(asked) ? asked : parts[0];
  const names = Object.fromEntries(parts.map((p) => [p, t("config." + p)]));
  const read = useLoad(() => (owns() ? json("/v1/config") : null), []);
  if (!owns())
    return html`
      <div class="page-body">
        <p class="note">${t("config.owner")}</p>
      </div>
    `;
  return html`
    <div class="page-body config">
      <${Tabs} view="config" names=${names} current=${part} />
      <${Loaded} of=${read}>
        ${(c) => html`
          <${About} of=${c} />
          ${part === "history"
            ? html`<${History} of=${c} again=${read.again} />`
            : html`<${Changing} of=${c} again=${read.again} part=${part} />`}
        `}
      <//>
    </div>
  `;
}

// About says which file it is, and what does not hold yet.
function About({ of: c }) {
  return html`
    <p class="soft">
      ${c.file ? html`
        ${t("config.file")} <code>${visible(c.file)}</code>
      ` : c.makes ? html`
        ${t("config.nofile")} <code>${visible(c.makes)}</code>
      ` : (
        t("config.noplace")
      )}
    </p>
    ${c.faults.length > 0 && html`
      <div class="note bad" role="alert">
        <p>${t("config.broken")}</p>
        <${Faults} of=${c.faults} />
      </div>
    `}
    ${c.waiting.length > 0 && html`
      <p class="note warn">
        ${t("config.waiting")}${" "}
        ${c.waiting.map((k, i) => html`
          ${i > 0 && ", "}
          <code>${visible(k)}</code>
        `)}
      </p>
    `}
  `;
}

const Faults = ({ of }) => html`
  <ul class="faults">
    ${of.map((f) => html`
      <li>
        ${f.path && html`
          <code>${visible(f.path)}</code>${" "}
        `}
        ${visible(f.text)}
        ${f.line > 0 && html`
          ${" "}
          <span class="soft">${t("config.line", { n: f.line })}</span>
        `}
      </li>
    `)}
  </ul>
`;

const sectionOf = (path) => path.split(/[.[]/)[0];

// written is a value as a text.
function written(value, kind, set) {
  if (kind === "secret") return t(set ? "config.set" : "config.notset");
  if (value === undefined || value === null || value === "") return t("config.empty");
  return visible(Array.isArray(value) ? value.join(", ") : value);
}

function sourceOf({ from, line, name }) {
  const where = line > 0 ? t("config.line", { n: line }) : "";
  const what = { file: "", default: "" }[from] ?? visible(name ?? "");
  return [[known("config.from", from), what].filter(Boolean).join(" "), where].filter(Boolean).join(", ");
}

// unsaved are the changes that are not saved yet. They stay while other views are open. The browser does not store them, because
// they may contain a secret.
const unsaved = {
  edits: {}, // path → { path, value } or { path, remove }
  extra: [], // settings that are not there yet
  lists: {}, // list in which something changes → the entries that it had then
};

// listOf is the list that a path leads into; empty if it leads into none.
const listOf = (path) => path.match(/^(.*?)\[\d+\]/)?.[1] ?? "";

// entriesOf tells which entries a list has, by their names or else by their content.
function entriesOf(list, keys) {
  const below = keys.filter((k) => k.path.startsWith(list + "["));
  const names = below.filter((k) => /^\[\d+\]\.(id|name)$/.test(k.path.slice(list.length)) && k.value);
  return JSON.stringify((names.length > 0 ? names : below).map((k) => [k.path, k.value]));
}

// dropMoved takes changes back whose list has other entries now: they name entries by index, and would concern others. It gives these
// lists.
function dropMoved(keys) {
  const { edits, extra, lists } = unsaved;
  const moved = Object.keys(lists).filter((list) => lists[list] !== entriesOf(list, keys));
  if (moved.length === 0) return moved;
  const stays = ({ path }) => !moved.includes(listOf(path));
  Object.assign(unsaved, {
    edits: Object.fromEntries(Object.entries(edits).filter(([, e]) => stays(e))),
    extra: extra.filter(stays),
    lists: Object.fromEntries(Object.entries(lists).filter(([list]) => !moved.includes(list))),
  });
  return moved;
}

// Changing shows what is not saved yet, above the settings or the entries that can be added and removed.
function Changing({ of: c, again, part }) {
  const [, draw] = useReducer((n) => n + 1, 0);
  const moved = useMemo(() => dropMoved(c.keys), [c]);
  useEffect(() => {
    if (moved.length > 0) toast(t("config.moved", { list: moved.map(visible).join(", ") }), "bad");
  }, [moved]);
  const keep = (edits, extra = unsaved.extra) => {
    const changed = new Set([...Object.keys(edits), ...extra.map((k) => k.path)].map(listOf).filter(Boolean));
    const lists = Object.fromEntries([...changed].map((list) => [list, unsaved.lists[list] ?? entriesOf(list, c.keys)]));
    Object.assign(unsaved, { edits, extra, lists });
    draw();
  };
  const { edits, extra } = unsaved;
  const put = (changes, settings = []) => {
    const next = { ...edits };
    for (const e of changes) {
      if (e.remove) for (const path of Object.keys(next)) if (path !== e.path && inside(path, e.path)) delete next[path];
      next[e.path] = e;
    }
    keep(next, [...settings, ...extra]);
  };
  const drop = (path) => {
    if (!isEntry(edits[path])) {
      const { [path]: gone, ...rest } = edits;
      return keep(rest);
    }
    // The settings of the entry go too, and new entries behind it in the list move up.
    const place = placeOf(path),
      index = Number(path.match(/\[(\d+)\]$/)?.[1] ?? Infinity);
    const moved = (one) =>
      one.replace(/\[\d+\]/g, (text, at) => {
        const n = Number(text.slice(1, -1));
        return at === place.length && one.startsWith(place) && n > index ? `[${n - 1}]` : text;
      });
    const rest = (list) => list.filter((one) => !inside(one.path, path)).map((one) => ({ ...one, path: moved(one.path) }));
    return keep(Object.fromEntries(rest(Object.values(edits)).map((e) => [e.path, e])), rest(extra));
  };
  const keys = [...extra.filter((k) => !c.keys.some((one) => one.path === k.path)), ...c.keys];
  return html`
    <${Draft}
      draft=${{ changes: Object.values(edits) }}
      version=${c.version}
      drop=${drop}
      keys=${keys}
      done=${() => {
        keep({}, []);
        again();
      }}
      stale=${again}
      cancel=${() => keep({}, [])}
    />
    ${part === "entries" ? html`
      <${Addable}
        keys=${keys}
        edits=${edits}
        put=${put}
        drop=${drop}
        show=${(path) => go(address("config", "", { q: path }))}
      />
    ` : html`<${Settings} of=${c} keys=${keys} edits=${edits} put=${put} />`}
  `;
}

function Addable(props) {
  const read = useLoad(() => json("/v1/config/keys"), []);
  return html`
    <${Loaded} of=${read}>
      ${({ keys }) => html`<${Entries} ...${props} patterns=${keys} />`}
    <//>
  `;
}

function Settings({ of: c, keys, edits, put: alter }) {
  const at = useAddress();
  const [open, show] = useState("");
  const filter = (values) => change({ ...values, page: "" });
  const turn = (to) => change({ page: to > 0 ? String(to + 1) : "" });
  const q = (at.query.get("q") ?? "").toLowerCase(),
    section = at.query.get("section") ?? "",
    which = at.query.get("show") ?? "all";
  const put = (e) => {
    alter([e]);
    show("");
  };
  const found = keys.filter(
    (k) =>
      (!section || sectionOf(k.path) === section) &&
      (which === "all" || edits[k.path] || (which === "changed" ? k.source.from !== "default" : k.restart)) &&
      (!q || k.path.toLowerCase().includes(q) || k.doc.toLowerCase().includes(q)),
  );
  const sections = [...new Set(c.keys.map((k) => sectionOf(k.path)))];
  const asked = Number.parseInt(at.query.get("page") ?? "1", 10) - 1;
  const page = Math.max(0, Math.min(asked || 0, Math.ceil(found.length / shownMax) - 1));
  const some = found.slice(page * shownMax, (page + 1) * shownMax);
  return html`
    <div class="filters" id="filters" role="search">
      <label class=${cls("filter", q && "set")}>
        <span>${t("filter.words")}</span>
        <input type="search" value=${at.query.get("q") ?? ""} onInput=${(e) => filter({ q: e.target.value })} />
      </label>
      <label class=${cls("filter", section && "set")}>
        <span>${t("config.section")}</span>
        <select value=${section} onChange=${(e) => filter({ section: e.target.value })}>
          <option value="">${t("config.all")}</option>
          <${Options} of=${sections} chosen=${section} />
        </select>
      </label>
      <label class=${cls("filter", which !== "all" && "set")}>
        <span>${t("config.show")}</span>
        <select value=${which} onChange=${(e) => filter({ show: e.target.value === "all" ? "" : e.target.value })}>
          <${Options} of=${["all", "changed", "restart"]} chosen=${which} name=${(s) => t("config.show." + s)} />
        </select>
      </label>
    </div>
    <${Add}
      known=${keys}
      add=${(k) => {
        alter([], [k]);
        filter({ q: "", section: "", show: "" });
        show(k.path);
      }}
    />
    <p class="soft" role="status">
      ${t("config.count", { n: found.length })}
    </p>
    ${some.length === 0 ? html`
      <p class="empty">
        ${t("config.nothing")}${" "}
        <button type="button" class="small" onClick=${() => filter({ q: "", section: "", show: "" })}>
          ${t("config.clear")}
        </button>
      </p>
    ` : html`
      <ul class="lines settings">
        ${some.map((k) => html`
          <${Setting}
            key=${k.path}
            of=${k}
            edit=${edits[k.path]}
            open=${open === k.path}
            toggle=${() => show(open === k.path ? "" : k.path)}
            put=${put}
          />
        `)}
      </ul>
    `}
    <${Pager} from=${page * shownMax} size=${shownMax} of=${found.length} turn=${(from) => turn(from / shownMax)} />
  `;
}

// Add finds a setting that is not there yet, such as the token of a new account.
function Add({ known: have, add }) {
  const [asked, ask] = useState(false);
  const [path, write] = useState("");
  const [problem, say] = useState("");
  const read = useLoad(() => (asked ? json("/v1/config/keys") : Promise.resolve({ keys: [] })), [asked]);
  if (!asked)
    return html`
      <div class="acts">
        <button type="button" class="small" id="add" onClick=${() => ask(true)}>
          ${t("config.add")}
        </button>
      </div>
    `;
  const patterns = read.value?.keys ?? [];
  const find = (e) => {
    e.preventDefault();
    const name = path.trim();
    const fits = patterns.find((p) => new RegExp(`^${source(p.path)}$`).test(name));
    if (!fits || name.includes("<")) return say(t(name.includes("<") ? "config.name" : "config.unknown"));
    say("");
    write("");
    ask(false);
    return add(have.find((k) => k.path === name) ?? { ...fits, path: name, set: false, source: { from: "default" } });
  };
  return html`
    <form class="form" id="adding" onSubmit=${find}>
      <${Field} text=${t("config.path")} hint=${t("config.pathhint")}>
        <input
          required
          list="patterns"
          value=${path}
          onInput=${(e) => write(e.target.value)}
          autocomplete="off"
          spellcheck=${false}
        />
      <//>
      <datalist id="patterns">
        ${patterns
          .filter((p) => /[<[]/.test(p.path))
          .map((p) => html`
            <option value=${p.path}></option>
          `)}
      </datalist>
      ${problem && html`
        <p class="note bad" role="alert">
          ${problem}
        </p>
      `}
      <div class="acts">
        <button type="submit" class="main">
          ${t("config.choose")}
        </button>
        <button type="button" onClick=${() => ask(false)}>
          ${t("part.cancel")}
        </button>
      </div>
    </form>
  `;
}

function Setting({ of: k, edit, open, toggle, put }) {
  return html`
    <li class=${cls(edit && "edited")}>
      <button type="button" class="setting" aria-expanded=${open} onClick=${toggle} data-path=${k.path}>
        <code>${visible(k.path)}</code>
        <span class=${cls("value", !k.set && "soft")}>
          ${edit ? html`
            <ins>
              ${edit.remove
                ? t("config.removed")
                : k.kind === "secret"
                  ? t("config.newsecret")
                  : written(edit.value, k.kind, true)}
            </ins>
          ` : (
            written(k.value, k.kind, k.set)
          )}
        </span>
        <span class="soft">
          ${sourceOf(k.source)}
          ${k.restart && html` · ${t("config.restart")}`}
        </span>
      </button>
      ${open && html`<${Editor} of=${k} edit=${edit} put=${put} />`}
    </li>
  `;
}

// Editor asks for the value of a setting. suggestions: values that are offered while it is typed.
export function Editor({ of: k, edit, put, suggestions }) {
  const old = edit && !edit.remove ? edit.value : k.value;
  const start = k.kind === "secret" ? "" : k.kind === "list" ? (Array.isArray(old) ? old.join("\n") : "") : (old ?? "");
  const [value, set] = useState(String(start));
  const first = useRef(null);
  useEffect(() => first.current?.focus(), []);
  const save = (e) => {
    e.preventDefault();
    const text = k.kind === "secret" ? value.trim() : value;
    put({
      path: k.path,
      value:
        k.kind === "list"
          ? value
              .split("\n")
              .map((s) => s.trim())
              .filter(Boolean)
          : k.kind === "bool"
            ? value === "true"
            : k.kind === "number" && /^-?\d+$/.test(text)
              ? Number(text)
              : text,
    });
  };
  const common = {
    ref: first,
    value,
    onInput: (e) => set(e.target.value),
    onChange: (e) => set(e.target.value),
    id: "value",
    spellcheck: false,
  };
  const options = k.kind === "bool" ? ["true", "false"] : k.options;
  const input =
    options?.length && k.kind !== "list" && !/\$\{/.test(start) ? html`
      <select ...${common}>
        ${!options.includes(value) && html`
          <option value=${value} selected>
            ${value || t("config.empty")}
          </option>
        `}
        <${Options} of=${options} chosen=${value} />
      </select>
    ` : k.kind === "secret" ? html`
      <input ...${common} type="password" autocomplete="new-password" required />
    ` : k.kind === "list" || String(start).length > 60 || String(start).includes("\n") ? html`
      <textarea ...${common} rows="4"></textarea>
    ` : html`
      <input
        ...${common}
        inputmode=${k.kind === "number" ? "numeric" : undefined}
        list=${suggestions && "suggestions"}
      />
      ${suggestions && html`
        <datalist id="suggestions">
          ${suggestions.map((s) => html`
            <option value=${s}></option>
          `)}
        </datalist>
      `}
    `;
  const fixed = ["flag", "made"].includes(k.source.from) && k.path !== "gateway.token";
  return html`
    <form class="form editor" onSubmit=${save}>
      <p class="soft">${k.doc}</p>
      ${fixed && html`<p class="note warn">${t("config.fixed")}</p>`}
      <${Field} text=${t("config.value")} hint=${t("config.hint." + k.kind)}>
        ${input}
      <//>
      <div class="acts">
        <button type="submit" class="main small">
          ${t("config.take")}
        </button>
        ${k.source.line > 0 && html`
          <button type="button" class="small" onClick=${() => put({ path: k.path, remove: true })}>
            ${t("config.remove")}
          </button>
        `}
      </div>
    </form>
  `;
}

// Draft shows what changes would do, and saves them. stale reads the configuration again if somebody else has changed it meanwhile.
export function Draft({ draft, version, drop, keys = [], done, stale, cancel }) {
  const [checked, set] = useState({});
  const box = useRef(null);
  const text = JSON.stringify({ draft, version });
  const empty = !draft.version && draft.changes.length === 0;
  useEffect(() => {
    let current = true;
    box.current?.scrollIntoView({ block: "nearest" });
    if (empty) {
      set({});
      return () => {};
    }
    post("/v1/config/check", draft).then(
      (result) => current && set({ result, of: text }),
      (error) => current && set({ error }),
    );
    return () => {
      current = false;
    };
  }, [text]);
  if (empty) return null;
  const undo = (path) => (e) => {
    passFocus(e.currentTarget);
    drop(path);
  };
  const { result, error } = checked; // of the previous draft, until the check of this one has ended
  const at = Object.fromEntries((result?.faults ?? []).map((f) => [f.path, f]));
  const others = (result?.faults ?? []).filter((f) => !draft.changes?.some((e) => e.path === f.path));
  return html`
    <section ref=${box} class="card draft" aria-label=${t("config.draft")}>
      <h2>${draft.version ? t("config.backto", { n: draft.version }) : t("config.draft")}</h2>
      ${draft.changes && html`
        <ul class="lines">
          ${draft.changes.map((e) => html`
            <li key=${e.path}>
              <code>${visible(e.path)}</code>${" "}
              ${e.remove ? (
                t("config.removed")
              ) : isEntry(e) ? (
                t("entry.new")
              ) : keys.find((k) => k.path === e.path)?.kind === "secret" ? (
                t("config.newsecret")
              ) : html`→ ${written(e.value, "", true)}`}${" "}
              <button type="button" class="small quiet" onClick=${undo(e.path)}>
                ${t("config.undo")}
                <span class="unseen"> ${visible(e.path)}</span>
              </button>
              ${at[e.path] && html`
                <p class="note bad" role="alert">
                  ${visible(at[e.path].text)}
                </p>
              `}
            </li>
          `)}
        </ul>
      `}
      <div role="status">
        ${error && html`<${Problem} error=${error} />`}
        ${others.length > 0 && html`
          <div class="note bad">
            <${Faults} of=${others} />
          </div>
        `}
        ${result?.ok && html`
          <h3>${t("config.would")}</h3>
          <${EntryChanges} of=${result.entries} />
          <${Grouped} of=${result} />
          ${result.accounts.length > 0 && html`
            <ul class="lines">
              ${result.accounts.map((a) => html`
                <li>${accountText(a)}</li>
              `)}
            </ul>
          `}
          ${result.restart.length > 0 ? html`
            <p class="note warn">
              ${t("config.later")}${" "}
              ${result.restart.map((k, i) => html`
                ${i > 0 && ", "}
                <code>${visible(k)}</code>
              `)}
            </p>
          ` : html`
            <p class="soft">${t("config.atonce")}</p>
          `}
        `}
      </div>
      <div class="acts">
        <${Act}
          small=${false}
          tone="main"
          part="save"
          disabled=${checked.of !== text || !result?.ok}
          run=${async () => {
            const gone = removedIn(result);
            if (gone.length > 0 && !(await ask(t("entry.sure"), t("config.save"), { detail: html`<${Sentences} of=${gone} />`, danger: true }))) return false;
            const saved = call("/v1/config", { method: "PUT", headers: { "If-Match": '"' + version + '"' }, body: draft });
            const answer = await (
              await saved.catch((problem) => {
                if (problem.status !== 412) throw problem;
                stale();
                throw new Refused(problem.status, t("config.stale"));
              })
            ).json();
            toast(t(answer.restart.length > 0 ? "config.savedlater" : "config.saved"));
            done();
            return false;
          }}
        >
          ${t("config.save")}
        <//>
        <button
          type="button"
          onClick=${(e) => {
            passFocus(e.currentTarget);
            cancel();
          }}
        >
          ${t("config.discard")}
        </button>
      </div>
    </section>
  `;
}

const stops = (kind) => known("stops", kind.replace(/^channels\.[a-z]+/, "channels"));

// entryText says what happens to an entry.
const entryText = (e) => {
  const place = placeOf(e.path),
    after = e.effect === "removed" ? stops(place) : place;
  const name = visible(e.name || e.path);
  return [t("entry." + e.effect, { name, place: visible(place) }), after.includes(" ") ? after : ""].filter(Boolean).join(" ");
};

const accountText = (a) => t("config.account." + a.effect, { name: visible(a.channel + "/" + a.account) });

// removedIn says what a change removes or stops.
const removedIn = (result) => [
  ...result.entries.filter((e) => e.effect === "removed").map(entryText),
  ...result.accounts.filter((a) => a.effect === "stops").map(accountText),
];

// EntryChanges lists what is added and removed as a whole.
const EntryChanges = ({ of }) =>
  of.length > 0 && html`
    <ul class="lines" data-part="entries">
      ${of.slice(0, shownMax).map((e) => html`
        <li>
          <${Chip} status=${e.effect === "removed" ? "stopped" : "done"} text=${t("entry.chip." + e.effect)} /> ${entryText(e)}
        </li>
      `)}
    </ul>
    ${of.length > shownMax && html`<p class="soft">${t("config.more", { n: of.length - shownMax })}</p>`}
  `;

const Sentences = ({ of }) => of.map((text) => html`<span class="sentence">${text}</span>`);

// Grouped lists what differs; the settings of entries that are added or removed are folded.
function Grouped({ of: { changes, entries } }) {
  const whole = (c) =>
    entries.some((e) => inside(c.path, e.path) && !(e.effect === "removed" ? c.is_set : c.was_set));
  const folded = changes.filter(whole),
    others = changes.filter((c) => !whole(c));
  return html`
    ${(others.length > 0 || entries.length === 0) && html`<${Changes} of=${others} />`}
    ${folded.length > 0 && html`
      <details data-part="whole">
        <summary>${t("entry.whole", { n: folded.length })}</summary>
        <${Changes} of=${folded} />
      </details>
    `}
  `;
}

// Changes lists what differs.
const Changes = ({ of }) =>
  of.length === 0 ? html`
    <p class="soft">${t("config.same")}</p>
  ` : html`
    <ul class="lines changes">
      ${of.slice(0, shownMax).map((c) => html`
        <li>
          <code>${visible(c.path)}</code>${" "}
          ${c.kind === "secret" && c.was_set && c.is_set ? (
            t("config.newsecret")
          ) : html`
            <del>${written(c.before, c.kind, c.was_set)}</del>
            <span class="unseen"> ${t("config.becomes")} </span>
            <span aria-hidden="true"> → </span>
            <ins>${written(c.after, c.kind, c.is_set)}</ins>
          `}
        </li>
      `)}
    </ul>
    ${of.length > shownMax && html`<p class="soft">${t("config.more", { n: of.length - shownMax })}</p>`}
  `;

const byWhom = (who) =>
  !who ? t("config.outside") : who === "operator" ? t("you.owner") : visible(who.replace(/^token:/, ""));

function History({ of: c, again }) {
  const read = useLoad(() => json("/v1/config/history"), [c.version]);
  const [back, go] = useState(0);
  return html`
    <${Loaded} of=${read}>
      ${({ versions }) =>
        versions.length === 0 ? html`
          <p class="empty">${t("config.nohistory")}</p>
        ` : html`
          ${back > 0 && html`
            <${Draft}
              draft=${{ version: back }}
              version=${c.version}
              done=${() => {
                go(0);
                again();
              }}
              stale=${again}
              cancel=${() => go(0)}
            />
          `}
          <ul class="lines" id="versions">
            ${versions.map((v, i) => html`
              <li key=${v.id}>
                <strong>${t("config.version", { n: v.id })}</strong> ${v.no_file ? t("config.wasnofile") : byWhom(v.by)}${" "}
                · <${Age} at=${v.at} /> <span class="soft">${exact(v.at)}</span>${" "}
                ${v.back_to > 0 && html`<span class="tag">${t("config.wentback", { n: v.back_to })}</span>`}${" "}
                ${i === 0 && html`<${Chip} status="current" text=${t("config.newest")} />`}
                ${v.changes.length > 0 && html`
                  <details>
                    <summary>${t("config.changes", { n: v.changes.length })}</summary>
                    <${Changes} of=${v.changes} />
                  </details>
                `}
                ${i > 0 && html`
                  <div class="acts">
                    <button type="button" class="small" onClick=${() => go(v.id)}>
                      ${t("config.goback")}
                    </button>
                  </div>
                `}
              </li>
            `)}
          </ul>
        `
      }
    <//>
  `;
}
