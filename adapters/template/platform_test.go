package template_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/adaptertest"
	"sluice/adapters/adaptertest/wire"
	"sluice/adapters/template"
	"sluice/sessions"
)

const token = "t0ken"

// platform is the fake of the invented platform: one bot and one person, who are
// always in one chat. What it leaves to the nil interface it has embedded, Limits rules out.
type platform struct {
	adaptertest.Platform

	net     *wire.Listener
	closing chan struct{} // closed at the end

	mu         sync.Mutex
	events     []json.RawMessage // number i has the id i+1
	confirmed  int               // this many of them
	shown      []adaptertest.Shown
	byKey      map[string]adaptertest.Shown
	faults     []adaptertest.Fault
	revoked    bool
	violations []string
	changed    chan struct{} // closed at each change
}

func newPlatform(t *testing.T) adaptertest.Platform {
	l, err := wire.Listen()
	require.NoError(t, err)
	p := &platform{net: l, closing: make(chan struct{}), changed: make(chan struct{}), byKey: map[string]adaptertest.Shown{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /events", p.serveEvents)
	mux.HandleFunc("POST /messages", p.serveMessage)
	srv := &http.Server{Handler: mux}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // ends at Close
	}()
	t.Cleanup(func() {
		close(p.closing)
		_ = srv.Close() // only closes connections
		<-done
	})
	return p
}

func (p *platform) Adapter(*testing.T) adapters.Adapter {
	return template.New(template.Config{
		Account: "default", Token: token, Base: "http://" + p.net.Addr().String(),
		Wait: time.Second, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
}

func (p *platform) Limits() adaptertest.Limits {
	return adaptertest.Limits{Text: 2000, Confirms: true, Dedupes: true, RetryAfter: true, Fails: true, Hears: true}
}

func (p *platform) Direct() sessions.Route {
	return sessions.Route{Channel: "template", Account: "default", ChatType: sessions.Direct, Conversation: "c1"}
}
func (p *platform) Group() sessions.Route    { return sessions.Route{} }
func (p *platform) Thread() sessions.Route   { return sessions.Route{} }
func (p *platform) Person(int) sessions.Peer { return sessions.Peer{ID: "u1", Name: "Ada"} }
func (p *platform) DropConnections()         { p.net.Drop() }
func (p *platform) Deafen()                  { p.net.Deafen() }

// misdate is the fault of Misdate.
const misdate adaptertest.FaultKind = "date in milliseconds"

// Misdate implements adaptertest.Misdater.
func (p *platform) Misdate() adapters.Receipt {
	p.Fault(adaptertest.Fault{Kind: misdate})
	return adapters.Receipt{MessageID: "b1"}
}

func (p *platform) Fault(f adaptertest.Fault) { p.change(func() { p.faults = append(p.faults, f) }) }

func (p *platform) Revoke() { p.change(func() { p.revoked = true }); p.net.Drop() }

// change changes something and wakes who waits for it.
func (p *platform) change(what func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what()
	close(p.changed)
	p.changed = make(chan struct{})
}

// wait returns once something is so.
func (p *platform) wait(ctx context.Context, so func() bool) error {
	for {
		p.mu.Lock()
		now, changed := so(), p.changed
		p.mu.Unlock()
		if now {
			return nil
		}
		select {
		case <-changed:
		case <-p.closing:
			return http.ErrServerClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tell adds an event, which may be anything, and gives its id.
func (p *platform) tell(kind string, body any) (id int) {
	p.change(func() {
		id = len(p.events) + 1
		text, _ := json.Marshal(map[string]any{"id": id, "kind": kind, "body": body})
		p.events = append(p.events, text)
	})
	return id
}

func (p *platform) Say(place sessions.Route, from sessions.Peer, text string) adaptertest.Said {
	id := sessions.PlatformMessageID("m" + strconv.FormatInt(time.Now().UnixNano(), 36))
	event := p.tell("message", map[string]any{"id": id, "at": time.Now().Unix(), "chat": place.Conversation, "from": from, "text": text})
	return adaptertest.Said{Event: strconv.Itoa(event), Place: place, ID: id}
}

// Redeliver says the same under another event id.
func (p *platform) Redeliver(said adaptertest.Said) {
	n, _ := strconv.Atoi(said.Event)
	p.mu.Lock()
	var e struct{ Body json.RawMessage }
	_ = json.Unmarshal(p.events[n-1], &e)
	p.mu.Unlock()
	p.tell("message", e.Body)
}

func (p *platform) Flood() []adaptertest.Said {
	var all []adaptertest.Said
	for _, id := range []int{p.tell("poll", map[string]int{"votes": 3}), p.tell("message", 7), p.tell("message", nil)} {
		all = append(all, adaptertest.Said{Event: strconv.Itoa(id)})
	}
	return all
}

func (p *platform) has(said adaptertest.Said) bool {
	n, _ := strconv.Atoi(said.Event)
	return p.confirmed >= n
}

func (p *platform) Confirmed(said adaptertest.Said) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.has(said)
}

func (p *platform) WaitConfirmed(ctx context.Context, said adaptertest.Said) error {
	return p.wait(ctx, func() bool { return p.has(said) })
}

func (p *platform) Shown(sessions.Route) []adaptertest.Shown {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.shown)
}

func (p *platform) WaitShown(ctx context.Context, place sessions.Route, n int) ([]adaptertest.Shown, error) {
	err := p.wait(ctx, func() bool { return len(p.shown) >= n })
	return p.Shown(place), err
}

func (p *platform) Violations() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.violations)
}

// refused answers who has no valid token.
func (p *platform) refused(w http.ResponseWriter, r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revoked || r.Header.Get("Authorization") != "Bearer "+token {
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	return false
}

func (p *platform) serveEvents(w http.ResponseWriter, r *http.Request) {
	if p.refused(w, r) {
		return
	}
	var look struct{ After, Wait int }
	err := decode(r, &look)
	p.change(func() {
		if err != nil || look.Wait < 1 || look.Wait > 60 || look.After > len(p.events) {
			p.violations = append(p.violations, fmt.Sprintf("POST /events %+v: %v", look, err))
		}
		p.confirmed = max(p.confirmed, look.After)
	})
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(look.Wait)*time.Second)
	defer cancel()
	_ = p.wait(ctx, func() bool { return len(p.events) > p.confirmed }) // else there are none
	p.mu.Lock()
	events := slices.Clone(p.events[p.confirmed:])
	p.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"me": sessions.Peer{ID: "b1", Name: "Bot"}, "events": events}) // the caller may have gone
}

