// A list: filters in the address, rows that are only drawn where they are in sight, and the chosen row opened beside it.

import {
  acts, address, Age, change, Chip, cls, copy, current, exact, go, html, Icon, known, Level, local, look, number,
  onChange, Options, Pager, Problem, query, t, toast, useAddress, useEffect, useLayoutEffect, useMemo, useReducer,
  useRef, useState,
} from "../base.js";
import { Rows } from "./rows.js";

const spare = 12; // rows that are drawn above and below what is in sight
const places = new Map(); // address → { rows, top }: where a list was left

const phone = matchMedia("(max-width: 47.99rem)");
const wide = matchMedia("(min-width: 100rem)"); // there is room for all columns beside an open row

// The columns that many lists have. Each is given what it shows of a row.
export const statusColumn = (of = (row) => row.status, text = t("col.status")) => ({
  text,
  width: "7.5rem",
  on: "status",
  cell: (row) => html`<${Chip} status=${of(row)} />`,
});
export const levelColumn = (of = (row) => row.label) => ({
  text: t("col.level"),
  width: "9.5rem",
  cell: (row) => html`<${Level} label=${of(row)} />`,
});
export const ageColumn = (of, text = t("col.age")) => ({
  text,
  width: "4rem",
  on: "age",
  end: true,
  cell: (row) => html`<${Age} at=${of(row)} />`,
});

