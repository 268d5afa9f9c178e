package openai

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/httpapi/wire"
)

// Route is an operation with its handler.
type Route struct {
	Operation huma.Operation
	Handle    wire.Handler
}

// Routes are the operations of OpenAI's API.
func (a *API) Routes(r huma.API) []Route {
	chat := described(r, http.MethodPost, chatPath, "openai-chat", "Talk to an agent as clients of OpenAI's chat completions do", wire.Schema[chatReply](r))
	chat.RequestBody = bodyOf(wire.Schema[chatRequest](r))
	respond := described(r, http.MethodPost, responsesPath, "openai-respond", "Talk to an agent as clients of OpenAI's responses do", wire.Schema[responseRecord](r))
	respond.RequestBody = bodyOf(wire.Schema[responseRequest](r))
	for _, o := range []*huma.Operation{&chat, &respond} {
		o.Parameters = []*huma.Param{
			header(SessionHeader, "id or key of the session to speak in; it remembers the earlier messages"),
			header(keyHeader, "names the request: the same key from the same token makes no second run"),
			header(labelHeader, "level of the message, or LEVEL/trust; default PUBLIC"),
		}
	}
	respond.Responses["200"].Content["text/event-stream"] = &huma.MediaType{Schema: wire.Schema[responseEvent](r)}
	chat.Responses["200"].Content["text/event-stream"] = &huma.MediaType{Schema: wire.Schema[chatReply](r)}
	get := described(r, http.MethodGet, responsesPath+"/{response}", "openai-get-response", "Get a response by its id", wire.Schema[responseRecord](r))
	get.Responses["200"].Content["text/event-stream"] = &huma.MediaType{Schema: wire.Schema[responseEvent](r)}
	get.Parameters = []*huma.Param{
		{Name: "response", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}},
		{Name: "stream", In: "query", Description: "send the events of the response again, and those to come", Schema: &huma.Schema{Type: huma.TypeBoolean}},
		{Name: "starting_after", In: "query", Description: "with stream: the sequence_number of the last event that the caller has", Schema: &huma.Schema{Type: huma.TypeInteger}},
	}
	one := described(r, http.MethodGet, modelsPath+"/{path}", "openai-get-model", "Get a published agent as a model", wire.Schema[modelRecord](r))
	one.Parameters = []*huma.Param{{Name: "path", In: "path", Required: true, Description: "the agent's id", Schema: &huma.Schema{Type: huma.TypeString}}}
	embed := described(r, http.MethodPost, embeddingsPath, "openai-embed", "Always refused: agents make no embeddings", &huma.Schema{Type: huma.TypeObject})
	delete(embed.Responses, "200")
	all := []Route{
		{chat, a.Chat},
		{respond, a.Respond},
		{get, a.Response},
		{described(r, http.MethodGet, modelsPath, "openai-list-models", "List the published agents as models", wire.Schema[modelList](r)), a.Models},
		{one, a.Model},
		{embed, a.Embeddings},
	}
	for i := range all {
		all[i].Handle = a.With(all[i].Handle)
	}
	return all
}

// described describes an operation whose errors have OpenAI's shape.
func described(r huma.API, method, path, id, summary string, schema *huma.Schema) huma.Operation {
	o := wire.Op(method, path, id, summary)
	o.Responses = map[string]*huma.Response{
		"200":     {Description: "OK", Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}},
		"default": {Description: "Error", Content: map[string]*huma.MediaType{"application/json": {Schema: wire.Schema[errorBody](r)}}},
	}
	return o
}

func bodyOf(schema *huma.Schema) *huma.RequestBody {
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
}

func header(name, about string) *huma.Param {
	return &huma.Param{Name: name, In: "header", Description: about, Schema: &huma.Schema{Type: huma.TypeString}}
}
