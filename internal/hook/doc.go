// Package hook turns a request to a hook into what an agent is asked: whether it passes the hook's filter, which session it belongs
// to, and the prompt. It is pure, so that a request can be tried without effects.
//
// A [Mapping] is compiled when the configuration is loaded, with all its faults at once. Filters are CEL expressions over the variables
// payload, headers and query. Sessions and prompts are templates in the language of text/template over the same variables and the
// hook's name.
//
// What a request contains is somebody else's text, and a template must not let it speak as the gateway's owner:
//
//   - In a prompt, a value that is more than one word is put in quotation marks, and one of several lines becomes a block in which each
//     line begins with "> ".
//   - In a session's key, every character of a value that could end a part of the key is escaped, so that a value names one part and
//     never another session's key.
//   - A missing field is an empty text. A template runs in bounded time and gives a bounded text.
package hook
