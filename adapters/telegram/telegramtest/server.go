package telegramtest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/adapters/adaptertest/wire"
)

// DefaultToken is the token of the bot that a server without Options.Tokens has.
const DefaultToken = "1000000:test-token-of-the-default-bot"

// Options are the settings of a [Server]. The zero value is fine for tests.
type Options struct {
	// Tokens makes one bot each; empty for one bot with [DefaultToken]. The first is the default bot.
	Tokens []string
	// OnSent is called for each message that was sent or edited, before its
	// response. It must be quick, and safe for concurrent use.
	OnSent func(Message)
	// Forget keeps neither calls nor messages, for long benchmarks. Edits then always succeed.
	Forget bool
	// NoRichMessages answers sendRichMessage as servers before Bot API 10.1 do.
	NoRichMessages bool
}

// Server is the fake. All methods are safe for concurrent use. The methods of
// [Bot] that it promotes act on its first bot.
type Server struct {
	*Bot

	opts  Options
	http  *http.Server
	url   string
	net   *wire.Listener
	specs *specs
	bots  map[string]*Bot

	faulty atomic.Int32 // number of live faults, so that the usual call looks at none

	mu         sync.Mutex // guards what follows and the state of every bot
	faults     []*Fault
	calls      []Call
	violations []string
	changed    chan struct{} // closed at the next change; nil if nobody waits

	closing context.Context
	close   context.CancelFunc
	wg      sync.WaitGroup // HTTP serve loop, webhooks
}

// NewServer listens and serves until [Server.Close].
func NewServer(opts Options) (*Server, error) {
	if len(opts.Tokens) == 0 {
		opts.Tokens = []string{DefaultToken}
	}
	sp, err := published()
	if err != nil {
		return nil, err
	}
	ln, err := wire.Listen()
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, net: ln, url: "http://" + ln.Addr().String(), specs: sp, bots: map[string]*Bot{}}
	s.closing, s.close = context.WithCancel(context.Background())
	for i, token := range opts.Tokens {
		s.bots[token] = newBot(s, token, i)
	}
	s.Bot = s.bots[opts.Tokens[0]]
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	s.wg.Go(func() { _ = s.http.Serve(ln) }) // ends with ErrServerClosed at Close
	return s, nil
}

// URL is the server's address, for the adapter's APIBase.
func (s *Server) URL() string { return s.url }

// BotFor is the bot with this token, or nil.
func (s *Server) BotFor(token string) *Bot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bots[token]
}

// Drop cuts all connections that are open.
func (s *Server) Drop() { s.net.Drop() }

// Deafen lets nothing more through the connections that are open.
func (s *Server) Deafen() { s.net.Deafen() }

// Close ends every connection and waits for all goroutines. It is idempotent.
func (s *Server) Close() {
	s.mu.Lock()
	s.close()
	s.mu.Unlock()
	_ = s.http.Close() // only closes listeners and connections
	s.wg.Wait()
}

// serve routes /bot<token>/<method>.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if path, isFile := strings.CutPrefix(r.URL.Path, "/file"); isFile {
		s.download(w, path)
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/bot")
	token, method, found := strings.Cut(rest, "/")
	if !ok || !found {
		writeError(w, apiError{Code: 404, Description: "Not Found"})
		return
	}
	bot := s.BotFor(token)
	if bot == nil {
		writeError(w, apiError{Code: 401, Description: "Unauthorized"})
		return
	}
	bot.serveMethod(w, r, method)
}

func (b *Bot) serveMethod(w http.ResponseWriter, r *http.Request, method string) {
	req, err := readRequest(r)
	if err != nil {
		var tooBig *http.MaxBytesError
		if errors.As(err, &tooBig) {
			writeError(w, apiError{Code: 413, Description: "Request Entity Too Large"})
			return
		}
		var unread *unreadError
		if !errors.As(err, &unread) { // a caller that was killed breaks no rule
			b.srv.violate(method + ": " + err.Error())
		}
		writeError(w, apiError{Code: 400, Description: "Bad Request: " + err.Error()})
		return
	}
	b.srv.check(method, req)
	b.srv.record(b, method, req)
	fault := b.srv.takeFault(b, method, req.ChatID.ID)
	if fault != nil && !fault.before(b.srv, w, r) {
		return
	}
	result, apiErr := b.call(r.Context(), strings.ToLower(method), req)
	if fault != nil && fault.effect {
		fault.sever(b.srv, r)
	}
	if apiErr != nil {
		writeError(w, *apiErr)
		return
	}
	writeResult(w, result)
}

func writeResult(w http.ResponseWriter, result []byte) {
	body := make([]byte, 0, len(result)+24)
	body = append(body, `{"ok":true,"result":`...)
	body = append(body, result...)
	body = append(body, '}')
	w.Header()["Content-Type"] = jsonType
	_, _ = w.Write(body) // the caller may have gone
}

var jsonType = []string{"application/json"}