// decode takes no field that the platform does not know.
func decode(r *http.Request, into any) error {
	strict := json.NewDecoder(r.Body)
	strict.DisallowUnknownFields()
	return strict.Decode(into)
}

func (p *platform) serveMessage(w http.ResponseWriter, r *http.Request) {
	if p.refused(w, r) {
		return
	}
	var m struct{ Chat, Text, Key string }
	err := decode(r, &m)
	fault := p.take()
	if p.fail(w, r, fault) {
		return
	}
	var s adaptertest.Shown
	p.change(func() {
		if n := utf8.RuneCountInString(m.Text); err != nil || m.Chat != "c1" || m.Key == "" || n == 0 || n > 2000 {
			p.violations = append(p.violations, fmt.Sprintf("POST /messages %+v: %v", m, err))
		}
		var known bool
		if s, known = p.byKey[m.Key]; !known {
			s = adaptertest.Shown{ID: sessions.PlatformMessageID(fmt.Sprintf("b%d", len(p.shown)+1)), Text: m.Text, Plain: m.Text}
			p.byKey[m.Key] = s
			p.shown = append(p.shown, s)
		}
	})
	if fault.Kind == adaptertest.ResetAfter {
		panic(http.ErrAbortHandler)
	}
	at := time.Now().Unix()
	if fault.Kind == misdate {
		at *= 1000
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"id": s.ID, "at": at}) // the caller may have gone
}

// take is the fault that is due; empty for none.
func (p *platform) take() (f adaptertest.Fault) {
	p.change(func() {
		if len(p.faults) > 0 {
			f, p.faults = p.faults[0], p.faults[1:]
		}
	})
	return f
}

// fail answers in the way of a fault before the effect, and reports whether it did.
func (p *platform) fail(w http.ResponseWriter, r *http.Request, f adaptertest.Fault) bool {
	switch f.Kind {
	case adaptertest.RateLimited:
		w.Header().Set("Retry-After", strconv.Itoa(int(f.After.Seconds())))
		w.WriteHeader(http.StatusTooManyRequests)
	case adaptertest.ServerError:
		w.WriteHeader(http.StatusInternalServerError)
	case adaptertest.Garbage:
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html>")) // the caller may have gone
	case adaptertest.Refused:
		w.WriteHeader(http.StatusNotFound)
	case adaptertest.Hang:
		_ = p.wait(r.Context(), func() bool { return false }) // ends with the caller or the test
	case adaptertest.ResetBefore:
		panic(http.ErrAbortHandler)
	default:
		return false
	}
	return true
}
