package model_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/model"
	"sluice/internal/model/chain"
	"sluice/internal/model/cooldown"
	"sluice/internal/model/modeltest"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/port"
)

// failing is a way to fail, on the wire.
type failing struct {
	reply    modeltest.Reply
	cancels  bool // the caller gives up
	kind     sessions.ModelErrorKind
	goes     goes
	streamed bool // text was shown before
	silent   bool // shows by a time-out
}

// goes says how a chain goes on.
type goes int

const (
	nowhere goes = iota
	toNextKey
	toNextModel
)

func failures() map[string]failing {
	half := func(f modeltest.Fault) modeltest.Reply { return modeltest.Broken("half of another answer", f, 4) }
	return map[string]failing{
		"rate limited for long":  {reply: modeltest.RateLimited(time.Minute), kind: sessions.ModelRateLimited, goes: toNextKey},
		"rate limited":           {reply: modeltest.Fail(429, "rate_limit_error", "slow down"), kind: sessions.ModelRateLimited, goes: toNextKey},
		"overloaded":             {reply: modeltest.Overloaded(), kind: sessions.ModelOverloaded, goes: toNextKey},
		"500":                    {reply: modeltest.Fail(500, "api_error", "oops"), kind: sessions.ModelOverloaded, goes: toNextKey},
		"revoked key":            {reply: modeltest.Unauthorized(), kind: sessions.ModelAuth, goes: toNextKey},
		"no money":               {reply: modeltest.Fail(402, "billing_error", "pay"), kind: port.ModelBilling, goes: toNextKey},
		"no quota":               {reply: modeltest.Fail(429, "insufficient_quota", "You exceeded your current quota"), kind: port.ModelBilling, goes: toNextKey},
		"not for this key":       {reply: modeltest.Fail(403, "permission_error", "no"), kind: port.ModelForbidden, goes: toNextKey},
		"no such model":          {reply: modeltest.Fail(404, "not_found_error", "model"), kind: port.ModelMissing, goes: toNextModel},
		"silent":                 {reply: modeltest.Reply{Latency: -1}, kind: sessions.ModelUnavailable, goes: toNextKey, silent: true},
		"silent after the start": {reply: modeltest.Reply{Text: "x", FirstByte: -1}, kind: sessions.ModelUnavailable, goes: toNextKey, silent: true},
		"cut before text":        {reply: modeltest.Broken("never shown", modeltest.Cut, 0), kind: sessions.ModelCut, goes: toNextKey},
		"cut after text":         {reply: half(modeltest.Cut), kind: sessions.ModelCut, goes: toNextKey, streamed: true},
		"broken after text":      {reply: half(modeltest.Break), kind: sessions.ModelCut, goes: toNextKey, streamed: true},
		"broken in an event":     {reply: half(modeltest.HalfBreak), kind: sessions.ModelCut, goes: toNextKey, streamed: true},
		"malformed after text":   {reply: half(modeltest.Malformed), kind: sessions.ModelCut, goes: toNextKey, streamed: true},
		"error after text":       {reply: half(modeltest.Failure), kind: sessions.ModelOverloaded, goes: toNextKey, streamed: true},
		"stalled after text":     {reply: half(modeltest.Stall), kind: sessions.ModelUnavailable, goes: toNextKey, streamed: true, silent: true},
		"too long":               {reply: modeltest.Overflow(), kind: sessions.ModelOverflow},
		"invalid":                {reply: modeltest.Fail(400, "invalid_request_error", "no"), kind: sessions.ModelRefused},
		"unprocessable":          {reply: modeltest.Fail(422, "invalid_request_error", "no"), kind: sessions.ModelRefused},
		"moderated":              {reply: modeltest.Fail(403, "moderation", "your input was flagged"), kind: sessions.ModelRefused},
		"cancelled":              {reply: modeltest.Reply{Latency: -1}, kind: sessions.ModelUnavailable, cancels: true},
		"cancelled after text":   {reply: half(modeltest.Stall), kind: sessions.ModelUnavailable, cancels: true, streamed: true},
	}
}

