package senders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/alert/intake"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/internal/markdown"
	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/request"
)

// noteMax bounds the body of a note in bytes: JSON escapes can make a text six times as long. keyMax bounds its key.
const (
	noteMax = 6*intake.NoteMax + 4<<10
	keyMax  = 200
)

// LabelHeader says how secret a note or an alert is. It can only raise the level of a named token.
const LabelHeader = "Sluice-Label"

// Target is a place for notes.
type Target struct{ Channel, Account, To, Thread string }

// Targets finds a place by its name: owner, or a name from targets.
type Targets func(name string) (Target, bool)

// Outbox sends messages.
type Outbox interface {
	// Send queues a message that answers nothing.
	Send(ctx context.Context, p outbound.Proactive) (ledger.Delivery, error)
}

// NotifyAPI sends notes: plain texts to a named place.
type NotifyAPI struct {
	Visible *view.Visibility
	Targets Targets
	Outbox  Outbox
	Pace    *Pace
}

// sent is the answer to a note.
type sent struct {
	ID     ledger.DeliveryID     `json:"id" doc:"of the delivery: GET /v1/deliveries/{id} shows what happened to it"`
	Status ledger.DeliveryStatus `json:"status"`
}

// DescribeNotify describes the operation in the OpenAPI document.
func DescribeNotify(r huma.API) huma.Operation {
	text := func(name, doc string) *huma.Param {
		return &huma.Param{Name: name, In: "header", Description: doc, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	o := wire.Op(http.MethodPost, notifyPath+"/{target}", "notify", "Send a plain text to a place; the headers are ntfy's", http.StatusAccepted)
	o.Parameters = []*huma.Param{
		{Name: "target", In: "path", Required: true, Description: "owner, or a name from targets", Schema: &huma.Schema{Type: huma.TypeString}},
		text("Title", "above the text"), text("Priority", "1 to 5, or min, low, default, high, urgent"), text("Tags", "words with commas between them"), text("Click", "a web address"),
		text(LabelHeader, "level of the text; default and least for a named token: the token's level; default for the gateway's own token: PUBLIC"),
		text("Idempotency-Key", "the same key again is the same note, sent once"),
	}
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}, "application/json": {Schema: &huma.Schema{Type: huma.TypeObject, Description: "message, title, priority, tags, click"}},
	}}
	o.Responses = wire.Responses(http.StatusNotFound, nil)
	o.Responses["202"] = &huma.Response{Description: "Accepted: stored, and sent as soon as the platform takes it", Content: map[string]*huma.MediaType{"application/json": {Schema: wire.Schema[sent](r)}}}
	delete(o.Responses, "200")
	return o
}

// Send sends a note. The answer comes after the note is stored.
func (a *NotifyAPI) Send(w http.ResponseWriter, r *http.Request) error {
	who := auth.CallerOf(r.Context())
	n, label, err := readNote(w, r, a.Pace)
	if err != nil {
		return err
	}
	place, ok := a.Targets(r.PathValue("target"))
	if !ok {
		return wire.NewError(http.StatusNotFound, wire.ErrNotFound.Code, fmt.Sprintf("no target %q: want owner, or a name from targets in the configuration", wire.Printable(r.PathValue("target"))))
	}
	d, err := a.Outbox.Send(r.Context(), outbound.Proactive{
		Channel: place.Channel, Account: place.Account, To: place.To, Thread: place.Thread, Text: shown(n), Label: label,
		Idempotency: who.Key(r.Header.Get("Idempotency-Key")), Reader: who.Level, Actor: who.Actor(),
	})
	if err != nil {
		return a.failure(r, place, err)
	}
	wire.WriteJSON(w, http.StatusAccepted, sent{d.ID, d.Status})
	return nil
}

// failure is why a note could not be sent. Who may not know of the target's channel learns only that the target is faulty.
func (a *NotifyAPI) failure(r *http.Request, place Target, err error) error {
	if _, known := errors.AsType[*request.Error](err); !known || a.Visible.ChannelSeen(r.Context(), place.Channel, place.Account) {
		return err
	}
	a.Visible.NoteChannel(r.Context(), "channel", place.Channel, place.Account, "")
	return wire.Invalid("the target " + r.PathValue("target") + " cannot be reached: the owner of the gateway finds the cause with sluice doctor")
}

// readNote reads a note and the label that its sender gives it, unless the sender has sent too many.
func readNote(w http.ResponseWriter, r *http.Request, pace *Pace) (intake.Note, flow.Label, error) {
	who := auth.CallerOf(r.Context())
	if err := pace.take(w, who, 1); err != nil {
		return intake.Note{}, flow.Label{}, err
	}
	body, err := readBody(r)
	if err != nil {
		return intake.Note{}, flow.Label{}, err
	}
	n, err := intake.Plain(r.Header, body)
	if errors.Is(err, intake.ErrTooLong) {
		return n, flow.Label{}, wire.TooLarge(err.Error())
	}
	if err != nil {
		return n, flow.Label{}, wire.BadRequest(err.Error())
	}
	label, err := who.SentLabel(r.Header.Get(LabelHeader))
	return n, label, err
}

// readBody reads a whole body; the guard has bounded it.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, wire.TooLarge(fmt.Sprintf("the body is larger than %d bytes", large.Limit))
	}
	if err != nil {
		return nil, wire.BadRequest("the body could not be read: " + err.Error())
	}
	return body, nil
}

// shown is a note as Markdown that shows it letter by letter, with invisible characters made visible.
func shown(n intake.Note) string {
	text := markdown.Escape(visible.Text(n.Text))
	title := visible.Line(n.Title)
	switch {
	case title != "":
		text = n.Severity().Sign() + "**" + markdown.Escape(title) + "**\n" + text
	default:
		text = n.Severity().Sign() + text
	}
	if len(n.Tags) > 0 {
		text += "\n" + markdown.Escape("["+visible.Line(strings.Join(n.Tags, ", "))+"]")
	}
	if n.Click != "" {
		text += "\n" + markdown.Escape(visible.Line(n.Click))
	}
	return text
}

// NoteAPI takes notes without a target as alerts: the routes say whom they reach.
type NoteAPI struct {
	Alerts   Alerts
	Pace     *Pace
	Defaults func() intake.Defaults
}

// DescribeNote describes the operation in the OpenAPI document.
func DescribeNote(r huma.API) huma.Operation {
	o := DescribeNotify(r)
	o.Path, o.OperationID, o.Summary = notifyPath, "notify-alert", "Report an alert as a plain text; the headers are ntfy's, and the routes say whom it reaches"
	o.Parameters = o.Parameters[1:]
	return o
}

// Take takes a note as an alert. The answer comes after it is stored.
func (a *NoteAPI) Take(w http.ResponseWriter, r *http.Request) error {
	who := auth.CallerOf(r.Context())
	n, label, err := readNote(w, r, a.Pace)
	if err != nil {
		return err
	}
	e := n.Event(a.Defaults())
	if e.Key = r.Header.Get("Idempotency-Key"); e.Key == "" {
		e.Key = newKey()
	}
	if len(e.Key) > keyMax {
		return wire.BadRequest(fmt.Sprintf("Idempotency-Key has more than %d bytes", keyMax))
	}
	if err := report(r.Context(), a.Alerts, sender(who, "notify", label), []intake.Event{e}); err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusAccepted, map[string]string{"id": who.AlertKey(e.Key)})
	return nil
}
