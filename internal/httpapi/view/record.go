package view

import (
	"context"
	"time"

	"sluice/router/ledger"
	"sluice/sessions"
)

// Optional is a time as a field that is left out if it is zero.
func Optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// PublicRoute is a route without the platform's handle, which would let others answer in the gateway's place.
func PublicRoute(r sessions.Route) sessions.Route {
	r.Handle = ""
	return r
}

// OptionalRoute is a public route as a field that is left out if it is zero.
func OptionalRoute(r sessions.Route) *sessions.Route {
	if r.IsZero() {
		return nil
	}
	r = PublicRoute(r)
	return &r
}

// OpenButtons are the buttons of a delivery that still have an effect.
func OpenButtons(d ledger.Delivery) []sessions.Button {
	if len(d.Controls) > 0 && d.Asks == "" {
		return nil // the question has been decided
	}
	return d.ShownButtons()
}

// MediaRecord is a file as programs see it.
type MediaRecord struct {
	ID   sessions.MediaID `json:"id"`
	Name string           `json:"name,omitempty" doc:"absent: the file is no longer kept"`
	MIME string           `json:"mime,omitempty"`
	Size int64            `json:"size,omitempty" doc:"bytes"`
}

// MediaInfo reads a file without its content.
type MediaInfo interface {
	MediaInfo(ctx context.Context, id sessions.MediaID) (ledger.Media, error)
}

// FileNames reads what the files of deliveries are called.
type FileNames struct{ Rows MediaInfo }

// Of lists the files of a delivery. A file that is no longer kept has only its id.
func (n FileNames) Of(ctx context.Context, d ledger.Delivery) []MediaRecord {
	var out []MediaRecord
	for _, id := range d.Files {
		record := MediaRecord{ID: id}
		if m, err := n.Rows.MediaInfo(ctx, id); err == nil {
			record.Name, record.MIME, record.Size = m.FileName(), m.MIME, m.Size
		}
		out = append(out, record)
	}
	return out
}