// attempt is a model with a key, in the order of the chain of a bench.
type attempt struct {
	provider, key string
	level         flow.Level
}

func attempts() []attempt {
	return []attempt{
		{"far", "far-1", flow.Public},
		{"far", "far-2", flow.Public},
		{"near", "near-1", flow.Internal},
		{"own", "own-1", flow.Restricted},
	}
}

// bench is a chain of three models behind two protocols: "far" with two keys, "near", and "own".
type bench struct {
	*model.Registry
	board  *cooldown.Board
	server map[string]*modeltest.Server
	mu     sync.Mutex
	fails  map[string]modeltest.Reply // by key
	asked  []string                   // the keys, in the order of the requests
	moved  []string
	cancel context.CancelFunc // called at a request of a key that fails; nil: nobody gives up
}

const (
	ample = 30 * time.Second
	brief = 250 * time.Millisecond
)

const chainOfAll = "far/m, near/m, own/m"

func answerOf(provider string) string { return "the whole answer of " + provider }

func newBench(t *testing.T, first, second string, changes ...func(map[string]model.ProviderConfig)) *bench {
	t.Helper()
	b := &bench{server: map[string]*modeltest.Server{}, fails: map[string]modeltest.Reply{}}
	b.board = cooldown.New(cooldown.Config{Now: time.Now})
	configs := map[string]model.ProviderConfig{}
	kinds := map[string]string{"far": first, "near": second, "own": first}
	for _, a := range attempts() {
		if s := b.server[a.provider]; s != nil {
			c := configs[a.provider]
			c.Keys = append(c.Keys, a.key)
			configs[a.provider] = c
			continue
		}
		s, err := modeltest.Start()
		require.NoError(t, err)
		t.Cleanup(func() { s.Close(); require.Empty(t, s.Violations()) })
		s.Always(b.reply(a.provider))
		b.server[a.provider] = s
		url := s.OpenAIURL()
		if kinds[a.provider] == kindAnthropic {
			url = s.AnthropicURL()
		}
		configs[a.provider] = model.ProviderConfig{
			Kind: kinds[a.provider], Keys: []string{a.key}, BaseURL: url, Classification: a.level, FirstToken: ample, Idle: ample,
		}
	}
	for _, change := range changes {
		change(configs)
	}
	var err error
	b.Registry, err = model.New(configs, model.Options{
		Board: b.board, Pause: time.Millisecond, Moved: func(from, to string) { b.moved = append(b.moved, from+" "+to) },
	}, chainOfAll)
	require.NoError(t, err)
	return b
}

func (b *bench) reply(provider string) func(modeltest.Request) modeltest.Reply {
	return func(q modeltest.Request) modeltest.Reply {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.asked = append(b.asked, q.Key)
		if reply, ok := b.fails[q.Key]; ok {
			if b.cancel != nil {
				time.AfterFunc(30*time.Millisecond, b.cancel)
			}
			return reply
		}
		return modeltest.Say(answerOf(provider))
	}
}

// reader is somebody who reads while an answer is written.
type reader struct {
	shown string
	voids int
	seen  []string // each state of the text
}

func (r *reader) read(c sessions.Chunk) {
	if c.Void {
		r.shown, r.voids = "", r.voids+1
	}
	r.shown += c.Text
	r.seen = append(r.seen, r.shown)
}

func ask(ctx context.Context, m sessions.Model, label flow.Label) (*reader, sessions.Completion, error) {
	r := &reader{}
	c, err := m.Complete(ctx, sessions.Request{Label: label, Messages: []sessions.Message{{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart("a secret question", label)}}}}, r.read)
	return r, c, err
}

