// The frame: the rail with the views, the bar of a phone, and the view that the address names.

import { canSignOut, me, page, Refused, signOut } from "./api.js";
import { connected, onChange, watch } from "./live.js";
import { address, useAddress } from "./router.js";
import { choose, count, language, languagesKnown, t } from "./text.js";
import { cls, html, useEffect, useReducer, useRef, useState } from "./ui/html.js";
import { Dialog, Icon, Level, Order, Problem } from "./ui/parts.js";

// groups are the views of the rail, in order. Each is a file of views/.
const groups = [
  ["overview", "inbox"],
  ["conversations", "runs", "deliveries"],
  ["policy", "people", "audit", "why"],
  ["agents", "skills", "automation", "alerts", "memory"],
  ["config", "logs", "costs", "access"],
];
const views = groups.flat();
const onPhone = ["overview", "inbox", "conversations", "deliveries"];

const themePlace = "sluice.theme";
const themes = ["auto", "light", "dark"];
const theme = () => localStorage.getItem(themePlace) ?? "auto";

// dress shows the page light, dark, or as the system is.
export function dress(wanted = theme()) {
  if (wanted === "auto") localStorage.removeItem(themePlace);
  else localStorage.setItem(themePlace, wanted);
  document.documentElement.dataset.theme = wanted;
}

const loaded = new Map(); // view → its component

// ready reads the module of a view, so that the view is drawn at once. The view says what is wrong if that fails.
export async function ready(name) {
  if (views.includes(name))
    await import(`/views/${name}.js`).then(
      (m) => loaded.set(name, m.default),
      () => {},
    );
}

// shown is what the keyboard can open.
export const shown = {
  views: () => views,
  find: () => opened?.("palette"),
  help: () => opened?.("keys"),
  regions: (by) => {
    const all = [
      ...document.querySelectorAll("nav.rail, main .list, main .peek, main .reading, main .page-body, #composer"),
    ].filter((n) => n.offsetParent);
    const at = all.findIndex((n) => n.contains(document.activeElement));
    const to = all[(at + by + all.length) % all.length];
    (to?.querySelector("[tabindex='0'], a, button, input, textarea") ?? to)?.focus();
  },
};
let opened = null;

// Shell is the frame. The view is drawn when it is known who looks at it.
export function Shell({ again, known }) {
  const at = useAddress();
  const [open, show] = useState("");
  opened = show;
  const [waiting, wait] = useState(noneWaits);
  const [, draw] = useReducer((n) => n + 1, 0);

  useEffect(() => watch(draw), []);
  useEffect(() => {
    if (!known) return;
    let timer = 0;
    const order = new Order();
    const look = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const mine = order.begin();
        waits().then((now) => order.takes(mine) && wait(now), () => {});
      }, 150);
    };
    look();
    const stop = onChange(["approvals", "pairings"], look);
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [known]);
  useEffect(() => {
    document.title =
      (waiting.count ? `(${count(waiting)}) ` : "") + (views.includes(at.view) ? t("view." + at.view) + " · " : "") + "Sluice";
  }, [at.view, waiting, language]);
  useEffect(() => show((o) => (o === "more" ? "" : o)), [at.view, at.id]);

  return html`
    <a
      class="skip"
      href="#main"
      onClick=${(e) => {
        e.preventDefault();
        document.getElementById("main").focus();
      }}
    >
      ${t("shell.skip")}
    </a>
    <div class=${cls("shell", at.id && "deep")}>
      <nav class="rail" aria-label=${t("shell.views")}>
        <a class="brand" href="/overview">
          <img src="/icon.svg" alt="" width="26" height="26" />
          <span>Sluice</span>
        </a>
        <button type="button" class="find" onClick=${() => show("palette")} aria-keyshortcuts="Control+K">
          <${Icon} name="search" />
          <span>${t("shell.find")}</span>
          <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
        <div class="views">
          ${groups.map((g) => html`
            <ul>
              ${g.map((v) => html`
                <li>
                  <${Link} view=${v} at=${at} waiting=${v === "inbox" ? waiting : noneWaits} />
                </li>
              `)}
            </ul>
          `)}
        </div>
        <div class="rail-foot">
          <${State} />
          <button
            type="button"
            class="quiet iconic"
            aria-label=${t("shell.you")}
            title=${t("shell.you")}
            onClick=${() => show("you")}
          >
            <${Icon} name="settings" />
          </button>
        </div>
      </nav>
      <main id="main" tabindex="-1">
        ${known ? html`
          <${View} name=${at.view} />
        ` : html`
          <p class="loading" role="status">
            ${t("part.loading")}
          </p>
        `}
      </main>
      <nav class="bottom" aria-label=${t("shell.views")}>
        ${onPhone.map((v) => html`
          <${Link} view=${v} at=${at} waiting=${v === "inbox" ? waiting : noneWaits} text=${t("short." + v)} />
        `)}
        <button
          type="button"
          class=${cls("to", !onPhone.includes(at.view) && "on")}
          aria-expanded=${open === "more"}
          onClick=${() => show(open === "more" ? "" : "more")}
        >
          <${Icon} name="more" />
          <span>${t("shell.more")}</span>
        </button>
      </nav>
    </div>
    ${open === "more" && html`
      <${Dialog} name="more" title=${t("shell.views")} close=${() => show("")}>
        <div class="all">
          ${groups.map((g) => html`
            <ul>
              ${g.map((v) => html`
                <li>
                  <${Link} view=${v} at=${at} />
                </li>
              `)}
            </ul>
          `)}
        </div>
        <div class="acts">
          <button type="button" onClick=${() => show("palette")}>
            <${Icon} name="search" />
            ${t("shell.find")}
          </button>
          <button type="button" onClick=${() => show("you")}>
            <${Icon} name="settings" />
            ${t("shell.you")}
          </button>
        </div>
      <//>
    `}
    ${open === "you" && html`<${You} again=${again} close=${() => show("")} keys=${() => show("keys")} />`}
    ${(open === "palette" || open === "keys") && html`
      <${Late}
        load=${() => import("/palette.js")}
        name=${open === "palette" ? "Palette" : "Keys"}
        of=${{ views, close: () => show(""), show }}
      />
    `}
  `;
}

