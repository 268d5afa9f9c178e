package work

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"sluice/adapters"
	"sluice/policy"
	"sluice/router/usertext"
	"sluice/sessions"
)

const (
	// threadTimeout bounds reading a thread, so that a slow platform does not delay the answer for longer.
	threadTimeout = 20 * time.Second
	// threadMax is how many messages of a thread an agent reads, including the first one. Their size is limited
	// together with the message's other quotations.
	threadMax = 50
)

// earlierMessages reads the earlier messages of a run's thread, for a session that is new to the thread. If the thread can't
// be read, a quotation says so, and the message is still answered.
func earlierMessages(ctx context.Context, a adapters.Adapter, run *sessions.Run, log *slog.Logger) []sessions.Quotation {
	reader, able := a.(adapters.ThreadReader)
	if !run.Input.NewThread || !able {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, threadTimeout)
	defer cancel()
	said, err := reader.ReadThread(ctx, run.Route, run.Input.MessageID, threadMax)
	if err != nil {
		log.Warn("thread not read", "run", string(run.ID), "channel", run.Route.Channel, "err", err)
		return []sessions.Quotation{{Kind: sessions.QuoteThread, From: sessions.Peer{Name: "the gateway"}, Text: "The earlier messages of this thread could not be read."}}
	}
	return unheard(said[:min(len(said), threadMax)], run.Input.History)
}

// unheard are the messages of a thread that are missing in the history of its session.
func unheard(said []adapters.ThreadMessage, history []sessions.HistoryLine) []sessions.Quotation {
	var all []sessions.Quotation
	for _, m := range said {
		if !slices.ContainsFunc(history, func(l sessions.HistoryLine) bool { return l.MessageID == m.ID }) {
			all = append(all, sessions.Quotation{Kind: sessions.QuoteThread, From: m.From, Text: cmp.Or(m.Text, "(no text)"), Files: m.Files})
		}
	}
	return all
}

// readThread puts the earlier messages of a thread before the message. Their label is that of anybody's words there.
func (in *intake) readThread(ctx context.Context, run *sessions.Run) {
	a, ok := in.adapter(run.Route.Channel, run.Route.Account)
	if !ok {
		return
	}
	before := earlierMessages(ctx, a, run, in.log)
	if len(before) == 0 {
		return
	}
	run.Input.Quotations = usertext.CutQuotations(append(before, run.Input.Quotations...), usertext.MaxQuoted)
	run.Label = run.Label.Join(in.places.Label(run.Route, policy.CheckThread.Skipped()))
}
