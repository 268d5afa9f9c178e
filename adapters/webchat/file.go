package webchat

import (
	"context"
	"fmt"

	"sluice/adapters"
	"sluice/sessions"
)

var _ adapters.FileSender = (*Adapter)(nil)

// MaxFile is the largest file, in bytes: the most that limits.maxMediaBytes may be.
const MaxFile = 256 << 20

// SendFile tells the page that a delivery has brought a file. The page reads
// which files those are from the delivery, and their content from the gateway
// when somebody wants it, so that none is read here.
func (a *Adapter) SendFile(_ context.Context, out adapters.Outbound, f adapters.File) (adapters.Receipt, error) {
	if f.Size > MaxFile {
		return adapters.Receipt{}, &adapters.Failure{
			Kind: adapters.TooLarge, Certain: true, Err: fmt.Errorf("%q has %d bytes; the page accepts at most %d", f.Name, f.Size, MaxFile),
		}
	}
	now := a.now()
	if out.Session != "" {
		a.emit(sessions.Event{Session: out.Session, Type: sessions.EventNotice, Text: out.Text, File: f.Name, Delivery: out.DeliveryID, At: now, Label: out.Label})
	}
	return adapters.Receipt{MessageID: sessions.PlatformMessageID(out.DeliveryID), At: now}, nil
}
