package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/router"
	"sluice/sessions"
	"sluice/store"
)

// apiError is the body of every answer that is not a success.
type apiError struct {
	status  int
	Code    string `json:"error" doc:"what went wrong, for programs" example:"not_found"`
	Message string `json:"message" doc:"what went wrong and what to do, for people"`
}

// Error implements error.
func (e *apiError) Error() string { return e.Message }

// GetStatus implements [huma.StatusError].
func (e *apiError) GetStatus() int { return e.status }

var (
	errNotFound = &apiError{http.StatusNotFound, "not_found", "there is no such thing here"}
	errForeign  = &apiError{http.StatusForbidden, "cross_site", "another site's page may not use this gateway"}
	errStopping = &apiError{http.StatusServiceUnavailable, "stopping", "the gateway is stopping; try again in a moment"}
	errInternal = &apiError{http.StatusInternalServerError, "internal", "something went wrong inside; the log says what"}
)

func badRequest(message string) *apiError {
	return &apiError{http.StatusBadRequest, "invalid_request", message}
}

// problem says what a failure means to the caller. What is inside goes to the log only.
func (s *Server) problem(err error) *apiError {
	if known, ok := errors.AsType[*apiError](err); ok {
		return known
	}
	if bad, ok := errors.AsType[*router.RequestError](err); ok {
		return badRequest(bad.Error())
	}
	if left, ok := errors.AsType[*router.NotApproverError](err); ok {
		return forbidden(left.Error())
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, router.ErrStopping) { // or the caller has gone and reads nothing
		return errStopping
	}
	if down, ok := errors.AsType[*store.Unavailable](err); ok {
		s.cfg.Log.Error("request failed", "err", err)
		text := "the store is not available: " + down.Reason
		if down.Fix != "" {
			text += "; " + down.Fix
		}
		return &apiError{http.StatusServiceUnavailable, "unavailable", text}
	}
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return errNotFound
	case errors.Is(err, router.ErrBusy):
		return &apiError{http.StatusConflict, "busy", "the session is working on another message; wait for its end, or cancel it"}
	case errors.Is(err, router.ErrQueueFull):
		return &apiError{http.StatusTooManyRequests, "queue_full", "the session's queue is full; try again later"}
	case errors.Is(err, sessions.ErrConflict), errors.Is(err, sessions.ErrFenced):
		return &apiError{http.StatusConflict, "conflict", "somebody else changed it at the same moment; look again"}
	}
	s.cfg.Log.Error("request failed", "err", err)
	return errInternal
}

// codes name the statuses that the API library answers itself.
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

// plainErrors gives the API library's own errors the API's shape: all faults of a request in one message.
func plainErrors(_ huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
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
		texts = append(texts, "send it with the header Content-Type: application/json")
	}
	return &apiError{model.Status, codeOf(model.Status), strings.Join(texts, "; ")}, nil
}

// writeError answers a request that the API library does not handle.
func writeError(w http.ResponseWriter, e *apiError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	_ = json.NewEncoder(w).Encode(e) // the caller has gone
}

// fail answers with what an error means.
func (s *Server) fail(w http.ResponseWriter, err error) { writeError(w, s.problem(err)) }