// List shows the rows of an endpoint.
//   name      of the view, which is the first part of its address
//   path      of the endpoint;  take(body): its rows;  id(row)
//   fixed     parameters that are always sent;  sort(values): how rows are compared if the list is not newest first
//   filters   [{ key, text, options?, type? }]: with options a choice; time and moment are times, otherwise words
//   columns   [{ text, cell(row), width, on, wide }]: on is where it stands on a phone: status, main, sub, age or nothing;
//             wide: only a wide screen has room for it
//   every     seconds after which it is read again, for what the live stream does not report
//   kinds     of the changes that concern it;  bulk: [{ text, run(row), fits(row), tone }]
//   why(row)  address of the row's explanation; nothing: this row has none
//   detail    component that shows a row: { id, row, close };  reader: it is what the view is for, and the list stands beside it
export function List({
  name,
  path,
  take,
  id,
  fixed = {},
  sort,
  filters = [],
  columns: all,
  kinds = [],
  every = 0,
  bulk: offered = [],
  detail: Detail,
  empty,
  label,
  why,
  head,
  rowName,
  reader = false,
}) {
  const at = useAddress();
  const bulk = acts() ? offered : [];
  const columns = all.filter((c) => !c.wide || wide.matches);
  const values = Object.fromEntries(filters.map((f) => [f.key, at.query.get(f.key) ?? ""]));
  const key = name + path + query(values);
  const [, draw] = useReducer((n) => n + 1, 0);
  const [, fitted] = useReducer((n) => n + 1, 0);
  const compact = phone.matches || (at.id !== "" && (reader || !wide.matches));
  const height = compact ? 68 : 48; // pixels of a row, as in style.css
  const box = useRef(null);
  const within = useRef(false); // the focus is in the rows
  const top = useRef(0);
  const [cursor, showCursor] = useState(-1);
  const place = useRef(-1); // the cursor, also between a key and the drawing that follows it
  const setCursor = (i) => {
    place.current = i;
    showCursor(i);
  };
  const [chosen, setChosen] = useState(() => new Set());

  const rows = useMemo(() => {
    const kept = places.get(key);
    if (kept) {
      kept.rows.changed = draw;
      top.current = kept.top;
      return kept.rows;
    }
    top.current = Number(sessionStorage.getItem("sluice.at." + key) ?? 0);
    return new Rows({ path: (limit) => path + query({ ...fixed, ...values, limit }), take, id, changed: draw, sort: sort?.(values) });
  }, [key]);

  useLayoutEffect(() => {
    // before the next frame: the answer may be there already
    if (!rows.pages.length)
      rows.begin(Math.ceil(top.current / height) + 30).then(() => box.current && (box.current.scrollTop = top.current));
    else rows.refresh(Math.floor(top.current / height), Math.floor(top.current / height) + 40);
    setCursor(-1);
    setChosen(new Set());
    return () => {
      places.delete(key);
      places.set(key, { rows, top: top.current });
      if (places.size > 12) places.delete(places.keys().next().value);
      sessionStorage.setItem("sluice.at." + key, String(Math.round(top.current)));
    };
  }, [rows]);

  useLayoutEffect(() => {
    if (box.current && Math.abs(box.current.scrollTop - top.current) > 1) box.current.scrollTop = top.current;
  }, [rows, rows.state === "loading"]);

  useEffect(() => {
    const leave = () => sessionStorage.setItem("sluice.at." + key, String(Math.round(top.current)));
    for (const width of [phone, wide]) width.addEventListener("change", fitted);
    addEventListener("pagehide", leave);
    return () => {
      for (const width of [phone, wide]) width.removeEventListener("change", fitted);
      removeEventListener("pagehide", leave);
    };
  }, [key]);

  const seen = box.current?.clientHeight || 800;
  const from = Math.max(0, Math.floor(top.current / height) - spare);
  const to = Math.min(rows.order.length, Math.ceil((top.current + seen) / height) + spare);

  // What happens is looked at once in a while, and not while rows are chosen.
  const paused = chosen.size > 0;
  const follows = [every, ...kinds].join();
  const followed = useRef(follows);
  useEffect(() => {
    let timer = 0;
    const look = () => {
      if (timer || paused) return;
      timer = setTimeout(async () => {
        timer = 0;
        await rows.refresh(Math.floor(top.current / height), Math.ceil((top.current + seen) / height));
        const busy = box.current?.matches(":hover, :focus-within") || top.current > 0;
        if (!busy) rows.settle();
      }, 400);
    };
    if (followed.current !== follows && kinds.length) look(); // these changes were not followed until now
    followed.current = follows;
    const stop = onChange(kinds, look);
    const regular = every && setInterval(() => document.hidden || look(), every * 1000);
    return () => {
      stop();
      clearTimeout(timer);
      clearInterval(regular);
    };
  }, [rows, paused, height, follows]);

  const open = at.id;
  const link = (row, tab) => address(name, row ? id(row) : "", Object.fromEntries(at.query), tab);
  const show = (row) => go(link(row), { replace: Boolean(open) });
  const close = () => {
    go(link(null), { replace: false });
    box.current?.focus();
  };

  const move = (by) => {
    const next = Math.max(0, Math.min(rows.order.length - 1, place.current + by));
    setCursor(next);
    const y = next * height;
    if (y < top.current) box.current.scrollTop = y;
    else if (y + height > top.current + seen) box.current.scrollTop = y + height - seen;
    if (open && rows.at(next)) show(rows.at(next));
  };
  const choose = (row) =>
    setChosen((before) => {
      const after = new Set(before);
      if (!after.delete(id(row))) after.add(id(row));
      return after;
    });

  useEffect(() =>
    current({
      down: () => move(1),
      up: () => move(-1),
      open: () => rows.at(place.current) && show(rows.at(place.current)),
      peek: () => (open ? close() : rows.at(place.current) && show(rows.at(place.current))),
      select: () => bulk.length && rows.at(place.current) && choose(rows.at(place.current)),
      filter: () => document.querySelector("#filters input, #filters select")?.focus(),
      find: () => document.querySelector("#find-in input")?.focus(),
      why: () => {
        const to = why && rows.at(place.current) && why(rows.at(place.current));
        if (to) go(to);
      },
      link: async () => {
        await copy(
          location.origin +
            (rows.at(place.current) ? link(rows.at(place.current)) : location.pathname + location.search),
        );
        toast(t("list.linked"));
      },
      close: () => open && !reader && close(),
    }),
  );

  useEffect(look, [cursor]);

  const scrolled = (e) => {
    top.current = e.target.scrollTop;
    if (rows.next && top.current + seen > (rows.order.length - 40) * height) rows.more();
    draw();
  };

  const filtered = Object.entries(values).filter(([, v]) => v);
  const template =
    (bulk.length ? "1.6rem " : "") + columns.map((c) => c.width ?? "minmax(0, 1fr)").join(" ") + (why ? " 2.4rem" : "");
  const row = open && rows.known.get(open);
  const nothing = rows.state === "end" && rows.order.length === 0 && !rows.error;

  const shown = useMemo(
    () =>
      open &&
      (reader ? html`
        <${Detail} key=${open} id=${open} row=${row} close=${close} />
      ` : html`
        <div class="peek-body" tabindex="0" role="region" aria-label=${t("list.detail")}>
          <${Detail} key=${open} id=${open} row=${row} refresh=${() => rows.refresh(from, to)} close=${close} />
        </div>
      `),
    [open, row, Detail],
  );

  useEffect(() => {
    // Without rows there is no grid that could keep the focus.
    if (nothing && within.current && document.activeElement === document.body) document.querySelector(".list .empty")?.focus();
    if (nothing) within.current = false;
  }, [nothing]);

  return html`
    <div class=${cls("list-view", open && "opened", reader && "reader", compact && "compact")}>
      <section class="list" aria-label=${label}>
        ${head?.(rows.body)}
        ${filters.length > 0 && html`<${Filters} filters=${filters} values=${values} />`}
        ${chosen.size > 0 && html`
          <div class="bulk" role="status">
            <strong>${t("list.chosen", { n: chosen.size })}</strong> <span class="soft">${t("list.paused")}</span>
            ${bulk.map((b) => html`
              <${Bulk}
                bulk=${b}
                rows=${[...chosen].map((i) => rows.known.get(i)).filter(Boolean)}
                end=${() => {
                  setChosen(new Set());
                  rows.refresh(from, to);
                }}
              />
            `)}
            <button type="button" class="small" onClick=${() => setChosen(new Set())}>
              ${t("list.none")}
            </button>
          </div>
        `}
        ${rows.fresh.length > 0 && html`
          <button
            type="button"
            class="fresh"
            onClick=${() => {
              rows.settle();
              box.current.scrollTop = 0;
            }}
          >
            ${t("list.fresh", { n: rows.fresh.length })}
          </button>
        `}
        ${rows.error && html`<${Problem} error=${rows.error} retry=${() => rows.more()} />`}
        ${nothing ? html`
          <div class="empty" tabindex="-1">
            ${filtered.length > 0 ? html`
              <p>
                ${t("list.nomatch", {
                  what: filtered.map(([k, v]) => named(filters.find((f) => f.key === k), v)).join(", "),
                })}
              </p>
              <button type="button" onClick=${() => change(Object.fromEntries(filtered.map(([k]) => [k, ""])))}>
                ${t("list.clear")}
              </button>
            ` : (
              empty
            )}
          </div>
        ` : html`
          <div class="grid">
            <div role="rowgroup" class="heads" id="heads">
              <div role="row" aria-rowindex="1" class="heading" style=${{ gridTemplateColumns: template }}>
                ${bulk.length > 0 && html`
                  <span role="columnheader">
                    <span class="unseen">${t("list.choose")}</span>
                  </span>
                `}
                ${columns.map((c) => html`
                  <span role="columnheader" class=${c.end ? "end" : ""}>
                    ${c.text}
                  </span>
                `)}
                ${why && html`
                  <span role="columnheader">
                    <span class="unseen">${t("why.button")}</span>
                  </span>
                `}
              </div>
            </div>
            <div
              role="grid"
              class="rows"
              ref=${box}
              tabindex="0"
              onScroll=${scrolled}
              onFocusIn=${() => (within.current = true)}
              onFocusOut=${(e) => (within.current = !e.relatedTarget)}
              aria-label=${label}
              aria-owns="heads"
              aria-rowcount=${rows.state === "end" ? rows.order.length + 1 : -1}
              aria-busy=${rows.state === "loading"}
              aria-activedescendant=${cursor >= from && cursor < to ? "row-" + cursor : undefined}
            >
              <div class="sized" role="rowgroup" style=${{ height: rows.order.length * height + "px" }}>
                ${rows.order.slice(from, to).map((one, i) => html`
                  <${Row}
                    key=${one}
                    index=${from + i}
                    height=${height}
                    row=${rows.known.get(one)}
                    columns=${columns}
                    template=${template}
                    name=${rowName}
                    gone=${rows.gone.has(one)}
                    open=${one === open}
                    at=${from + i === cursor}
                    chosen=${chosen.has(one)}
                    choose=${bulk.length > 0 && (() => choose(rows.known.get(one)))}
                    href=${link(rows.known.get(one))}
                    why=${why}
                  />
                `)}
              </div>
            </div>
          </div>
          <p class="foot" role="status">
            ${rows.state === "loading" || rows.reading
              ? t("part.loading")
              : rows.state === "end"
                ? t("list.all", { n: rows.order.length })
                : t("list.some", { n: number(rows.order.length) })}
          </p>
        `}
      </section>
      ${open && reader && html`
        <div class="reading" key="reading">
          ${shown}
        </div>
      `}
      ${open && !reader && html`
        <aside class="peek" aria-label=${t("list.detail")} key="peek">
          <div class="peek-bar">
            <button type="button" class="quiet iconic" aria-label=${t("part.close")} onClick=${close}>
              <${Icon} name=${phone.matches ? "back" : "close"} />
            </button>
            <span class="grow"></span>
            ${why && row && why(row) && html`
              <a class="button small" href=${why(row)}>
                ${t("why.button")}
              </a>
            `}
            <button
              type="button"
              class="small quiet"
              onClick=${async () => {
                await copy(location.href);
                toast(t("list.linked"));
              }}
            >
              <${Icon} name="link" size="15" /> ${t("list.link")}
            </button>
          </div>
          ${shown}
        </aside>
      `}
    </div>
  `;
}

