package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"sluice/internal/model/cooldown"
	"sluice/internal/pause"
	"sluice/internal/picture"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/port"
)

// loadingEach is the time between two looks at a model that is being loaded.
const loadingEach = 2 * time.Second

// Link is one way to ask a model: with one key of its provider.
type Link struct {
	Provider string
	Key      string // its name
	Mark     string // tells the key from another one of the same name
	Model    string // the provider's name for the model
	Ask      sessions.Model
	Limiter  *Limiter // nil: no limits
}

// Place is what cools down when the link fails.
func (l *Link) Place() cooldown.Place {
	return cooldown.Place{Provider: l.Provider, Key: l.Key, Model: l.Model}
}

// Entry is one model of a chain.
type Entry struct {
	Name    string     // "<provider>/<model>"
	Level   flow.Level // the highest that may be sent to it
	Can     Capabilities
	Loading time.Duration // how long the server may load the model
	Links   []*Link       // at least one
}

// Refused is an attempt that was not made, because a budget does not allow it.
type Refused struct {
	Cheaper bool // the next model of the chain may be cheap enough
	Err     error
}

// Error implements error.
func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap gives the reason.
func (r *Refused) Unwrap() error { return r.Err }

// Config is what the chains of a gateway share.
type Config struct {
	Board *cooldown.Board
	Now   func() time.Time
	Log   *slog.Logger
	// Moved counts that a chain goes on from one model to another; nil: nobody counts.
	Moved func(from, to string)
	// Pictures scales pictures to what models accept.
	Pictures picture.Scaler
	Pause    time.Duration // before another attempt with the same key, for tests; 0: half a second, and two while a model is being loaded

	newer atomic.Pointer[func(name string) *Chain]
}

// Replace says that another configuration is in effect. Chains of this one then make each further call through the chain of
// the same name that newer makes, with its keys and levels: a run may have begun with a key that is no longer valid. A call
// that was under way with such a key is made again. If newer gives nil, the models have been removed, and they are asked
// until the run ends.
func (c *Config) Replace(newer func(name string) *Chain) { c.newer.Store(&newer) }

// Chain is a model that asks those of a chain. It belongs to one session, and is safe for concurrent use.
type Chain struct {
	cfg     *Config
	name    string
	entries []*Entry
	turn    atomic.Int32 // the entry that the current turn begins with
}

var (
	_ sessions.Model      = (*Chain)(nil)
	_ sessions.Classified = (*Chain)(nil)
	_ sessions.Tempered   = (*Chain)(nil)
	_ port.Windowed       = (*Chain)(nil)
	_ port.Turning        = (*Chain)(nil)
)

// New creates a chain of at least one model.
func New(cfg *Config, entries []*Entry) *Chain {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	return &Chain{cfg: cfg, name: Text(names), entries: entries}
}

// Name implements [sessions.Model]: the models of the chain.
func (c *Chain) Name() string { return c.name }

// Entries are the models of the chain.
func (c *Chain) Entries() []*Entry { return c.entries }

// Classification implements [sessions.Classified]: the highest level of its models.
func (c *Chain) Classification() (highest flow.Level) {
	highest = flow.Public
	for _, e := range c.entries {
		if flow.CanFlow(highest, e.Level) {
			highest = e.Level
		}
	}
	return highest
}

// MaxTemperature implements [sessions.Tempered]: the highest of its models. The others get what they take.
func (c *Chain) MaxTemperature() (highest float32) {
	for _, e := range c.entries {
		highest = max(highest, sessions.MaxTemperature(e.Links[0].Ask))
	}
	return highest
}

// ContextWindow implements [sessions.Model]: the largest of its models, because a prompt goes to one that can take it.
func (c *Chain) ContextWindow() int { return c.window(func(*Entry) bool { return true }) }

// WindowFor implements [port.Windowed].
func (c *Chain) WindowFor(label flow.Label) int {
	return c.window(func(e *Entry) bool { return mayTell(label, e) })
}

// window is the largest known window; 0 if it is unknown for all.
func (c *Chain) window(counts func(*Entry) bool) (largest int) {
	for _, e := range c.entries {
		if counts(e) {
			largest = max(largest, e.Can.Window)
		}
	}
	return largest
}

// BeginTurn implements [port.Turning].
func (c *Chain) BeginTurn() { c.turn.Store(0) }

// mayTell reports whether a model may be told something with a label.
func mayTell(label flow.Label, e *Entry) bool {
	return (policy.Subject{Taint: label}).MayTell(policy.CheckModel, e.Level)
}

