package httpapi

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// documentStreams describes the operations that are not registered with the API library.
func documentStreams(api huma.API) {
	schemas := api.OpenAPI().Components.Schemas
	event := schemas.Schema(reflect.TypeFor[eventRecord](), true, "Event")
	session := &huma.Param{Name: "id", In: "path", Required: true, Description: "a session's id or key, or main", Schema: &huma.Schema{Type: huma.TypeString}}
	turn := op(http.MethodPost, "/v1/sessions/{id}/messages", "say", "Say something in a session; the answer comes as events, or with Accept: application/json whole")
	turn.Parameters = []*huma.Param{session, {Name: "Idempotency-Key", In: "header", Description: "the same as id in the body", Schema: &huma.Schema{Type: huma.TypeString}}}
	turn.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: schemas.Schema(reflect.TypeFor[turnRequest](), true, "Turn")},
	}}
	turn.Responses = answers(http.StatusConflict, map[string]*huma.MediaType{
		"text/event-stream": {Schema: event},
		"application/json":  {Schema: schemas.Schema(reflect.TypeFor[turnReply](), true, "TurnReply")},
	})
	events := op(http.MethodGet, "/v1/sessions/{id}/events", "events", "What happens in a session, live; goes on behind Last-Event-ID")
	events.Parameters = []*huma.Param{
		session,
		{Name: "Last-Event-ID", In: "header", Description: "id of the last event that the caller has", Schema: &huma.Schema{Type: huma.TypeString}},
		{Name: "after", In: "query", Description: "the same as Last-Event-ID", Schema: &huma.Schema{Type: huma.TypeString}},
	}
	events.Responses = answers(http.StatusServiceUnavailable, map[string]*huma.MediaType{"text/event-stream": {Schema: event}})
	for _, o := range []*huma.Operation{&turn, &events} {
		api.OpenAPI().AddOperation(o)
	}
}

func answers(failure int, content map[string]*huma.MediaType) map[string]*huma.Response {
	problem := map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Ref: "#/components/schemas/ApiError"}}}
	return map[string]*huma.Response{
		"200":                 {Description: "OK", Content: content},
		strconv.Itoa(failure): {Description: http.StatusText(failure), Content: problem},
		"default":             {Description: "Error", Content: problem},
	}
}
