package openai

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sluice/internal/httpapi/wire"
)

// The types of errors.
const (
	typeRequest = "invalid_request_error"
	typeRate    = "rate_limit_error"
	typeServer  = "server_error"
)

// fault is an error about a parameter of a request.
type fault struct {
	told  *wire.Error
	param string
}

// Error implements error.
func (f *fault) Error() string { return f.told.Message }

// Unwrap shows the error in the API's own shape.
func (f *fault) Unwrap() error { return f.told }

// refuse refuses a value of a parameter.
func refuse(param, code, format string, args ...any) error {
	return &fault{wire.NewError(http.StatusBadRequest, code, param+": "+fmt.Sprintf(format, args...)), param}
}

// The codes of parameters that are refused.
const (
	codeInvalid     = "invalid_value"
	codeMissing     = "missing_required_parameter"
	codeUnsupported = "unsupported_parameter"
	codeUnknown     = "unknown_parameter"
)

// errorBody is an error in OpenAI's shape.
type errorBody struct {
	Error errorRecord `json:"error"`
}

type errorRecord struct {
	Message string  `json:"message" doc:"what went wrong and what to do"`
	Type    string  `json:"type" example:"invalid_request_error"`
	Param   *string `json:"param" doc:"the parameter that is wrong"`
	Code    string  `json:"code" doc:"what went wrong, for programs" example:"model_not_found"`
}

// recordOf is an error in OpenAI's shape.
func recordOf(e *wire.Error, param string) errorRecord {
	out := errorRecord{Message: e.Message, Type: typeRequest, Code: e.Code}
	switch {
	case e.Status >= http.StatusInternalServerError:
		out.Type = typeServer
	case e.Status == http.StatusTooManyRequests:
		out.Type = typeRate
	case e.Status == http.StatusUnauthorized:
		out.Code = "invalid_api_key"
	}
	if param != "" {
		out.Param = &param
	}
	return out
}

// WriteError answers with an error in OpenAI's shape.
func WriteError(w http.ResponseWriter, e *wire.Error) { writeError(w, e, "") }

func writeError(w http.ResponseWriter, e *wire.Error, param string) {
	wire.WriteErrorAs(w, e, errorBody{recordOf(e, param)})
}

// With serves a request. Its errors have OpenAI's shape.
func (a *API) With(handle wire.Handler) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := handle(w, r)
		if err == nil {
			return nil
		}
		param := ""
		if f, ok := errors.AsType[*fault](err); ok {
			param = f.param
		}
		writeError(w, a.Problem(err), param)
		return nil
	}
}

// Serves reports whether a path belongs to OpenAI's API.
func Serves(path string) bool {
	for _, own := range []string{chatPath, responsesPath, modelsPath, embeddingsPath} {
		if path == own || strings.HasPrefix(path, own+"/") {
			return true
		}
	}
	return false
}

// once tells the official clients that repeating the request by themselves would be wrong: it has run.
func once(h http.Header) { h.Set("X-Should-Retry", "false") }
