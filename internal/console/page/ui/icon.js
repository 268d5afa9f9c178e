// Icons as lines on a field of 20 by 20. They decorate a text that says the same.

import { html } from "./html.js";

const paths = {
  overview: "M3 11h5V3H3zM12 17h5v-7h-5zM3 17h5v-3H3zM12 7h5V3h-5z",
  inbox: "M3 11l2.5-7h9L17 11v5H3zM3 11h4l1 2h4l1-2h4",
  conversations: "M3 4h14v9H9l-4 3.5V13H3z",
  runs: "M6 4l9 6-9 6z",
  deliveries: "M17 3L9 11M17 3l-5 14-3-6-6-3z",
  policy: "M10 3l6 2v5c0 3.5-2.5 6-6 7-3.5-1-6-3.5-6-7V5zM7.5 10l2 2 3.5-4",
  people: "M7.5 9a2.7 2.7 0 100-5.4 2.7 2.7 0 000 5.4zM2.5 16c0-3 2.2-4.7 5-4.7s5 1.7 5 4.7M13 4a2.6 2.6 0 010 5M14.5 11.5c2 .5 3 2.2 3 4.5",
  audit: "M5 3h7l3 3v11H5zM12 3v3h3M7.5 9.5h5M7.5 12.5h5",
  agents: "M5 7h10v8H5zM10 7V4M8 10.5v1M12 10.5v1M3 10v2M17 10v2",
  skills: "M4 5h5.5v11H4zM9.5 5H16v11H9.5M12 8h2M12 11h2",
  automation: "M10 17a7 7 0 100-14 7 7 0 000 14zM10 6v4l2.7 1.7",
  alerts: "M5 14V9.5C5 6.5 7 4.5 10 4.5s5 2 5 5V14l1 1H4zM8.5 17h3",
  memory: "M10 5.5C8.5 4 6 4 4 4.5v11c2-.5 4.5-.5 6 1 1.5-1.5 4-1.5 6-1v-11C14 4 11.5 4 10 5.5zM10 5.5v11",
  config: "M4 6h6M14 6h2M4 14h2M10 14h6M12 4v4M8 12v4M4 10h12",
  logs: "M4 5h12M4 8.5h8M4 12h12M4 15.5h6",
  costs: "M4 16V9M8 16V5M12 16v-6M16 16V7",
  access: "M7 13a3.5 3.5 0 110-7 3.5 3.5 0 010 7zM10.5 9.5H17V12M14 9.5V12",
  why: "M7.5 7.5a2.5 2.5 0 113.6 2.3c-.8.4-1.1.9-1.1 1.7v.5M10 15v.3",
  search: "M9 14.5a5.5 5.5 0 100-11 5.5 5.5 0 000 11zM13 13l4 4",
  more: "M5 10h.01M10 10h.01M15 10h.01",
  close: "M5 5l10 10M15 5L5 15",
  back: "M12 4l-6 6 6 6",
  next: "M8 4l6 6-6 6",
  send: "M10 16V5M5 9.5L10 4.5l5 5",
  stop: "M6 6h8v8H6z",
  file: "M13.5 8L8 13.5a2 2 0 01-3-3L11 4.5a3.2 3.2 0 014.6 4.6L9.5 15.3",
  mic: "M10 12a2.3 2.3 0 002.3-2.3V5.8a2.3 2.3 0 00-4.6 0v3.9A2.3 2.3 0 0010 12zM5.5 9.5a4.5 4.5 0 009 0M10 14v3",
  edit: "M4 16l.7-3L13 4.7l2.3 2.3L7 15.3z",
  retry: "M15.5 8A6 6 0 105 13.5M15.5 3.5V8H11",
  copy: "M7 7h9v9H7zM13 7V4H4v9h3",
  done: "M4 10.5l4 4 8-9",
  link: "M8.5 11.5l3-3M9 6l1.5-1.5a3 3 0 014.5 4.5L13.5 10.5M11 14l-1.5 1.5A3 3 0 015 11L6.5 9.5",
  settings: "M4 6h12M4 10h12M4 14h12",
  filter: "M3 5h14l-5.5 6v4.5l-3 1.5v-6z",
  branch: "M6 4v12M6 13c0-3 8-2 8-6M14 7V4M4.5 4h3M12.5 4h3",
  pause: "M7 5v10M13 5v10",
};

export const Icon = ({ name, size = 18 }) => html`<svg class="icon" width=${size} height=${size} viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${paths[name] ?? paths.more} /></svg>`;