// foretell is who answers when some keys fail in one way, and which keys are asked; empty: nobody answers.
func foretell(f *failing, fails []string, level flow.Level) (provider string, asked []string) {
	skipped := ""
	for _, a := range attempts() {
		if !flow.CanFlow(level, a.level) || a.provider == skipped {
			continue
		}
		asked = append(asked, a.key)
		switch {
		case !slices.Contains(fails, a.key):
			return a.provider, asked
		case f.goes == nowhere:
			return "", asked
		case f.goes == toNextModel:
			skipped = a.provider
		}
	}
	return "", asked
}

// Every way to fail, at every position of a chain, before and after text was shown, at every level, with both protocols.
func TestFailOverMatrix(t *testing.T) {
	t.Parallel()
	positions := [][]string{{"far-1"}, {"far-1", "far-2"}, {"far-1", "far-2", "near-1"}, {"near-1"}, {"own-1"}, {"far-1", "far-2", "near-1", "own-1"}}
	for name, f := range failures() {
		positions, levels := positions, flow.Levels()
		if f.silent { // each takes its time
			positions, levels = [][]string{{"far-1"}, {"far-1", "far-2", "near-1", "own-1"}}, []flow.Level{flow.Public, flow.Restricted}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kinds := range [][2]string{{kindOpenAI, kindAnthropic}, {kindAnthropic, kindOpenAI}} {
				for _, fails := range positions {
					for _, level := range levels {
						t.Run(fmt.Sprint(kinds[0], fails, level), func(t *testing.T) {
							t.Parallel()
							b := newBench(t, kinds[0], kinds[1], func(c map[string]model.ProviderConfig) {
								for name, p := range c {
									if f.silent {
										p.FirstToken, p.Idle = brief, brief
									}
									c[name] = p
								}
							})
							failsAt(t, b, &f, fails, level)
						})
					}
				}
			}
		})
	}
}

func failsAt(t *testing.T, b *bench, f *failing, fails []string, level flow.Level) {
	t.Helper()
	for _, key := range fails {
		b.fails[key] = f.reply
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if f.cancels {
		b.cancel = cancel
	}
	m, err := b.Model(chainOfAll)
	require.NoError(t, err)
	r, completion, err := ask(ctx, m, flow.NewLabel(level, flow.Trusted))
	answers, asked := foretell(f, fails, level)
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Equal(t, asked, slices.Compact(slices.Clone(b.asked)), "at most one more attempt with the same key, and none of a key below the level")
	for _, state := range r.seen { // never two halves of different answers
		whole := slices.ContainsFunc([]string{answerOf("far"), answerOf("near"), answerOf("own"), f.reply.Text}, func(text string) bool { return strings.HasPrefix(text, state) })
		require.True(t, whole, "%q in %q", state, r.seen)
	}
	if answers == "" {
		var me *sessions.ModelError
		require.ErrorAs(t, err, &me)
		require.Equal(t, f.kind, me.Kind)
		return
	}
	require.NoError(t, err)
	require.Equal(t, answerOf(answers), sessions.Message{Parts: completion.Parts}.Text())
	require.Equal(t, answerOf(answers), r.shown, "what is shown at the end is the answer alone")
	require.Equal(t, answers+"/m", completion.Model)
	require.Equal(t, f.streamed && len(asked) > 1, r.voids > 0)
}

// What has failed is not asked again until its time is over, whatever the session.
func TestWhatHasFailedIsPassedOver(t *testing.T) {
	t.Parallel()
	b := newBench(t, kindOpenAI, kindAnthropic)
	b.fails["far-1"], b.fails["far-2"] = modeltest.Unauthorized(), modeltest.Overloaded()
	for range 3 {
		m, err := b.Model(chainOfAll)
		require.NoError(t, err)
		_, completion, err := ask(t.Context(), m, flow.Bottom())
		require.NoError(t, err)
		require.Equal(t, "near/m", completion.Model)
	}
	require.Equal(t, []string{"far-1", "far-2", "far-2", "near-1", "near-1", "near-1"}, b.asked)
	require.Equal(t, []string{"far/m near/m"}, b.moved)
	states := b.board.List()
	require.Len(t, states, 2)
	require.Equal(t, "far (key1)", states[0].String())
	require.True(t, states[0].Blocked())
	require.Equal(t, "far/m (key2)", states[1].String())
	require.Equal(t, "overloaded", states[1].Why())

	_, err := b.board.Clear(t.Context(), func(cooldown.Place) bool { return true })
	require.NoError(t, err)
	clear(b.fails)
	m, err := b.Model(chainOfAll)
	require.NoError(t, err)
	_, completion, err := ask(t.Context(), m, flow.Bottom())
	require.NoError(t, err)
	require.Equal(t, "far/m", completion.Model)
}

// A turn goes on with the model that has answered in it; the next turn begins with the first one.
func TestFailOverLastsForOneTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, kindAnthropic, kindOpenAI)
	b.fails["far-1"], b.fails["far-2"] = modeltest.Overloaded(), modeltest.Overloaded()
	m, err := b.Model(chainOfAll)
	require.NoError(t, err)
	answers := func(want string) {
		t.Helper()
		_, completion, err := ask(t.Context(), m, flow.Bottom())
		require.NoError(t, err)
		require.Equal(t, want, completion.Model)
	}
	port.BeginTurn(m)
	answers("near/m")
	clear(b.fails)
	_, err = b.board.Clear(t.Context(), func(cooldown.Place) bool { return true })
	require.NoError(t, err)
	answers("near/m")
	port.BeginTurn(m)
	answers("far/m")
}

