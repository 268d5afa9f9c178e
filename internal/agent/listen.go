package agent

import (
	"context"
	"fmt"
)

// skipped is the result of a call that was not started because a new message arrived.
const skipped = "skipped: a newer message came before this call ran"

// listen gives the run the messages that arrived since it started.
func (w *work) listen(ctx context.Context) error {
	if w.inbox == nil {
		return nil
	}
	if _, err := w.inbox.Take(ctx); err != nil {
		return fmt.Errorf("take new messages: %w", err)
	}
	return nil
}

// skip says before each tool call whether new messages must be read first.
func (w *work) skip(ctx context.Context) (string, error) {
	if w.inbox == nil {
		return "", nil
	}
	waiting, err := w.inbox.Waiting(ctx)
	if err != nil || !waiting {
		return "", err
	}
	return skipped, nil
}
