// Package openai serves the published agents to clients of OpenAI's API: chat completions, responses and models.
//
// It is a face and nothing more. A request is a turn of a session, as POST /v1/sessions/{id}/messages is one: it takes the same
// way in, and its reply is what the gate lets out. What a client calls a model is an agent.
//
// Failure rules: errors have OpenAI's shape. A parameter that would change what the reply means, and that no agent follows, is
// refused. After a stream has begun, an error is an event of the stream. A request that was taken in is repeated without a second
// run by its Idempotency-Key.
package openai
