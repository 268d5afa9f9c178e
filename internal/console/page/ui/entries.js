// Entries: the sections of the configuration that can be added and removed whole, such as agents, accounts and receivers. What is
// added or removed becomes a change like that of a setting.

import { Chip, cls, Field, html, known, Options, passFocus, t, useState, visible } from "../base.js";

const mark = /\.<name>|\[\]/g;

// source is a regular expression, without anchors, for the paths of a pattern.
export const source = (pattern) =>
  pattern
    .replace(/[.*+?^${}()|\\]/g, "\\$&")
    .replace(/\\?\.<name>/g, '(?:\\.[^.[\\]"\\s<>]+|\\["(?:[^"\\\\]|\\\\.)+"\\])')
    .replace(/\[\]/g, "\\[\\d+\\]");

// kindsOf lists what can be added: where, whether it is a list, and the settings of one.
function kindsOf(patterns) {
  const kinds = new Map();
  for (const p of patterns)
    for (const m of p.path.matchAll(mark)) {
      const end = m.index + m[0].length;
      if (p.path[end] !== ".") continue;
      const of = p.path.slice(0, end);
      if (!kinds.has(of)) kinds.set(of, { of, place: p.path.slice(0, m.index), list: m[0] === "[]", settings: [] });
      if (!p.path.slice(end).match(mark)) kinds.get(of).settings.push({ ...p, below: p.path.slice(end) });
    }
  return [...kinds.values()];
}

export const inside = (path, entry) => path === entry || (path.startsWith(entry) && ".[".includes(path[entry.length]));

// isEntry reports whether a change adds an entry. Other changes set a setting, or remove a setting or an entry.
export const isEntry = (edit) => edit.value !== null && typeof edit.value === "object" && !Array.isArray(edit.value);