// A session above all providers is told which settings would help, and nothing is asked.
func TestNoProviderOfTheLevel(t *testing.T) {
	t.Parallel()
	b := newBench(t, kindOpenAI, kindOpenAI)
	m, err := b.Model("far/m, near/m")
	require.NoError(t, err)
	for _, label := range []flow.Label{flow.NewLabel(flow.Confidential, flow.Trusted), {}} {
		_, _, err = ask(t.Context(), m, label)
		require.ErrorIs(t, err, sessions.ErrModelLevel)
		require.ErrorContains(t, err, "raise models.providers.far.classification or models.providers.near.classification")
	}
	one, err := b.Model("near/m")
	require.NoError(t, err)
	_, _, err = ask(t.Context(), one, flow.NewLabel(flow.Restricted, flow.Trusted))
	require.ErrorIs(t, err, sessions.ErrModelLevel)
	require.Empty(t, b.asked)
}

// A request goes to the first model that can take it, or fails before it is sent.
func TestRequestsGoToModelsThatCanTakeThem(t *testing.T) {
	t.Parallel()
	b := newBench(t, kindOpenAI, kindAnthropic, func(c map[string]model.ProviderConfig) {
		far, near := c["far"], c["near"]
		far.Capabilities = map[string]chain.Capabilities{"m": {Window: 100, Lacks: chain.Tools | chain.Pictures | chain.Thinking}}
		near.Capabilities = map[string]chain.Capabilities{"m": {Window: 1000, Lacks: chain.Pictures}}
		c["far"], c["near"] = far, near
	})
	text := func(n int) sessions.Message {
		return sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart(strings.Repeat("x", n), flow.Bottom())}}
	}
	picture := sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{{
		Type: sessions.PartAttachment, Content: []byte("\x89PNG\r\n\x1a\n"), Attachment: &sessions.Attachment{Kind: "photo", MIME: "image/png", Media: "med_1"},
	}}}
	tool := []sessions.ToolSpec{{Name: "look", Parameters: []byte(`{"type":"object"}`)}}
	for _, c := range []struct {
		name, chain, answers string
		req                  sessions.Request
		fails                sessions.ModelErrorKind
	}{
		{"plain", chainOfAll, "far/m", sessions.Request{Messages: []sessions.Message{text(10)}, Thinking: sessions.ThinkingHigh}, ""},
		{"tools", chainOfAll, "near/m", sessions.Request{Messages: []sessions.Message{text(10)}, Tools: tool}, ""},
		{"long", chainOfAll, "near/m", sessions.Request{Messages: []sessions.Message{text(1000)}}, ""},
		{"longer", chainOfAll, "own/m", sessions.Request{Messages: []sessions.Message{text(10_000)}}, ""},
		{"pictures", chainOfAll, "own/m", sessions.Request{Messages: []sessions.Message{picture}}, ""},
		{"pictures in words", "far/m, near/m", "far/m", sessions.Request{Messages: []sessions.Message{picture}}, ""},
		{"pictures in words, alone", "near/m", "", sessions.Request{Messages: []sessions.Message{picture}}, ""},
		{"no tools", "far/m", "", sessions.Request{Messages: []sessions.Message{text(10)}, Tools: tool}, sessions.ModelRefused},
		{"too long for all", "far/m, near/m", "", sessions.Request{Messages: []sessions.Message{text(10_000)}}, sessions.ModelOverflow},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.asked = nil
			m, err := b.Model(c.chain)
			require.NoError(t, err)
			c.req.Label = flow.Bottom()
			completion, err := m.Complete(t.Context(), c.req, func(sessions.Chunk) {})
			if c.fails != "" {
				var me *sessions.ModelError
				require.ErrorAs(t, err, &me)
				require.Equal(t, c.fails, me.Kind)
				require.Empty(t, b.asked, "it is not sent")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.answers, completion.Model)
		})
	}
	require.Len(t, picture.Parts[0].Content, 8, "the caller's message stays as it is")
	m, err := b.Model(chainOfAll)
	require.NoError(t, err)
	require.Zero(t, port.WindowFor(m, flow.NewLabel(flow.Restricted, flow.Trusted)))
	require.Equal(t, 1000, port.WindowFor(m, flow.NewLabel(flow.Internal, flow.Trusted)))
}

