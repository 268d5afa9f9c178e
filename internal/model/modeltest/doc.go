// Package modeltest is a provider of language models for tests and rehearsals.
// One [Server] speaks OpenAI's Chat Completions and Anthropic's Messages over
// loopback, both as streams only, in the form that the real services send.
//
// Without a script it echoes: "echo: " and the texts of the user's messages that
// no assistant's message has followed. A script says what comes instead:
//
//	s.Enqueue(modeltest.Call("look", `{"at":1}`), modeltest.Say("Nothing there."))
//	s.Enqueue(modeltest.RateLimited(30*time.Second))
//	s.Always(func(q modeltest.Request) modeltest.Reply { r := modeltest.Echo(q); r.Latency = 2 * time.Second; return r })
//
// A request that breaks an API's rules gets the API's refusal and stands in
// [Server.Violations]: unknown fields and roles, a tool's result without its
// call, a call without its result, blank texts, turns in a wrong order.
package modeltest
