package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"sluice/internal/visible"
	"sluice/router/ledger"
	"sluice/router/trigger"
	"sluice/sessions"
)

// Checks has what checks find, see [checks.Checks].
type Checks interface {
	// Ask gives what checks have found at or after a time. Pending: it is not known yet, so ask again.
	Ask(ctx context.Context, names []string, since time.Time) (found []ledger.Check, pending bool, err error)
}

// errNoChecks is the failure of a job with checks on a gateway that has none.
var errNoChecks = errors.New("the job has checks, and this gateway has none")

// askAgain is the pause before checks that still look are asked again.
const askAgain = 2 * time.Second

// askMax is how long an instant waits for its checks. One check takes less.
const askMax = 2 * time.Minute

// ask asks the checks of a job. A trigger whose checks still look notes since when it asks.
func (s *Source) ask(ctx context.Context, job *Job, t *ledger.Trigger, since time.Time) (found []ledger.Check, pending bool, err error) {
	if s.Checks == nil {
		return nil, false, errNoChecks
	}
	if !t.Asked.IsZero() {
		since = t.Asked
	}
	found, pending, err = s.Checks.Ask(ctx, job.Checks, since)
	switch {
	case !pending:
		t.Asked = time.Time{}
	case t.Asked.IsZero():
		t.Asked = s.Now()
	}
	return found, pending, err
}

// look asks the checks of an instant. If they have news, the trigger has them in Found. With news or wakes there is no effect yet.
func (s *Source) look(ctx context.Context, job *Job, t *ledger.Trigger) (*trigger.Effect, error) {
	if len(job.Checks) == 0 {
		return nil, nil
	}
	found, pending, err := s.ask(ctx, job, t, t.Instant)
	switch {
	case err != nil:
		return nil, err
	case pending && s.Now().Sub(t.Asked) < askMax:
		return &trigger.Effect{Wait: askAgain}, nil
	case pending: // such as a replica that is stopping: the next instant asks again
		t.Asked = time.Time{}
	default:
		t.Seen, t.Found = newsFor(t.Seen, found)
	}
	if len(t.Found)+len(t.Wakes) == 0 {
		return new(s.pass(job, t)), nil
	}
	tell(t)
	return nil, nil
}

// tell gives a trigger the label of its news.
func tell(t *ledger.Trigger) {
	for _, n := range t.Found {
		t.Label = t.Label.Join(n.Label)
	}
}

// newsFor returns the findings of checks that are new to somebody who has seen this number of changes of each.
func newsFor(seen map[string]int64, found []ledger.Check) (now map[string]int64, news []ledger.TriggerNews) {
	now = maps.Clone(seen)
	if now == nil {
		now = map[string]int64{}
	}
	for _, c := range found {
		if c.Hash == "" {
			continue // it has not found anything yet
		}
		before, known := seen[c.Name]
		now[c.Name] = c.News
		if known && c.News > before || !known && c.Tells {
			news = append(news, newsOf(&c))
		}
	}
	return now, news
}

func newsOf(c *ledger.Check) ledger.TriggerNews {
	return ledger.TriggerNews{Check: c.Name, Value: c.Value, Before: c.Before, Label: c.Label}
}

// pass lets an instant pass without a record: its trigger waits for the next one.
func (s *Source) pass(job *Job, t *ledger.Trigger) trigger.Effect {
	t.Asked, t.Found = time.Time{}, nil
	next, ok := job.after(t.Anchor, t.Instant)
	if !ok {
		return trigger.Effect{End: ledger.TriggerFiltered, Why: "its checks had no news", Stored: s.Metrics.Passed.Inc}
	}
	t.Instant = next
	return trigger.Effect{Wait: max(next.Add(job.delay()).Sub(s.Now()), time.Millisecond), Stored: s.Metrics.Passed.Inc}
}

// byHand fires a job that somebody fires by hand. If it has checks, it tells what they find, whether or not that is news.
func (s *Source) byHand(ctx context.Context, job *Job, t *ledger.Trigger) (trigger.Effect, error) {
	if len(job.Checks) > 0 && t.Attempts == 0 {
		found, pending, err := s.ask(ctx, job, t, t.Instant)
		switch {
		case err != nil:
			return trigger.Effect{}, err
		case pending:
			return trigger.Effect{Wait: askAgain}, nil
		}
		t.Found = nil
		for _, c := range found {
			if c.Hash != "" {
				t.Found = append(t.Found, newsOf(&c))
			}
		}
		tell(t)
	}
	job, _ = s.asking(job, t)
	return s.effect(job, t), nil
}

// quotation is news as the model sees it.
func quotation(n *ledger.TriggerNews) sessions.Quotation {
	text := n.Value
	if n.Before != "" {
		text += "\n(before: " + n.Before + ")"
	}
	return sessions.Quotation{Kind: sessions.QuoteCheck, From: sessions.Peer{Name: n.Check}, Text: text}
}

// newsText is news as people read it.
func newsText(news []ledger.TriggerNews) string {
	var all []string
	for _, n := range news {
		text := "The check `" + n.Check + "` finds " + shown(n.Value)
		if n.Before != "" {
			text += "; before: " + shown(n.Before)
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return "The checks of the job have not found anything yet: `sluice checks list` shows why."
	}
	return strings.Join(all, "\n")
}

// shownMax is how much of a value people read in a message, in bytes.
const shownMax = 300

// shown is a value as code, on one line.
func shown(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) != nil {
		text = value
	}
	text = visible.Line(strings.ReplaceAll(text, "`", "'"))
	if len(text) > shownMax {
		text = strings.ToValidUTF8(text[:shownMax], "") + "…"
	}
	return "`" + cmp.Or(strings.TrimSpace(text), " ") + "`"
}
