package openai

import (
	"context"
	"net/http"
	"strings"

	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/wire"
	"sluice/sessions"
)

// sink writes a turn in the form of one endpoint. An error means that the client has gone.
type sink interface {
	begin() error
	beat() error
	// add adds text to the reply. With next it begins a new message, because the agent has called tools since the last one.
	add(text string, next bool) error
	// end ends a reply. All of its text was added.
	end(end conversation.End) error
	// fail ends a stream without a reply.
	fail(why *wire.Error) error
}

// listener makes the stream of a turn from its events.
type listener struct {
	to sink

	text strings.Builder // of the message that is being written
	past string          // the text of the message before it
	next bool            // the next text begins another message
	said bool            // any text was sent
	over bool
}

var _ conversation.Audience = (*listener)(nil)

// streamTurn sends a turn while the agent works.
func (a *API) streamTurn(ctx context.Context, w http.ResponseWriter, got *conversation.Started, form func(out *wire.Stream) sink) error {
	out, err := wire.NewDataStream(w)
	if err != nil {
		return nil //nolint:nilerr // the caller has gone
	}
	l := &listener{to: form(out)}
	err = l.to.begin()
	if err == nil {
		err = a.Turns.Follow(ctx, got, l)
	}
	switch {
	case l.over:
	case err != nil:
		_ = l.to.fail(a.Problem(err)) // the caller has gone
	default:
		_ = l.to.fail(errCut) // the caller has gone
	}
	return nil
}

// Beat implements [conversation.Audience].
func (l *listener) Beat() error { return l.to.beat() }

// Show implements [conversation.Audience].
func (l *listener) Show(e conversation.EventRecord) error {
	switch {
	case isLast(e):
		l.over = true
		return l.end(conversation.EndOf(e))
	case e.Type == sessions.EventDelta:
		return l.add(e.Text)
	case e.Type == sessions.EventToolCall && l.text.Len() > 0: // the text before the call is a message of its own
		l.past, l.next = strings.TrimSpace(l.text.String()), true
		l.text.Reset()
	case e.Type == sessions.EventRetrying && l.text.Len() > 0:
		l.over = true
		_ = l.to.fail(errRestarted) // the caller has gone
		return errOver
	}
	return nil
}

func (l *listener) add(text string) error {
	if text == "" {
		return nil
	}
	next := l.next
	l.next, l.said = false, true
	l.text.WriteString(text)
	return l.to.add(text, next)
}

// end sends what is missing of the reply, which was decided as a whole now, and ends the stream.
func (l *listener) end(end conversation.End) error {
	if failed := failure(end); failed != nil {
		return l.to.fail(failed)
	}
	rest, ok := strings.CutPrefix(end.Text, strings.TrimSpace(l.text.String()))
	switch {
	case len(end.Calls) > 0 && l.text.Len() == 0 && l.past != "" && l.past == strings.TrimSpace(end.Text): // it was sent before the calls
		rest = ""
	case end.Withheld != nil: // the gateway's notice is a message of its own
		rest, l.next = end.Text, l.said
	case !ok && end.Text != "": // the bus has lost a part of the text
		return l.to.fail(errCut)
	}
	if err := l.add(rest); err != nil {
		return err
	}
	return l.to.end(end)
}
