package telegramtest

import (
	"encoding/json"
	"net/http"
)

// apiError is the Bot API's answer to a call that it refuses.
type apiError struct {
	Code        int
	Description string
	RetryAfter  int   // seconds, with 429
	MigrateTo   int64 // new chat id of a migrated group
}

func badRequest(description string) *apiError {
	return &apiError{Code: 400, Description: "Bad Request: " + description}
}

func writeError(w http.ResponseWriter, e apiError) {
	type parameters struct {
		RetryAfter int   `json:"retry_after,omitempty"`
		MigrateTo  int64 `json:"migrate_to_chat_id,omitempty"`
	}
	answer := struct {
		OK          bool        `json:"ok"`
		Code        int         `json:"error_code"`
		Description string      `json:"description"`
		Parameters  *parameters `json:"parameters,omitempty"`
	}{Code: e.Code, Description: e.Description}
	if e.RetryAfter != 0 || e.MigrateTo != 0 {
		answer.Parameters = &parameters{e.RetryAfter, e.MigrateTo}
	}
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(e.Code)
	_ = json.NewEncoder(w).Encode(answer) // the caller may have gone
}
