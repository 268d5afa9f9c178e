// The components' templates: html`<p>…</p>` gives nodes of preact. Text in them is always text. Other modules import the
// libraries from here.

import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);
export { Component, Fragment, render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";

// cls joins the names of classes that apply.
export const cls = (...names) => names.filter(Boolean).join(" ");
