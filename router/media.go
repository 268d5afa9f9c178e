package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"time"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Media is a file that came in or goes out, with its content.
type Media struct {
	ID      sessions.MediaID
	Session sessions.ID // whose conversation it came in with; empty for one that a program gave
	Name    string
	MIME    string
	Size    int64  // bytes
	SHA256  string // of the content, in hex
	Content []byte // nil in what lists and heads give
	Label   flow.Label
	Created time.Time
	// Expires is when it may be swept, unless a delivery that is not done still has it.
}

// postFile sends a file as a message of its own.
func (w *outboxWorker) postFile(ctx context.Context, a adapters.Adapter, out adapters.Outbound, d Delivery, id sessions.MediaID) (adapters.Receipt, error) {
	sender, ok := a.(adapters.FileSender)
	if !ok {
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Unsupported, Certain: true, Err: errors.New("this channel can't take files")}
	}
	m, err := w.store.Media(ctx, id)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: fmt.Errorf("file %s is not kept any more", id)}
	case err != nil:
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: fmt.Errorf("read file: %w", err)}
	}
	return sender.SendFile(ctx, out, adapters.File{
		Name: d.fileName(m), MIME: m.MIME, Size: m.Size,
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.Content)), nil },
	})
}

// FileName is the name under which the file goes out; what came without one, as pictures do, gets one of its type.
func (m Media) FileName() string {
	if m.Name != "" {
		return m.Name
	}
	if endings, err := mime.ExtensionsByType(m.MIME); err == nil && len(endings) > 0 {
		return "file" + endings[0]
	}
	return "file"
}

// memoryBatch is how many memories one sweep ends and deletes.
const memoryBatch = 1000

// sweepMemories ends memories whose time is over. Nobody reads them before that either.
func (r *Router) sweepMemories(ctx context.Context) {
	if _, err := r.store.SweepMemories(ctx, r.now(), memoryBatch); err != nil && ctx.Err() == nil {
		r.log.Error("expired memories not ended", "err", err)
	}
}