// optionOf is the word for a choice of a filter, and named a filter with its value.
const optionOf = (filter, value) => filter.names?.[value] ?? known(filter.words ?? "status", value);
const named = (filter, value) => filter.text + ": " + (filter.options ? optionOf(filter, value) : value);

function Row({ index, height, row, columns, template, gone, open, at, chosen, choose, href, name, why }) {
  return html`
    <div
      role="row"
      id=${"row-" + index}
      aria-rowindex=${index + 2}
      aria-selected=${open || chosen}
      class=${cls("row", open && "open", at && "at", gone && "gone", chosen && "chosen")}
      style=${{ transform: `translateY(${index * height}px)`, height: height + "px", gridTemplateColumns: template }}
      onClick=${(e) => !e.target.closest("a, button, input, label") && go(href, {})}
    >
      ${choose && html`
        <span role="gridcell" class="choose">
          <input
            type="checkbox"
            aria-label=${t("list.chooserow", { name: name?.(row) ?? index + 1 })}
            checked=${chosen}
            onChange=${choose}
          />
        </span>
      `}
      ${columns.map((c) => html`
        <span role="gridcell" class=${cls("cell", "on-" + (c.on ?? "none"), c.end && "end")}>
          ${c.on === "main" ? html`
            <a href=${href} tabindex="-1" class="open-row">
              ${c.cell(row)}
            </a>
          ` : (
            c.cell(row)
          )}
        </span>
      `)}
      ${why && html`
        <span role="gridcell" class="row-why">
          ${why(row) && html`
            <a class="small" tabindex="-1" href=${why(row)}>
              ${t("why.button")}
            </a>
          `}
        </span>
      `}
    </div>
  `;
}

