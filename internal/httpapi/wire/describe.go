package wire

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// Handler is a handler that writes its own response. An error means that it has not begun to.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Body is an answer with a JSON body.
type Body[T any] struct{ Body T }

// NewBody is the answer with a value as its body.
func NewBody[T any](v T) *Body[T] { return &Body[T]{v} }

// Op describes an operation, with the statuses that every operation can answer with.
func Op(method, path, id, summary string, status ...int) huma.Operation {
	o := huma.Operation{
		Method: method, Path: path, OperationID: id, Summary: summary,
		Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}
	if len(status) > 0 {
		o.DefaultStatus = status[0]
	}
	return o
}

// Schema is the schema of a type in the OpenAPI document.
func Schema[T any](api huma.API) *huma.Schema {
	return api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// SchemaName names the schema of a type in the OpenAPI document.
func SchemaName(t reflect.Type, hint string) string {
	if t == reflect.TypeFor[Error]() {
		return "ApiError"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// Responses describes the responses of an operation that the API library does not serve: its content, and the status that
// it most often fails with.
func Responses(failure int, content map[string]*huma.MediaType) map[string]*huma.Response {
	problem := map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Ref: "#/components/schemas/ApiError"}}}
	return map[string]*huma.Response{
		"200":                 {Description: "OK", Content: content},
		strconv.Itoa(failure): {Description: http.StatusText(failure), Content: problem},
		"default":             {Description: "Error", Content: problem},
	}
}

// SessionParam describes the path's part that names a session.
func SessionParam() *huma.Param {
	return &huma.Param{Name: "id", In: "path", Required: true, Description: "a session's id or key, or main", Schema: &huma.Schema{Type: huma.TypeString}}
}
