package transcript

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	sessionsPage = 200
	messagesPage = 500
)

// Source is a store that is exported.
type Source interface {
	ListSessions(ctx context.Context, q ledger.SessionQuery) ([]sessions.Record, error)
	// SessionMessages reads the messages of a session in the order in which they were stored, from after a message.
	SessionMessages(ctx context.Context, id sessions.ID, after sessions.MessageID, limit int) ([]sessions.Message, error)
}

// Counts are how many sessions and messages an export or import has handled.
type Counts struct{ Sessions, Messages int }

// Export writes the sessions of an agent, or of all agents, up to a level. Sessions that were reset or deleted are left out.
func Export(ctx context.Context, from Source, to io.Writer, version string, now time.Time, agent string, level flow.Level) (Counts, error) {
	var n Counts
	buffered := bufio.NewWriterSize(to, 1<<16)
	out := json.NewEncoder(buffered)
	out.SetEscapeHTML(false)
	if err := out.Encode(line{Sluice: &Head{Format: Format, Version: version, Created: now.UTC()}}); err != nil {
		return n, err
	}
	for _, archived := range []bool{false, true} {
		q := ledger.SessionQuery{Agent: agent, Archived: archived, MaxLevel: level, Limit: sessionsPage}
		for {
			page, err := from.ListSessions(ctx, q)
			if err != nil {
				return n, fmt.Errorf("list sessions: %w", err)
			}
			for i := range page {
				if err := exportOne(ctx, from, out, &page[i], level, &n); err != nil {
					return n, err
				}
				q.After = page[i].ID
			}
			if len(page) < sessionsPage {
				break
			}
		}
	}
	if err := out.Encode(line{End: &end{n.Sessions, n.Messages}}); err != nil {
		return n, err
	}
	return n, buffered.Flush()
}

func exportOne(ctx context.Context, from Source, out *json.Encoder, r *sessions.Record, level flow.Level, n *Counts) error {
	n.Sessions++
	if err := out.Encode(line{Session: sessionOf(r, level)}); err != nil {
		return err
	}
	after := sessions.MessageID("")
	for {
		page, err := from.SessionMessages(ctx, r.ID, after, messagesPage)
		if err != nil {
			return fmt.Errorf("read messages of %s: %w", r.ID, err)
		}
		for i := range page {
			if !page[i].Label.FlowsTo(level) {
				return fmt.Errorf("session %s has learnt something above %s during the export: repeat it", r.ID, level)
			}
			if err := out.Encode(line{Message: messageOf(&page[i])}); err != nil {
				return err
			}
			after = page[i].ID
		}
		if n.Messages += len(page); len(page) < messagesPage {
			return nil
		}
	}
}