function Bulk({ bulk, rows, end }) {
  const [busy, set] = useState(false);
  const fit = rows.filter(bulk.fits ?? (() => true));
  return html`
    <button
      type="button"
      class=${cls("small", bulk.tone)}
      disabled=${busy || !fit.length}
      onClick=${async () => {
        set(true);
        let failed = 0;
        for (const row of fit) await bulk.run(row).catch(() => failed++);
        toast(
          t(failed ? "list.bulkfailed" : "list.bulkdone", { n: fit.length - failed, failed }),
          failed ? "bad" : "good",
        );
        set(false);
        end();
      }}
    >
      ${bulk.text} (${number(fit.length)})
    </button>
  `;
}

// Filters shows the filters of a list, and keeps them in the address.
export function Filters({ filters, values, children }) {
  return html`
    <form
      id="filters"
      class="filters"
      role="search"
      aria-label=${t("list.filters")}
      onSubmit=${(e) => e.preventDefault()}
    >
      ${filters.map((f) => html`
        <${Filter} key=${f.key} of=${f} value=${values[f.key]} />
      `)}
      ${children}
    </form>
  `;
}

const narrowedMax = 50; // rows at a time

// Narrowed filters rows that are already loaded by one value, and shows some at a time. of: the value of a row; children: draws
// the rows that match.
export function Narrowed({ filter, rows, of, children }) {
  const wanted = useAddress().query.get(filter.key) ?? "";
  const matching = rows.filter((row) => !wanted || of(row) === wanted);
  const [turned, turn] = useState(0);
  const from = turned < matching.length ? turned : 0; // there are fewer rows than before
  useEffect(() => current({ filter: () => document.querySelector("#filters select")?.focus() }), []);
  useEffect(() => turn(0), [wanted]);
  return html`
    <${Filters} filters=${[filter]} values=${{ [filter.key]: wanted }} />
    ${wanted && matching.length === 0 ? html`
      <div class="empty">
        <p>${t("list.nomatch", { what: named(filter, wanted) })}</p>
        <button type="button" onClick=${() => change({ [filter.key]: "" })}>
          ${t("list.clear")}
        </button>
      </div>
    ` : (
      children(matching.slice(from, from + narrowedMax))
    )}
    <${Pager} from=${from} size=${narrowedMax} of=${matching.length} turn=${turn} />
  `;
}

