package chat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// recorder keeps what a chat prints.
type recorder struct {
	mu      sync.Mutex
	out     strings.Builder // standard output
	all     strings.Builder // with standard error, in order
	changed chan struct{}
}

func (r *recorder) write(p []byte, out bool) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if out {
		r.out.Write(p)
	}
	r.all.Write(p)
	close(r.changed)
	r.changed = make(chan struct{})
	return len(p), nil
}

// side is one of the two outputs.
type side struct {
	*recorder
	out bool
}

func (s side) Write(p []byte) (int, error) { return s.write(p, s.out) }

// talk is a chat with a gateway that a test plays.
type talk struct {
	*recorder
	t       *testing.T
	chat    *Chat
	typed   *io.PipeWriter
	signals chan os.Signal
	turns   chan *turnOf
	calls   chan string // other requests
	done    chan error

	refusePosts atomic.Int32 // requests that change something get this status; 0: what they ask for
	refuse      atomic.Int32 // other requests are answered with this status; 0: with what they ask for
	waiting     atomic.Value // the answer that lists open approvals, a string
}

// turnOf is a message that the gateway got. The test answers it; the gateway's handler alone writes to the response.
type turnOf struct {
	text string
	says chan string     // events; closed at the end of the answer
	gone <-chan struct{} // closed when nobody waits for the answer
}

// send sends an event.
func (x *turnOf) send(format string, args ...any) {
	select {
	case x.says <- fmt.Sprintf("event: x\ndata: "+format+"\n\n", args...):
	case <-x.gone:
	}
}

// answers writes events until the answer ends or nobody waits for it.
func (x *turnOf) answers(w http.ResponseWriter) {
	for {
		_ = http.NewResponseController(w).Flush() // the chat may have gone
		select {
		case event, ok := <-x.says:
			if !ok {
				return
			}
			fmt.Fprint(w, event)
		case <-x.gone:
			return
		}
	}
}

// ends sends events, each a JSON object, and ends the stream.
func (x *turnOf) ends(events ...string) {
	for _, e := range events {
		x.send("%s", e)
	}
	close(x.says)
}

const done = `{"type":"run.done","run":"run_1"}`

// newTalk starts a gateway and prepares a chat with it.
func newTalk(t *testing.T, terminalInput bool) *talk {
	t.Helper()
	k := &talk{
		recorder: &recorder{changed: make(chan struct{})}, t: t, signals: make(chan os.Signal, 4), turns: make(chan *turnOf, 8), calls: make(chan string, 16), done: make(chan error, 1),
	}
	k.waiting.Store(`{"approvals":[{"id":"apr_1"}]}`)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/sessions/main/messages", k.message)
	mux.HandleFunc("/", k.call)
	server := httptest.NewServer(mux)
	transport := api.NewTransport()
	client, err := api.New(&http.Client{Transport: transport}, server.URL, "t")
	require.NoError(t, err)
	var input *io.PipeReader
	input, k.typed = io.Pipe()
	t.Cleanup(func() {
		require.NoError(t, k.typed.Close())
		transport.CloseIdleConnections()
		server.Close()
	})
	k.chat = &Chat{
		Client: client, Session: "main", Screen: terminal.Screen{Out: side{k.recorder, true}, Err: side{k.recorder, false}}, Input: input,
		Terminal: terminalInput, Signals: k.signals,
	}
	return k
}

func (k *talk) message(w http.ResponseWriter, r *http.Request) {
	var body struct{ Message string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if status, text, refused := strings.Cut(body.Message, " refused "); refused {
		w.WriteHeader(map[string]int{"401": http.StatusUnauthorized, "409": http.StatusConflict}[status])
		fmt.Fprintf(w, `{"message":%q}`, text)
		return
	}
	if !strings.HasPrefix(body.Message, "/") {
		w.Header().Set("X-Run-Id", "run_1")
	}
	w.WriteHeader(http.StatusOK)
	x := &turnOf{text: body.Message, says: make(chan string), gone: r.Context().Done()}
	k.turns <- x
	x.answers(w)
}

func (k *talk) call(w http.ResponseWriter, r *http.Request) {
	status := k.refuse.Load()
	if r.Method == http.MethodPost {
		status = cmp.Or(status, k.refusePosts.Load())
	}
	if status != 0 {
		w.WriteHeader(int(status))
		fmt.Fprint(w, `{"message":"not now"}`)
		return
	}
	var answer any = `{}`
	if r.URL.Path == "/v1/approvals" {
		answer = k.waiting.Load()
	}
	k.calls <- r.Method + " " + r.URL.Path
	fmt.Fprint(w, answer)
}

// starts begins the chat.
func (k *talk) starts() {
	k.t.Helper()
	go func() { k.done <- k.chat.Run(k.t.Context()) }()
}

// asks sends one message without a chat.
func (k *talk) asks(text string) {
	k.t.Helper()
	go func() { k.done <- k.chat.Once(k.t.Context(), text) }()
}

// working sends one message and gives its turn.
func (k *talk) working(text string) *turnOf {
	k.t.Helper()
	k.asks(text)
	return k.hears(text)
}

// answer ends a run with a text.
func answer(text string) string { return `{"type":"run.done","run":"run_1","text":"` + text + `"}` }

// within waits for something to come from a channel.
func within[T any](k *talk, from <-chan T, what string) T {
	k.t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(patience):
		k.mu.Lock()
		defer k.mu.Unlock()
		k.t.Fatalf("no %s; the chat shows:\n%s", what, k.all.String())
		panic("not reached")
	}
}

func (k *talk) types(lines ...string) {
	k.t.Helper()
	_, err := io.WriteString(k.typed, strings.Join(lines, "\n")+"\n")
	require.NoError(k.t, err)
}

// hears is the next message, which must have this text.
func (k *talk) hears(text string) *turnOf {
	k.t.Helper()
	x := within(k, k.turns, "message")
	require.Equal(k.t, text, x.text)
	return x
}

// called is the next other request.
func (k *talk) called(want string) {
	k.t.Helper()
	require.Equal(k.t, want, within(k, k.calls, "request"))
}

// sees waits until a text was printed.
func (k *talk) sees(text string) {
	k.t.Helper()
	deadline := time.After(patience)
	for {
		k.mu.Lock()
		shown, changed := k.all.String(), k.changed
		k.mu.Unlock()
		if strings.Contains(shown, text) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			k.t.Fatalf("not seen: %q in\n%s", text, shown)
		}
	}
}

// ended waits for the end of the chat; it returns standard output, and everything.
func (k *talk) ended(want error) (out, all string) {
	k.t.Helper()
	require.ErrorIs(k.t, within(k, k.done, "end"), want)
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.out.String(), k.all.String()
}

func (k *talk) closesInput() {
	k.t.Helper()
	require.NoError(k.t, k.typed.Close())
}

var errNoKeyboard = errors.New("the keyboard is gone")