// A budget ends the chain, or passes on to a cheaper model.
func TestBudgetsRefuse(t *testing.T) {
	t.Parallel()
	broke := errors.New("the budget is used up")
	s, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	for cheaper, want := range map[bool]string{true: "cheap/m", false: ""} {
		r, err := model.New(map[string]model.ProviderConfig{
			"dear":  {Kind: model.KindOpenAI, Keys: []string{"a", "b"}, BaseURL: s.OpenAIURL(), Classification: flow.Public},
			"cheap": {Kind: model.KindOpenAI, Keys: []string{"c"}, BaseURL: s.OpenAIURL(), Classification: flow.Public},
		}, model.Options{Wrap: func(l chain.Link) sessions.Model {
			if l.Provider == "dear" {
				return refuses{l.Ask, &chain.Refused{Cheaper: cheaper, Err: broke}}
			}
			return l.Ask
		}})
		require.NoError(t, err)
		m, err := r.Model("dear/m, cheap/m")
		require.NoError(t, err)
		_, completion, err := ask(t.Context(), m, flow.Bottom())
		require.Equal(t, want, completion.Model)
		require.Equal(t, !cheaper, errors.Is(err, broke))
	}
	require.Len(t, s.Requests(), 1)
}

type refuses struct {
	sessions.Model
	why error
}

func (r refuses) Complete(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
	return sessions.Completion{}, r.why
}

