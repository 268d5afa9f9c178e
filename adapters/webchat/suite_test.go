package webchat_test

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"testing"
	"time"

	"sluice/adapters"
	"sluice/adapters/adaptertest"
	"sluice/adapters/webchat"
	"sluice/internal/markdown"
	"sluice/sessions"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, func(*testing.T) adaptertest.Platform { return &page{seen: map[string]bool{}} })
}

// page is the page as the suite sees it: it shows the notices of the stream of
// events, each delivery once. What people say does not come in through the
// adapter, and there is no network in between; what that rules out is left to the nil interface.
type page struct {
	adaptertest.Platform

	mu    sync.Mutex
	kept  map[string][]byte // content of files by name, as the gateway has it
	seen  map[string]bool   // deliveries
	shown []adaptertest.Shown
}

func (p *page) Adapter(*testing.T) adapters.Adapter { return keeping{webchat.New(p.take, time.Now), p} }

// keeping has the content of each file before it is sent, as the gateway does, from which the page reads it.
type keeping struct {
	*webchat.Adapter
	page *page
}

func (k keeping) SendFile(ctx context.Context, out adapters.Outbound, f adapters.File) (adapters.Receipt, error) {
	if f.Size <= webchat.MaxFile {
		body, err := f.Open(ctx)
		if err != nil {
			return adapters.Receipt{}, err
		}
		content, err := io.ReadAll(body)
		if err != nil {
			return adapters.Receipt{}, err
		}
		k.page.kept = map[string][]byte{f.Name: content}
	}
	return k.Adapter.SendFile(ctx, out, f)
}

// take reads an event as it goes over the wire.
func (p *page) take(e sessions.Event) {
	frame, _ := json.Marshal(e) // it always marshals
	var got sessions.Event
	_ = json.Unmarshal(frame, &got) // it was marshalled just now
	p.mu.Lock()
	defer p.mu.Unlock()
	if got.Type != sessions.EventNotice || p.seen[got.Delivery] && got.File == "" {
		return
	}
	p.seen[got.Delivery] = true
	var labels []string
	for _, b := range got.Buttons {
		labels = append(labels, b.Label)
	}
	p.shown = append(p.shown, adaptertest.Shown{
		ID: sessions.PlatformMessageID(got.Delivery), Text: got.Text, Plain: markdown.Plain(got.Text), File: got.File, Content: p.kept[got.File], Buttons: labels,
	})
}

func (p *page) Limits() adaptertest.Limits {
	return adaptertest.Limits{Dedupes: true, Rendered: true, File: webchat.MaxFile}
}

func (p *page) Direct() sessions.Route { return webchat.Route() }
func (p *page) Group() sessions.Route  { return sessions.Route{} }
func (p *page) Thread() sessions.Route { return sessions.Route{} }

func (p *page) Shown(sessions.Route) []adaptertest.Shown {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]adaptertest.Shown(nil), p.shown...)
}

// WaitShown needs no waiting: events are shown while they are sent.
func (p *page) WaitShown(_ context.Context, place sessions.Route, _ int) ([]adaptertest.Shown, error) {
	return p.Shown(place), nil
}

func (p *page) Violations() []string { return nil }