// Complete implements [sessions.Model].
func (c *Chain) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (completion sessions.Completion, err error) {
	if next := c.next(); next != nil {
		return next.Complete(ctx, req, on)
	}
	if len(c.entries) == 1 && len(c.entries[0].Links) == 1 {
		completion, err = c.only(ctx, &req, on)
	} else {
		completion, err = c.walk(ctx, &req, on)
	}
	if err != nil && keyRefused(err) {
		if next := c.next(); next != nil { // the key has changed meanwhile
			return next.Complete(ctx, req, on)
		}
	}
	return completion, err
}

// next is the chain of the configuration in effect; nil: this one, or the models have been removed.
func (c *Chain) next() *Chain {
	if newer := c.cfg.newer.Load(); newer != nil {
		return (*newer)(c.name)
	}
	return nil
}

// keyRefused reports whether the provider did not accept the key.
func keyRefused(err error) bool {
	me, ok := errors.AsType[*sessions.ModelError](err)
	return ok && me.Kind == sessions.ModelAuth
}

// walk asks the models one after the other. It has a frame of its own, which [Chain.only] does not need.
//
//go:noinline
func (c *Chain) walk(ctx context.Context, req *sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	return c.newWalk(req, on).complete(ctx)
}

func (c *Chain) newWalk(req *sessions.Request, on func(sessions.Chunk)) *walk {
	return &walk{chain: c, req: *req, on: on, counted: tokens(req)}
}

// only asks the only model with its only key. Thousands of goroutines wait in it, so it must use little stack.
func (c *Chain) only(ctx context.Context, req *sessions.Request, on func(sessions.Chunk)) (completion sessions.Completion, err error) {
	e := c.entries[0]
	l := e.Links[0]
	counted, err := c.enter(ctx, e, l, req)
	if err != nil {
		return completion, err
	}
	defer func() { l.Limiter.done(counted, used(&completion)) }() // also if the client panics
	loading := c.patienceOf(e)
	for {
		completion, err = l.Ask.Complete(ctx, *req, on)
		if err == nil || !loading.again(ctx, err) {
			break
		}
	}
	c.learn(ctx, l, err)
	return completion, err
}

// enter admits a request to the only model, and waits for its rate limit. counted are its tokens, if there is a limit.
func (c *Chain) enter(ctx context.Context, e *Entry, l *Link, req *sessions.Request) (counted int, err error) {
	if err := c.admit(e, req); err != nil {
		return 0, err
	}
	if s := c.cfg.Board.Standing(ctx, l.Place(), l.Mark); !s.May && s.State.Blocked() {
		return 0, paused(e, s.State, c.cfg.Now())
	}
	if l.Limiter == nil {
		return 0, nil
	}
	counted = tokens(req)
	if err := l.Limiter.acquire(ctx, counted); err != nil {
		c.cfg.Board.Released(l.Place())
		return 0, ended(e, err)
	}
	return counted, nil
}

func used(c *sessions.Completion) int { return c.Usage.InputTokens + c.Usage.OutputTokens }

// patience is how long a call waits for a model that is being loaded.
type patience struct {
	cfg   *Config
	until time.Time
	most  time.Duration
}

func (c *Chain) patienceOf(e *Entry) patience { return patience{cfg: c.cfg, most: e.Loading} }

// again waits if the model is being loaded, and reports whether to ask again.
func (p *patience) again(ctx context.Context, err error) bool {
	me, ok := errors.AsType[*sessions.ModelError](err)
	if !ok || me.Kind != port.ModelLoading {
		return false
	}
	if p.until.IsZero() {
		p.until = p.cfg.Now().Add(p.most)
	}
	return p.cfg.Now().Before(p.until) && pause.Wait(ctx, max(cmp.Or(p.cfg.Pause, loadingEach), me.RetryAfter)) == nil
}

// admit checks and fits a request for the only model.
func (c *Chain) admit(e *Entry, req *sessions.Request) error {
	if !mayTell(req.Label, e) {
		return levelError(c.entries)
	}
	need := needs(req)
	if e.Can.Lacks == 0 && need&Pictures == 0 {
		return nil
	}
	if lacks := need & e.Can.Lacks; lacks&Tools != 0 {
		return unable(e, lacks)
	}
	*req = c.fit(e, req)
	return nil
}

// learn tells the board how a call ended.
func (c *Chain) learn(ctx context.Context, l *Link, err error) {
	if err == nil {
		c.cfg.Board.Worked(ctx, l.Place())
		return
	}
	me, ok := errors.AsType[*sessions.ModelError](err)
	if !ok || ctx.Err() != nil || !Moves(me.Kind) || c.cfg.newer.Load() != nil { // a key that was replaced tells nothing
		c.cfg.Board.Released(l.Place())
		return
	}
	c.cfg.Board.Failed(ctx, l.Place(), l.Mark, me)
}