// A key at its limit is passed over; if all are, the request waits.
func TestKeysKeepTheirLimits(t *testing.T) {
	t.Parallel()
	b := newBench(t, kindOpenAI, kindOpenAI, func(c map[string]model.ProviderConfig) {
		for name, p := range c {
			p.Limits = chain.Limits{Requests: chain.Rate{Amount: 2, Per: 300 * time.Millisecond}}
			c[name] = p
		}
	})
	m, err := b.Model("far/m, near/m")
	require.NoError(t, err)
	for range 8 {
		port.BeginTurn(m)
		_, _, err := ask(t.Context(), m, flow.Bottom())
		require.NoError(t, err)
	}
	require.Equal(t, []string{"far-1", "far-1", "far-2", "far-2", "near-1", "near-1"}, b.asked[:6])
	require.Empty(t, b.board.List())
}

// A client that panics gives its place at the key's limiter back.
func TestAClientThatPanicsKeepsNoPlace(t *testing.T) {
	t.Parallel()
	s, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	for name, chainOf := range map[string]string{"only one": "p/m", "several": "p/m, q/m"} {
		broken := true
		limits := chain.Limits{Concurrent: 1}
		r, err := model.New(map[string]model.ProviderConfig{
			"p": {Kind: model.KindOpenAI, Keys: []string{"a"}, BaseURL: s.OpenAIURL(), Classification: flow.Public, Limits: limits},
			"q": {Kind: model.KindOpenAI, Keys: []string{"b"}, BaseURL: s.OpenAIURL(), Classification: flow.Public, Limits: limits},
		}, model.Options{Wrap: func(l chain.Link) sessions.Model { return panics{l.Ask, &broken} }})
		require.NoError(t, err)
		m, err := r.Model(chainOf)
		require.NoError(t, err)
		require.Panics(t, func() { _, _, _ = ask(t.Context(), m, flow.Bottom()) }, name)
		broken = false
		_, completion, err := ask(t.Context(), m, flow.Bottom())
		require.NoError(t, err, name)
		if name == "several" {
			require.Equal(t, "p/m", completion.Model, "its place is free again")
		}
	}
}

type panics struct {
	sessions.Model
	broken *bool
}

func (p panics) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	if *p.broken {
		panic("the client is broken")
	}
	return p.Model.Complete(ctx, req, on)
}

// Each time-out of a provider ends its call, and the next model answers. Requests go through the provider's proxy.
func TestTimeoutsAndProxy(t *testing.T) {
	t.Parallel()
	var through atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through.Add(1)
		if r.URL.Host != "far.invalid" || r.Header.Get("X-Team") != "blue" || r.Header.Get("Authorization") != "Bearer far-1" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(proxy.Close)
	full, err := net.Listen("tcp", "127.0.0.1:0") // it takes no request
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, full.Close()) })
	slow := modeltest.Say(strings.Repeat("word ", 200))
	slow.Pause = 20 * time.Millisecond
	for name, c := range map[string]struct {
		change func(p *model.ProviderConfig)
		reply  modeltest.Reply
		says   string
	}{
		"connect":     {func(p *model.ProviderConfig) { p.BaseURL, p.Connect = "https://"+full.Addr().String(), brief }, modeltest.Reply{}, "no connection"},
		"first token": {func(p *model.ProviderConfig) { p.FirstToken = brief }, modeltest.Reply{Latency: -1}, "no connection"},
		"idle":        {func(p *model.ProviderConfig) { p.Idle = brief }, modeltest.Broken("some words of it", modeltest.Stall, 1), "no connection"},
		"total":       {func(p *model.ProviderConfig) { p.Total = brief }, slow, "no connection"},
		"proxy": {func(p *model.ProviderConfig) {
			p.BaseURL, p.Proxy, p.Headers = "http://far.invalid/v1", proxy.URL, map[string]string{"X-Team": "blue"}
		}, modeltest.Reply{}, "overloaded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, kindOpenAI, kindOpenAI, func(all map[string]model.ProviderConfig) {
				p := all["far"]
				p.Keys = p.Keys[:1]
				c.change(&p)
				all["far"] = p
			})
			b.fails["far-1"] = c.reply
			m, err := b.Model("far/m, near/m")
			require.NoError(t, err)
			read, completion, err := ask(t.Context(), m, flow.Bottom())
			require.NoError(t, err)
			require.Equal(t, "near/m", completion.Model)
			require.Equal(t, answerOf("near"), read.shown)
			states := b.board.List()
			require.Len(t, states, 1)
			require.Equal(t, "far", states[0].Provider)
			require.Equal(t, c.says, states[0].Why())
		})
	}
	t.Cleanup(func() { require.NotZero(t, through.Load()) })
}

