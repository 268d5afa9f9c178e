// What all views build on: the requests that come first, the libraries of components, the API, texts, addresses, the keyboard, the frame.
// A browser reads all this as one module, /base.js, which `go generate` makes from this folder. The modules of page/ import it.

import "./first.js";
export * from "./api.js";
export * from "./keys.js";
export * from "./live.js";
export * from "./router.js";
export * from "./shell.js";
export * from "./text.js";
export * from "./ui/exact.js";
export * from "./ui/html.js";
export * from "./ui/parts.js";
import "./app.js";