const noneWaits = { count: 0 };

// waits counts what waits for a person. more: at least that many.
async function waits() {
  const none = (e) => (e instanceof Refused ? { body: { approvals: [], pairings: [] } } : Promise.reject(e));
  const [a, p] = await Promise.all([
    page("/v1/approvals?status=pending&limit=200").catch(none),
    page("/v1/pairings").catch(none),
  ]);
  const asking = p.body.pairings.filter((one) => one.status === "pending");
  return { count: a.body.approvals.length + asking.length, more: Boolean(a.next) };
}

function Link({ view, at, waiting = noneWaits, text = t("view." + view) }) {
  return html`
    <a
      class=${cls("to", at.view === view && "on")}
      href=${address(view)}
      aria-current=${at.view === view ? "page" : undefined}
      data-view=${view}
    >
      <${Icon} name=${view} />
      <span>${text}</span>
      ${waiting.count > 0 && html`
        <b class="badge">
          ${count(waiting)}
          <span class="unseen"> ${t("shell.waiting")}</span>
        </b>
      `}
    </a>
  `;
}

// State says whether the page hears the gateway.
const State = () => html`
  <span
    class=${cls("pill", connected === false ? "away" : connected ? "connected" : "connecting")}
    id="connection"
    role="status"
  >
    ${t(connected === false ? "shell.away" : connected ? "shell.connected" : "shell.connecting")}
  </span>
`;

// View loads and shows a view.
function View({ name }) {
  const [, draw] = useReducer((n) => n + 1, 0);
  const [error, fail] = useState(null);
  const last = useRef(null);
  useEffect(() => {
    fail(null);
    if (loaded.has(name) || !views.includes(name)) return;
    import(`/views/${name}.js`).then((m) => {
      loaded.set(name, m.default);
      draw();
    }, fail);
  }, [name]);
  if (!views.includes(name))
    return html`
      <div class="page-body">
        <h1>${t("shell.nothing")}</h1>
        <p>${t("shell.nothinghere")}</p>
        <a class="button" href="/overview">
          ${t("view.overview")}
        </a>
      </div>
    `;
  if (error) return html`<${Problem} error=${error} />`;
  const Loaded = loaded.get(name);
  if (Loaded) last.current = name;
  return html`
    <h1 class="view-title">${t("view." + name)}</h1>
    ${Loaded ? html`
      <${Loaded} key=${name} />
    ` : html`
      <p class="loading" role="status">
        ${t("part.loading")}
      </p>
    `}
  `;
}

// Late shows a component of a module that is loaded when it is first needed.
function Late({ load, name, of }) {
  const [module, set] = useState(null);
  useEffect(() => {
    load().then(set);
  }, []);
  return module && html`<${module[name]} ...${of} />`;
}

function You({ again, close, keys }) {
  const [, draw] = useReducer((n) => n + 1, 0);
  const Choice = ({ name, value, values, text, set }) => html`
    <fieldset class="choice">
      <legend>${name}</legend>
      ${values.map((v) => html`
        <button type="button" aria-pressed=${v === value} onClick=${() => set(v)}>
          ${text(v)}
        </button>
      `)}
    </fieldset>
  `;
  return html`
    <${Dialog} name="you" title=${t("shell.you")} close=${close}>
      ${me && html`
        <p class="soft">
          ${t("you.are", { name: me.name || t("you.owner"), role: t("role." + me.role) })} <${Level} label=${me.level} />
        </p>
      `}
      ${me && !canSignOut() && html`<p class="soft">${t("you.proxy")}</p>`}
      <${Choice}
        name=${t("you.theme")}
        value=${theme()}
        values=${themes}
        text=${(v) => t("theme." + v)}
        set=${(v) => {
          dress(v);
          draw();
        }}
      />
      <${Choice}
        name=${t("you.language")}
        value=${language}
        values=${languagesKnown}
        text=${(v) => t("language." + v)}
        set=${async (v) => {
          await choose(v);
          again();
          draw();
        }}
      />
      <div class="acts">
        <button type="button" onClick=${keys}>
          ${t("keys.title")}
        </button>
        ${canSignOut() && html`
          <button type="button" class="danger" onClick=${signOut}>
            ${t("you.out")}
          </button>
        `}
      </div>
    <//>
  `;
}
