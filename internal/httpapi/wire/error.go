package wire

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Error is the body of every response that is not a success.
type Error struct {
	Status  int    `json:"-"`
	Code    string `json:"error" doc:"what went wrong, for programs" example:"not_found"`
	Message string `json:"message" doc:"what went wrong and what to do, for people"`
	// Retry is when the caller may try again; 0: unknown.
	Retry time.Duration `json:"-"`
}

// NewError makes an error with its own code. The constructors below cover the common ones.
func NewError(status int, code, message string) *Error {
	return &Error{Status: status, Code: code, Message: message}
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// GetHeaders implements [huma.HeadersError].
func (e *Error) GetHeaders() http.Header {
	h := http.Header{}
	e.setHeaders(h)
	return h
}

func (e *Error) setHeaders(h http.Header) {
	if e.Retry > 0 {
		h.Set("Retry-After", Seconds(e.Retry))
	}
}

// GetStatus implements [huma.StatusError].
func (e *Error) GetStatus() int { return e.Status }

// Errors whose text is always the same.
var (
	// ErrNotFound is the answer for what is missing, foreign or hidden: all the same, so that it gives nothing away.
	ErrNotFound  = NewError(http.StatusNotFound, "not_found", "not found: it does not exist, or your token may not see it")
	ErrCrossSite = NewError(http.StatusForbidden, "cross_site", "pages of other sites may not call this gateway")
	ErrStopping  = NewError(http.StatusServiceUnavailable, "stopping", "the gateway is stopping; try again in a moment")
	ErrCutBody   = BadRequest("the body did not arrive completely")
	ErrInternal  = NewError(http.StatusInternalServerError, "internal", "internal error; the gateway's log has the cause")
)

// BadRequest refuses a request that cannot be understood.
func BadRequest(message string) *Error {
	return NewError(http.StatusBadRequest, codeOf(http.StatusBadRequest), message)
}

// Invalid refuses a well-formed request with a value that is not allowed.
func Invalid(message string) *Error {
	return NewError(http.StatusUnprocessableEntity, codeOf(http.StatusUnprocessableEntity), message)
}

// Forbidden refuses what the caller may never do. Its message must not depend on what is hidden from the caller.
func Forbidden(message string) *Error {
	return NewError(http.StatusForbidden, codeOf(http.StatusForbidden), message)
}

// Conflict refuses what the present state does not allow.
func Conflict(message string) *Error {
	return NewError(http.StatusConflict, "conflict", message)
}

// TooLarge refuses a body or a value beyond its limit.
func TooLarge(message string) *Error {
	return NewError(http.StatusRequestEntityTooLarge, codeOf(http.StatusRequestEntityTooLarge), message)
}

// Unavailable reports that something the request needs is unavailable for now.
func Unavailable(message string) *Error {
	return NewError(http.StatusServiceUnavailable, "unavailable", message)
}

// NoSpace reports that a file would exceed a limit of disk space.
func NoSpace(message string) *Error {
	return NewError(http.StatusInsufficientStorage, "no_space", message)
}

// codeOf is the code of the statuses that the API library sets itself.
func codeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "unauthorized"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusNotFound:
		return "not_found"
	case http.StatusMethodNotAllowed:
		return "method_not_allowed"
	case http.StatusRequestEntityTooLarge:
		return "too_large"
	case http.StatusUnsupportedMediaType:
		return "unsupported_media_type"
	}
	if status >= http.StatusInternalServerError {
		return "internal"
	}
	return "invalid_request"
}

// PlainErrors is a [huma.Transformer]: it gives the API library's own errors the API's shape, with all faults of a
// request in one message. Their media type is that of all other errors: the library's own names another shape.
func PlainErrors(ctx huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	ctx.SetHeader("Content-Type", "application/json")
	texts := []string{}
	for _, d := range model.Errors {
		place := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(d.Location, "body."), "query."), "path.")
		if place != "" {
			place += ": "
		}
		texts = append(texts, place+d.Message)
	}
	if len(texts) == 0 {
		texts = append(texts, model.Detail)
	}
	if model.Status == http.StatusUnsupportedMediaType {
		texts = append(texts, "send the header Content-Type: application/json")
	}
	return NewError(model.Status, codeOf(model.Status), strings.Join(texts, "; ")), nil
}

// WriteError answers a request that the API library does not handle.
func WriteError(w http.ResponseWriter, e *Error) { WriteErrorAs(w, e, e) }

// WriteErrorAs answers with an error in another shape.
func WriteErrorAs(w http.ResponseWriter, e *Error, body any) {
	e.setHeaders(w.Header())
	WriteJSON(w, e.Status, body)
}

// WriteJSON answers with a JSON body. If writing fails, the caller has gone.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller has gone
}

// Printable is the beginning of a text that a caller has sent, safe to put into a message or the audit trail.
func Printable(text string) string {
	const limit = 100
	if len(text) > limit {
		text = text[:limit]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}