function Filter({ of, value }) {
  const [text, set] = useState(value);
  useEffect(() => set(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => change({ [of.key]: text.trim() }), 300);
    return () => clearTimeout(timer);
  }, [text]);
  if (of.type === "time") {
    const spans = { hour: 3600, day: 86400, week: 604800 };
    const since = (s) => new Date(Date.now() - s * 1000).toISOString().replace(/\.\d+/, "");
    return html`
      <label class=${cls("filter", value && "set")}>
        <span>${of.text}</span>
        <select
          value=${value}
          onChange=${(e) =>
            change({ [of.key]: e.target.value in spans ? since(spans[e.target.value]) : e.target.value })
          }
        >
          <option value="">${t("list.any")}</option>
          ${value && html`
            <option value=${value} selected>
              ${exact(value)}
            </option>
          `}
          ${Object.keys(spans).map((k) => html`
            <option value=${k}>${t("filter.last." + k)}</option>
          `)}
        </select>
      </label>
    `;
  }
  if (of.options) {
    const options = of.options.includes(value) || !value ? of.options : [...of.options, value];
    return html`
      <label class=${cls("filter", value && "set")}>
        <span>${of.text}</span>
        <select value=${value} onChange=${(e) => change({ [of.key]: e.target.value })}>
          <option value="">${of.all ?? t("list.any")}</option>
          <${Options} of=${options} chosen=${value} name=${(o) => optionOf(of, o)} />
        </select>
      </label>
    `;
  }
  if (of.type === "moment")
    return html`
      <label class=${cls("filter", value && "set")}>
        <span>${of.text}</span>
        <input
          type="datetime-local"
          max="9999-12-31T23:59"
          value=${local(text)}
          onInput=${(e) => set(e.target.value && new Date(e.target.value).toISOString().replace(/\.\d+/, ""))}
        />
      </label>
    `;
  return html`
    <label class=${cls("filter", value && "set")}>
      <span>${of.text}</span>
      <input type=${of.type ?? "search"} value=${text} placeholder=${of.hint ?? ""} onInput=${(e) => set(e.target.value)} />
    </label>
  `;
}