// The requests of a provider have its headers, and a model that is being loaded is waited for.
func TestALoadingModelIsNoFailure(t *testing.T) {
	t.Parallel()
	asked := 0
	s := newWireServer(t)
	s.handler = func(w http.ResponseWriter, r *http.Request) bool {
		asked++
		if r.Header.Get("X-Team") != "blue" || asked > 1 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`))
		return true
	}
	s.body = wires()["text"][kindOpenAI]
	board := cooldown.New(cooldown.Config{Now: time.Now})
	r, err := model.New(map[string]model.ProviderConfig{
		"local": {Kind: model.KindOpenAI, BaseURL: s.URL + "/v1", Classification: flow.Restricted, Headers: map[string]string{"X-Team": "blue"}},
	}, model.Options{Board: board, Pause: time.Millisecond})
	require.NoError(t, err)
	m, err := r.Model("local/m")
	require.NoError(t, err)
	_, _, err = ask(t.Context(), m, flow.Bottom())
	require.NoError(t, err)
	require.Equal(t, 2, asked)
	require.Empty(t, board.List())
}

// Providers fail at random, in every way that is quick, and nothing rests: no prompt ever reaches a provider below its level.
func TestNoPromptReachesAProviderBelowItsLevel(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var quick []modeltest.Reply
	for _, name := range slices.Sorted(maps.Keys(failures())) {
		if f := failures()[name]; !f.silent && !f.cancels && f.reply.RetryAfter == 0 {
			quick = append(quick, f.reply)
		}
	}
	b := newBench(t, kindOpenAI, kindAnthropic)
	var below []string
	for _, a := range attempts() {
		b.server[a.provider].Always(func(q modeltest.Request) modeltest.Reply {
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, level := range flow.Levels() {
				if strings.Contains(string(q.Raw), "what is "+level.String()) && !flow.CanFlow(level, a.level) {
					below = append(below, a.provider+" was told what is "+level.String())
				}
			}
			b.asked = append(b.asked, a.provider)
			if random.IntN(10) < 7 {
				return quick[random.IntN(len(quick))]
			}
			return modeltest.Say("fine")
		})
	}
	chains := []string{chainOfAll, "own/m, near/m, far/m", "near/m, far/m, own/m", "far/m, near/m", "far/m", "own/m"}
	answered, withheld := 0, 0
	for range 1500 {
		label := flow.NewLabel(flow.Levels()[random.IntN(4)], flow.Untrusted)
		m, err := b.Model(chains[random.IntN(len(chains))])
		require.NoError(t, err)
		_, err = m.Complete(t.Context(), sessions.Request{
			System: "Keep what is " + label.Level().String(), Label: label, Tools: []sessions.ToolSpec{{Name: "look", Description: "Looks.", Parameters: []byte(`{"type":"object"}`)}},
			Messages: []sessions.Message{{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart("Tell what is "+label.Level().String(), label)}}},
		}, func(sessions.Chunk) {})
		switch {
		case err == nil:
			answered++
		case errors.Is(err, sessions.ErrModelLevel):
			withheld++
		}
		if random.IntN(2) == 0 {
			_, err = b.board.Clear(t.Context(), func(cooldown.Place) bool { return true })
			require.NoError(t, err)
		}
	}
	require.Empty(t, below)
	require.Greater(t, answered, 200)
	require.Greater(t, withheld, 100)
	require.Greater(t, len(b.asked), 1000)
}
