// Charts by the hour. The library comes when the first one is shown; a table says the same to those who don't see it. Both come after
// the view has been drawn.

import { exact, html, minute, number, t, useEffect, useRef, useState } from "../base.js";

let library = null;
function load() {
  if (!library) {
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = "/lib/uplot.css";
    document.head.append(style);
    library = import("../lib/uplot.mjs").then((m) => m.default);
  }
  return library;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name);

// resolved gives the colour that a variable stands for now, in the light or the dark.
function resolved(name) {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value || colour(name);
}

// Chart draws lines over time: [[key, name, colour], …] of points with at.
export function Chart({ title, points, lines, unit = "" }) {
  const box = useRef(null);
  const [late, later] = useState(false);
  useEffect(() => later(true), []);
  useEffect(() => {
    const node = box.current;
    let chart = null,
      gone = false;
    const draw = async () => {
      const UPlot = await load();
      if (gone) return;
      chart?.destroy();
      const line = resolved("line"),
        ink = resolved("soft"),
        font = "11px system-ui, sans-serif";
      const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font };
      chart = new UPlot(
        {
          width: Math.max(200, node.clientWidth),
          height: 150,
          legend: { show: false },
          cursor: { show: false },
          padding: [8, 26, 0, 0], // at the right there is room for half of the last time
          axes: [
            { ...axis, size: 30, space: 76, values: (_, at) => at.map((s) => minute(s * 1000)) },
            { ...axis, size: 46, values: (_, all) => all.map((v) => (v >= 1000 ? number(v / 1000) + "k" : number(v))) },
          ],
          scales: { y: { range: (_, low, high) => [0, Math.max(1, high * 1.1)] } },
          series: [
            {},
            ...lines.map(([, name, tone]) => ({
              label: name,
              stroke: resolved(tone),
              width: 1.6,
              points: { show: true, size: 4 },
              spanGaps: true,
            })),
          ],
        },
        [points.map((p) => Date.parse(p.at) / 1000), ...lines.map(([key]) => points.map((p) => p[key] ?? null))],
        node,
      );
    };
    draw();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const size = new ResizeObserver(
      () => !gone && chart?.setSize({ width: Math.max(200, node.clientWidth), height: 150 }),
    );
    size.observe(node);
    dark.addEventListener("change", draw);
    return () => {
      gone = true;
      size.disconnect();
      dark.removeEventListener("change", draw);
      chart?.destroy();
    };
  }, [points]);
  return html`
    <figure class="chart">
      <figcaption>
        <strong>${title}</strong> ${unit && html`<span class="soft">${unit}</span>`}${" "}
        ${lines.map(([, name, tone]) => html`
          <span class=${"key " + tone}>${name}</span>
        `)}
      </figcaption>
      <div ref=${box} aria-hidden="true"></div>
      <table class="unseen">
        <caption>${title}</caption>
        <thead>
          <tr>
            <th>${t("col.time")}</th>
            ${lines.map(([, name]) => html`
              <th>${name}</th>
            `)}
          </tr>
        </thead>
        <tbody>
          ${late && points.map((p) => html`
            <tr>
              <td>${exact(p.at)}</td>
              ${lines.map(([key]) => html`
                <td>${p[key] ?? "–"}</td>
              `)}
            </tr>
          `)}
        </tbody>
      </table>
    </figure>
  `;
}
