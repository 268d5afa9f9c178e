package senders

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/httpapi/wire"
)

// flags and texts of the queries of Alertmanager's lists.
const (
	alertFlags   = "active silenced inhibited unprocessed"
	groupFlags   = "active silenced inhibited muted"
	silenceFlags = "active pending expired"
)

// Route is an operation with its handler.
type Route struct {
	Operation huma.Operation
	Handle    wire.Handler
}

// Routes are the operations of Alertmanager's API.
func (a *AlertmanagerAPI) Routes() []Route {
	all := []Route{
		{amOp(http.MethodPost, "alerts", "am-post-alerts", "Report alerts as to Alertmanager"), a.Post},
		{amOp(http.MethodGet, "alerts", "am-list-alerts", "List open alerts as Alertmanager does", "filter", "receiver", "receiver_matchers", alertFlags), a.List},
		{amOp(http.MethodGet, "alerts/groups", "am-list-groups", "List groups of open alerts as Alertmanager does", "filter", "receiver", "receiver_matchers", groupFlags), a.Groups},
		{amOp(http.MethodGet, "receivers", "am-list-receivers", "List the receivers of alerts", "receiver_matchers"), a.Receivers},
		{amOp(http.MethodGet, "status", "am-status", "Get versions as Alertmanager tells them"), a.Status},
		{amOp(http.MethodGet, "silences", "am-list-silences", "List silences as Alertmanager does", "filter", silenceFlags), a.ListSilences},
		{amOp(http.MethodPost, "silences", "am-post-silence", "Make or change a silence"), a.PostSilence},
		{amOp(http.MethodGet, "silence/{silenceID}", "am-get-silence", "Get a silence"), a.GetSilence},
		{amOp(http.MethodDelete, "silence/{silenceID}", "am-delete-silence", "End a silence"), a.DeleteSilence},
	}
	for i := range all {
		all[i].Handle = a.With(all[i].Handle)
	}
	return all
}

// amOp describes an operation of Alertmanager's API. Its own description has the details; errors are JSON texts.
func amOp(method, path, id, summary string, queries ...string) huma.Operation {
	o := wire.Op(method, alertmanagerPath+path, id, summary)
	object := map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Description: "as in the description of Alertmanager's API v2"}}}
	failure := map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeString}}}
	o.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: object}, "default": {Description: "Error", Content: failure}}
	if method == http.MethodPost {
		o.RequestBody = &huma.RequestBody{Required: true, Content: object}
	}
	if strings.Contains(path, "{") {
		o.Parameters = append(o.Parameters, &huma.Param{Name: "silenceID", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	for _, q := range queries {
		for _, name := range strings.Fields(q) {
			schema := &huma.Schema{Type: huma.TypeString}
			if q == alertFlags || q == groupFlags || q == silenceFlags {
				schema = &huma.Schema{Type: huma.TypeBoolean, Default: true}
			}
			o.Parameters = append(o.Parameters, &huma.Param{Name: name, In: "query", Schema: schema})
		}
	}
	return o
}
