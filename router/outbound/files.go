package outbound

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
)

// postFile sends a file as a separate message.
func (w *worker) postFile(ctx context.Context, a adapters.Adapter, out adapters.Outbound, d ledger.Delivery, id sessions.MediaID) (adapters.Receipt, error) {
	sender, ok := a.(adapters.FileSender)
	if !ok {
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Unsupported, Certain: true, Err: errors.New("this channel does not support files")}
	}
	m, err := w.out.Store.Media(ctx, id)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: fmt.Errorf("file %s is no longer stored", id)}
	case err != nil:
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: fmt.Errorf("read file: %w", err)}
	}
	return sender.SendFile(ctx, out, adapters.File{
		Name: d.FileName(m), MIME: m.MIME, Size: m.Size,
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.Content)), nil },
	})
}
