package inbound

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sluice/router/commands"
	"sluice/router/ledger"
	"sluice/router/limits"
	"sluice/router/place"
	"sluice/sessions"
)

// Limits counts messages, see [limits.Counter].
type Limits interface {
	// Count returns a *[limits.Reached] if a limit is reached.
	Count(ctx context.Context, all ...ledger.LimitCount) error
}

// unstoredMax is how many events are remembered that were counted and could not be stored.
const unstoredMax = 1000

// unstored are events that were counted towards limits and could not be stored afterwards: their platforms deliver them again, and
// they are not counted again. Beyond the maximum, the oldest are forgotten. The zero value is ready to use.
type unstored struct {
	mu   sync.Mutex
	keys []string // the oldest first
}

func (u *unstored) keep(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.keys) == unstoredMax {
		u.keys = slices.Delete(u.keys, 0, 1)
	}
	u.keys = append(u.keys, key)
}

// take forgets an event, and reports whether it was remembered.
func (u *unstored) take(key string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := slices.Index(u.keys, key)
	if at < 0 {
		return false
	}
	u.keys = slices.Delete(u.keys, at, at+1)
	return true
}

// newOverLimit is overLimit for messages that are not edits. An edit is counted later, when it is known that it changes something.
func newOverLimit(ctx context.Context, i *Intake, s *place.Settings, in Admission, run sessions.Run, record sessions.Record) (*Admitted, error) {
	if in.Edited {
		return nil, nil
	}
	return overLimit(ctx, i, s, in, run, record)
}

// overLimit counts the message of a run, once in all tries of its admission. If a limit is reached, it returns the event's
// result. The error of a repeated event is ErrDuplicate. A conversation is counted by its key, so that a new session is not
// a new count.
func overLimit(ctx context.Context, i *Intake, s *place.Settings, in Admission, run sessions.Run, record sessions.Record) (*Admitted, error) {
	if in.counted == nil || *in.counted || in.ordersOnly() {
		return nil, nil
	}
	switch _, err := i.Store.Event(ctx, run.EventKey); {
	case err == nil:
		return nil, fmt.Errorf("event %s: %w", in.Event, sessions.ErrDuplicate)
	case !errors.Is(err, sessions.ErrNotFound):
		return nil, fmt.Errorf("read event: %w", err)
	}
	level := run.Label.Level()
	err := i.Limits.Count(
		ctx,
		ledger.LimitCount{Kind: ledger.LimitPerson, Name: personOf(s, in), Level: level, Rate: s.Limits.Person},
		ledger.LimitCount{Kind: ledger.LimitConversation, Name: string(record.Key), Level: level, Rate: s.Limits.Conversation},
		ledger.LimitCount{Kind: ledger.LimitAgent, Name: record.Agent, Level: level, Rate: s.Limits.Agent},
	)
	reached, ok := errors.AsType[*limits.Reached](err)
	if !ok {
		*in.counted = err == nil
		return nil, err
	}
	return refuseLimited(ctx, i, in, reached)
}

// personOf names the sender of an event, whose ids may be linked.
func personOf(s *place.Settings, in Admission) string {
	if name, ok := s.Keyer.Links[in.speaker()]; ok {
		return "linked/" + name
	}
	return in.speaker()
}

// refuseLimited refuses a message above a limit. A program gets the error. A person is told once in each chat and window, whatever
// the thread, so that the notices are no flood; and in answer to the platform's menu.
func refuseLimited(ctx context.Context, i *Intake, in Admission, reached *limits.Reached) (*Admitted, error) {
	i.Metrics.Ignored.WithLabelValues(in.Route.Channel, "limit").Inc()
	if in.overAPI() {
		return nil, reached
	}
	i.Refused.Note(in.Inbound, reached.Reason())
	notice := i.Composer.Notice(in.Route, reached.Error())
	if !commands.FromMenu(in.Inbound) {
		chat := in.Route
		chat.Thread = ""
		notice.Idempotency = strings.Join([]string{"limit", string(reached.Kind), in.speaker(), string(chat.Lane()), reached.Until.UTC().Format("20060102T150405.000000")}, "/")
		told, err := i.wasSent(ctx, notice.Idempotency)
		if err != nil {
			return nil, err
		}
		if told {
			return &Admitted{Outcome: ledger.OutcomeIgnored}, nil
		}
	}
	err := i.commitEvent(ctx, in, ledger.OutcomeIgnored, ledger.Change{Deliver: []ledger.Delivery{notice}})
	return &Admitted{Outcome: ledger.OutcomeIgnored, Notice: notice.Text, NoticeID: notice.ID}, err
}
