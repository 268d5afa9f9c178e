package senders

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/alert/intake"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/wire"
)

// PagerDutyAPI takes events that are meant for PagerDuty's Events API v2. A token of the gateway stands for the
// routing key.
type PagerDutyAPI struct {
	Alerts   Alerts
	Tokens   *auth.Tokens
	Denials  *denials.Trail
	Pace     *Pace
	Bodies   *wire.Unknown
	Problem  func(err error) *wire.Error
	Defaults func() intake.Defaults
}

// enqueued is an answer in PagerDuty's form.
type enqueued struct {
	Status  string   `json:"status"`
	Message string   `json:"message"`
	Key     string   `json:"dedup_key,omitempty"`
	Errors  []string `json:"errors,omitempty"`
}

// DescribeEnqueue describes the operation in the OpenAPI document.
func DescribeEnqueue(r huma.API) huma.Operation {
	o := wire.Op(http.MethodPost, enqueuePath, "pd-enqueue", "Report an event as to PagerDuty; routing_key is a token of the gateway", http.StatusAccepted)
	answer := map[string]*huma.MediaType{"application/json": {Schema: wire.Schema[enqueued](r)}}
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject, Description: "as in the description of PagerDuty's Events API v2"}}}}
	o.Responses = map[string]*huma.Response{"202": {Description: "Accepted", Content: answer}, "default": {Description: "Error", Content: answer}}
	o.Security = []map[string][]string{{}}
	return o
}

// Enqueue takes an event. The answer comes after it is stored.
func (a *PagerDutyAPI) Enqueue(w http.ResponseWriter, r *http.Request) error {
	err := a.enqueue(w, r)
	switch {
	case errors.Is(err, intake.ErrUnreadable):
		wire.WriteJSON(w, http.StatusBadRequest, enqueued{Status: "Unrecognized object", Message: "Event object format is unrecognized", Errors: []string{err.Error()}})
	case err != nil:
		told := a.Problem(err)
		wire.WriteJSON(w, told.Status, enqueued{Status: told.Code, Message: told.Message})
	}
	return nil
}

func (a *PagerDutyAPI) enqueue(w http.ResponseWriter, r *http.Request) error {
	body, done, err := a.Bodies.Read(w, r, enqueueMax)
	defer done()
	if err != nil {
		return err
	}
	key, err := intake.RoutingKey(body)
	if err != nil {
		return err
	}
	who, err := a.Tokens.Bearer(r.Context(), key)
	if err != nil && !errors.Is(err, auth.ErrUnknown) {
		return err
	}
	if err != nil || who.Role == auth.RoleViewer {
		fault := "'routing_key' is missing or blank"
		if key != "" {
			a.Denials.WrongToken(r)
			fault = "'routing_key' is not a token of this gateway that may send alerts: want one of gateway.tokens with the role sender"
		}
		invalid(w, fault)
		return nil
	}
	return a.take(w, r, who, body)
}

// take takes the event of a known sender.
func (a *PagerDutyAPI) take(w http.ResponseWriter, r *http.Request, who auth.Caller, body []byte) error {
	if err := a.Pace.take(w, who, 1); err != nil {
		return err
	}
	event, faults, err := intake.PagerDuty(body, a.Defaults())
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		invalid(w, faults...)
		return nil
	}
	label, err := who.SentLabel(r.Header.Get(LabelHeader))
	if err != nil {
		return err
	}
	if event.Key == "" {
		event.Key = newKey()
	}
	key := event.Key
	if err := report(auth.Admit(r, who).Context(), a.Alerts, sender(who, "pagerduty", label), []intake.Event{event}); err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusAccepted, enqueued{Status: "success", Message: "Event processed", Key: key})
	return nil
}

// invalid answers with what is wrong with an event.
func invalid(w http.ResponseWriter, faults ...string) {
	wire.WriteJSON(w, http.StatusBadRequest, enqueued{Status: "invalid event", Message: "Event object is invalid", Errors: faults})
}

// newKey is the key of an alert whose sender names none.
func newKey() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails, see crypto/rand
	return hex.EncodeToString(random)
}