// Moves reports whether another key or model may succeed where a call has failed.
func Moves(kind sessions.ModelErrorKind) bool {
	switch kind {
	case sessions.ModelOverflow, sessions.ModelRefused:
		return false
	}
	return true
}

// fit is the request with only what a model accepts: without reasoning, without pictures or with smaller ones, and with a lower
// temperature.
func (c *Chain) fit(e *Entry, req *sessions.Request) sessions.Request {
	fitting := *req
	if e.Can.Lacks&Thinking != 0 {
		fitting.Thinking = ""
	}
	if e.Can.Lacks&Pictures != 0 {
		fitting.Messages = withPictures(req.Messages, func(p *sessions.Part) { p.Content = nil })
	} else {
		fitting.Messages = withPictures(req.Messages, func(p *sessions.Part) { c.cfg.shrink(p, e.Can.Picture) })
	}
	if t := req.Temperature; t != nil {
		if most := sessions.MaxTemperature(e.Links[0].Ask); *t > most {
			fitting.Temperature = &most
		}
	}
	return fitting
}

// shrink scales a picture to what a model accepts. If that fails, a description with the reason takes its place.
func (c *Config) shrink(p *sessions.Part, limits picture.Limits) {
	content, scaled, err := c.Pictures.Fit(p.Content, limits)
	if err == nil && !scaled {
		return
	}
	shown := *p.Attachment
	if err != nil {
		shown.Note = strings.TrimPrefix(shown.Note+"; the picture is not shown to you: "+err.Error(), "; ")
	} else {
		shown.MIME, shown.Size = "image/jpeg", int64(len(content))
	}
	p.Content, p.Attachment = content, &shown
}

// withPictures are the messages with their pictures changed, in a copy.
func withPictures(messages []sessions.Message, change func(p *sessions.Part)) []sessions.Message {
	copied := false
	for i := range messages {
		own := false
		for j := range messages[i].Parts {
			if !isPicture(&messages[i].Parts[j]) {
				continue
			}
			if !copied {
				messages, copied = append([]sessions.Message(nil), messages...), true
			}
			if !own {
				messages[i].Parts, own = append([]sessions.Part(nil), messages[i].Parts...), true
			}
			change(&messages[i].Parts[j])
		}
	}
	return messages
}

// LevelError means that no model of a chain may be told what the prompt says. It is a [sessions.ErrModelLevel].
type LevelError struct {
	Providers []string // whose level would have to be higher
}

// Error implements error.
func (e *LevelError) Error() string {
	settings := make([]string, len(e.Providers))
	for i, p := range e.Providers {
		settings[i] = "models.providers." + p + ".classification"
	}
	return sessions.ErrModelLevel.Error() + ": raise " + strings.Join(settings, " or ")
}

// Unwrap implements the error tree.
func (*LevelError) Unwrap() error { return sessions.ErrModelLevel }

func levelError(entries []*Entry) error {
	e := &LevelError{}
	seen := map[string]bool{}
	for _, entry := range entries {
		if p := entry.Links[0].Provider; !seen[p] {
			seen[p] = true
			e.Providers = append(e.Providers, p)
		}
	}
	return e
}

// unable is the error for a request that a model can't take.
func unable(e *Entry, lacks Ability) error {
	return &sessions.ModelError{Kind: sessions.ModelRefused, Model: e.Name, Err: fmt.Errorf(
		"the model has no %s: add a model that has it to the chain, or correct models.providers.%s.capabilities", strings.Join(lacks.Names(), ", "), e.Links[0].Provider)}
}

// paused is the error for a model that may not be asked now.
func paused(e *Entry, s cooldown.State, now time.Time) *sessions.ModelError {
	me := &sessions.ModelError{Kind: s.Kind, Model: e.Name}
	if s.Blocked() {
		me.Err = fmt.Errorf("%s of %s is not used since %s, because %s: fix this, then run `sluice models clear %s`", s.Key, s.Provider, s.Since.UTC().Format(time.RFC3339), s.Why(), s.Provider)
		return me
	}
	me.RetryAfter = max(s.Until.Sub(now), 0)
	me.Err = fmt.Errorf("not asked before %s after a failure: %s", s.Until.UTC().Format(time.RFC3339), s.Why())
	return me
}

func ended(e *Entry, err error) error {
	return &sessions.ModelError{Kind: sessions.ModelUnavailable, Model: e.Name, Err: err}
}