export const placeOf = (path) => path.replace(/(\.[^.[\]"]+|\["(?:[^"\\]|\\.)+"\]|\[\d+\])$/, "");

const joined = (place, name) => place + (/[.[\]\s]/.test(name) ? `[${JSON.stringify(name)}]` : "." + name);

// nameIn is the name at the end of the path of a section.
const nameIn = (path) => {
  const quoted = path.match(/\["((?:[^"\\]|\\.)+)"\]$/);
  return quoted ? JSON.parse(`"${quoted[1]}"`) : path.slice(path.lastIndexOf(".") + 1);
};

// found lists the entries of a kind that are in effect or in the changes.
function found(kind, keys, edits) {
  const shape = new RegExp("^" + source(kind.of) + "(?=$|\\.)");
  const all = new Map();
  const see = (path, file, fresh) => {
    const at = path.match(shape)?.[0];
    if (!at) return;
    const one = all.get(at) ?? { path: at, place: placeOf(at), file: false, fresh: false, name: kind.list ? "" : nameIn(at) };
    all.set(at, { ...one, file: one.file || file, fresh: one.fresh || (fresh && path === at) });
  };
  for (const k of keys) see(k.path, k.source.line > 0, false);
  for (const e of Object.values(edits)) see(e.path, false, isEntry(e));
  for (const one of all.values())
    for (const key of ["name", "id"]) {
      const path = `${one.path}.${key}`;
      const name = edits[path]?.value ?? keys.find((k) => k.path === path)?.value;
      if (kind.list && name) one.name = name;
    }
  return [...all.values()];
}

// Entries shows them by kind. put and drop change the draft; show leads to the settings of one.
export function Entries({ keys, patterns, edits, put, drop, show }) {
  const kinds = kindsOf(patterns).map((kind) => ({ ...kind, entries: found(kind, keys, edits) }));
  return html`
    <${AddEntry} kinds=${kinds} put=${put} show=${show} />
    ${kinds
      .filter((kind) => kind.entries.length > 0)
      .map((kind) => html`
        <section class="card" key=${kind.of} data-kind=${kind.of}>
          <h2>
            <${Kind} place=${kind.place} />
          </h2>
          <ul class="lines">
            ${kind.entries.map((e) => html`<${Entry} key=${e.path} of=${e} edits=${edits} put=${put} drop=${drop} show=${show} />`)}
          </ul>
        </section>
      `)}
  `;
}

const kindName = (place) => {
  const kind = place.replace(/^channels\.[a-z]+/, "channels"),
    name = known("kind", kind);
  return name === kind ? "" : name;
};

const Kind = ({ place }) => html`
  ${kindName(place)}
  ${" "}
  <code>${visible(place)}</code>
`;

function Entry({ of: e, edits, put, drop, show }) {
  const gone = edits[e.path]?.remove;
  const name = e.name || e.path;
  return html`
    <li class=${cls((gone || e.fresh) && "edited")} data-entry=${e.path}>
      <strong>${visible(name)}</strong>${" "}
      ${name !== e.path && html`<code class="soft">${visible(e.path)}</code>`}${" "}
      ${gone && html`<${Chip} status="stopped" text=${t("entry.willgo")} />`}
      ${e.fresh && html`<${Chip} status="waiting" text=${t("entry.new")} />`}
      ${!e.file && !e.fresh && html`<span class="soft">${t("entry.builtin")}</span>`}
      <div class="acts">
        ${!gone && html`
          <button type="button" class="small" onClick=${() => show(e.path)}>
            ${t("entry.settings")}
            <span class="unseen"> ${visible(name)}</span>
          </button>
        `}
        ${gone || e.fresh ? html`
          <button type="button" class="small" onClick=${(event) => (passFocus(event.currentTarget), drop(e.path))}>
            ${t("config.undo")}
            <span class="unseen"> ${visible(name)}</span>
          </button>
        ` : e.file && html`
          <button type="button" class="small danger" data-part="remove" onClick=${() => put([{ path: e.path, remove: true }])}>
            ${t("entry.remove")}
            <span class="unseen"> ${visible(name)}</span>
          </button>
        `}
      </div>
    </li>
  `;
}

// AddEntry asks what is added, and its name.
function AddEntry({ kinds, put, show }) {
  const [place, choose] = useState("");
  const [name, write] = useState("");
  const [problem, say] = useState("");
  // Where an entry can be added: one inside another entry needs that entry.
  const places = Object.fromEntries(
    kinds.flatMap((kind) => {
      const outer = kinds.find((o) => o !== kind && kind.place.startsWith(o.of + "."));
      const from = outer ? outer.entries.map((e) => e.path + kind.place.slice(outer.of.length)) : [kind.place];
      return from.filter((p) => !p.match(mark)).map((p) => [p, kind]);
    }),
  );
  const kind = places[place];
  const called = kind && (!kind.list || kind.settings.find((s) => [".id", ".name"].includes(s.below)));
  const add = (e) => {
    e.preventDefault();
    const text = name.trim();
    const there = kind.entries.filter((o) => o.place === place);
    if (called && there.some((o) => o.name === text)) return say(t("entry.there", { name: visible(text) }));
    const path = kind.list ? `${place}[${there.length}]` : joined(place, text);
    const named = (at, value) => (called?.below ? [{ path: at + called.below, value }] : []);
    // Entries that the gateway has without the file go into the file, or the new one would replace them.
    const kept = kind.list ? there.filter((o) => !o.file && !o.fresh) : [];
    put(
      [...kept.flatMap((o) => [{ path: o.path, value: {} }, ...named(o.path, o.name)]), { path, value: {} }, ...named(path, text)],
      kind.settings.map((s) => ({ ...s, path: path + s.below, set: false, source: { from: "default" } })),
    );
    return show(path);
  };
  return html`
    <form class="form" id="add-entry" onSubmit=${add}>
      <${Field} text=${t("entry.kind")}>
        <select required value=${place} onChange=${(e) => choose(e.target.value)}>
          <option value="">${t("entry.choose")}</option>
          <${Options}
            of=${Object.keys(places)}
            chosen=${place}
            name=${(p) => (kindName(p) ? `${kindName(p)} (${p})` : p)}
          />
        </select>
      <//>
      ${called && html`
        <${Field} text=${t("entry.name")}>
          <input required value=${name} maxlength="200" autocomplete="off" spellcheck=${false} onInput=${(e) => write(e.target.value)} />
        <//>
      `}
      ${problem && html`
        <p class="note bad" role="alert">
          ${problem}
        </p>
      `}
      <div class="acts">
        <button type="submit" class="main small" disabled=${!kind}>
          ${t("entry.add")}
        </button>
      </div>
    </form>
  `;
}
