package inbound

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sluice/router/ledger"
	"sluice/sessions"
)

// causedBy adds to the details of audit entries which event caused them, and the gateway's answer to it: what was done with a
// command then leads to that command.
func causedBy(event *ledger.Event, entries []sessions.AuditEntry) ([]sessions.AuditEntry, error) {
	caused := make([]sessions.AuditEntry, len(entries))
	for i, e := range entries {
		detail, err := json.Marshal(e.Detail)
		if err != nil {
			return nil, fmt.Errorf("detail of audit entry %s: %w", e.Action, err)
		}
		cause, err := json.Marshal(struct {
			Event  string            `json:"event"`
			Answer ledger.DeliveryID `json:"answer,omitempty"`
		}{event.Key, event.Notice})
		if err != nil {
			return nil, fmt.Errorf("cause of audit entry %s: %w", e.Action, err)
		}
		if own, isObject := bytes.CutSuffix(detail, []byte("}")); isObject && len(own) > 1 {
			cause = append(append(own, ','), cause[1:]...)
		} else if !isObject && e.Detail != nil {
			cause = detail // details of another form stay as they are
		}
		e.Detail = json.RawMessage(cause)
		caused[i] = e
	}
	return caused, nil
}
