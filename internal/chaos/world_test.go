package chaos_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/chaos"
	"sluice/internal/chaos/child"
	"sluice/internal/chaos/completions"
	"sluice/internal/freeport"
	"sluice/internal/model/modeltest"
)

const (
	readyWithin  = time.Minute
	answerWithin = 3 * time.Minute
	exitWithin   = 10 * time.Second
	askEvery     = 20 * time.Millisecond
)

// world is a platform, a model, and a gateway that lives, dies and lives again.
type world struct {
	t      *testing.T
	binary string
	chat   platform
	model  *modeltest.Server
	config child.Config
	rng    *rand.Rand
	seed   uint64

	shown chan struct{} // capacity 1; after each message that the bot has sent or edited

	process *child.Process // nil while the gateway is down
	lives   int
	armed   string // file that names the point at which the gateway dies
	unknown int    // sends that the gateway had called unknown when they were last counted
	said    []chaos.Said
	count   map[int64]int // messages of each person
}

// options choose a world; zero fields have defaults.
type options struct {
	platform string        // key of platforms; "" is telegram
	queue    string        // "" is followup
	slow     time.Duration // what "[slow]" takes
	silence  time.Duration // before every answer
	store    string        // URL; "" is the embedded store
	bus      string        // URL; "" is the embedded bus
	state    string        // "" is a folder of the test's own
	binary   func() (string, error)
	owners   []string
	extra    string // of the configuration
	seedPlus uint64 // makes the choices of several tests under one seed differ
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	if o.binary == nil {
		o.binary = built.usual
	}
	binary, err := o.binary()
	require.NoError(t, err)
	w := &world{t: t, binary: binary, seed: *seed + o.seedPlus, count: map[int64]int{}, shown: make(chan struct{}, 1)}
	t.Logf("seed: -chaos.seed=%d", *seed)
	w.rng = rand.New(rand.NewPCG(w.seed, 0))
	w.armed = filepath.Join(t.TempDir(), "armed")
	if o.platform == "" {
		o.platform = "telegram"
	}
	w.chat = platforms[o.platform](t, w.noteShown)
	w.model, err = completions.NewServer(completions.Options{Slow: o.slow, Silence: o.silence, Tool: "session_status"})
	require.NoError(t, err)
	t.Cleanup(func() {
		w.model.Close()
		require.Empty(t, w.model.Violations(), "requests break the model's API")
	})
	w.config = child.Config{
		State: o.state, Channels: w.chat.channels(), Model: "openai/fake", ModelURL: w.model.OpenAIURL(),
		QueueMode: o.queue, Debounce: 50 * time.Millisecond, StoreURL: o.store, BusURL: o.bus,
		Owners: o.owners, Extra: o.extra,
	}
	w.fillConfig()
	t.Cleanup(w.cleanup)
	return w
}

func (w *world) fillConfig() {
	c := &w.config
	if c.State == "" {
		c.State = filepath.Join(w.t.TempDir(), "state")
	}
	if c.QueueMode == "" {
		c.QueueMode = "followup"
	}
	addr, err := freeport.Addr()
	require.NoError(w.t, err)
	c.Listen = addr
	w.chat.attend(addr)
}

// cleanup leaves no process behind and shows what the gateway said if the test failed.
func (w *world) cleanup() {
	if w.process != nil {
		w.process.Kill()
	}
	if w.t.Failed() {
		w.t.Logf("the gateway's log ends with:\n%s", tail(w.config.LogPath()))
	}
}

// log is what the gateway has said, in all its lives.
func (w *world) log() string {
	w.t.Helper()
	text, err := os.ReadFile(w.config.LogPath())
	require.NoError(w.t, err)
	return string(text)
}

func (w *world) start(env ...string) {
	w.t.Helper()
	p, err := child.Start(w.binary, w.config, env...)
	require.NoError(w.t, err)
	w.process = p
	w.lives++
}

func (w *world) startReady(env ...string) {
	w.t.Helper()
	w.start(env...)
	ctx, cancel := context.WithTimeout(w.t.Context(), readyWithin)
	defer cancel()
	require.NoError(w.t, w.process.WaitReady(ctx))
}

func (w *world) kill() {
	w.process.Kill()
	w.process = nil
}

// terminate ends the gateway as an operator does.
func (w *world) terminate() {
	w.t.Helper()
	began := time.Now()
	code, err := w.process.Terminate(exitWithin)
	w.process = nil
	require.NoError(w.t, err)
	require.Zero(w.t, code, "exit code after SIGTERM, %s later", time.Since(began))
}

// say lets a person write; words ask the model for something.
func (w *world) say(person int64, words string) chaos.Said {
	token := chaos.Token(int(person), w.count[person], w.rng.Uint32())
	w.count[person]++
	event := w.chat.say(person, strings.TrimSpace(token+" "+words))
	s := chaos.Said{Chat: person, Token: token, Event: event}
	w.said = append(w.said, s)
	return s
}

// sent are the texts of each chat, as people see them now.
func (w *world) sent() map[int64][]string {
	texts := map[int64][]string{}
	for person := range w.count {
		for _, text := range w.chat.shown(person) {
			if !strings.HasPrefix(text, "Line ") { // a later piece of a long answer
				texts[person] = append(texts[person], text)
			}
		}
	}
	return texts
}

// telegram is the fake of a world that has Telegram.
func (w *world) telegram() *telegramtest.Server { return w.chat.(telegramPlatform).Server }

// megabyte is a message beyond any platform's limit.
func megabyte() string { return strings.Repeat("Much ado. ", 1<<20/10) }

// pause lets a random moment come. The moments of kills are what these tests are about.
func (w *world) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.t.Context().Done():
	}
}

func (w *world) noteShown() {
	select {
	case w.shown <- struct{}{}:
	default: // the caller that waits has not looked yet
	}
}

// untilShown waits until the chats show what they shall. It looks after each message.
func (w *world) untilShown(what string, cond func() bool) {
	w.t.Helper()
	deadline := time.NewTimer(answerWithin)
	defer deadline.Stop()
	for !cond() {
		select {
		case <-w.shown:
		case <-deadline.C:
			require.FailNow(w.t, "not in time: "+what, "unanswered: %v", chaos.Judge(w.said, w.sent()).Unanswered)
		}
	}
}

// untilIdle waits until the gateway says that no run is at work and no delivery
// on its way. It has to ask: the gateway tells nobody outside that it has
// stored a receipt, and what it could tell would be lost in a kill.
func (w *world) untilIdle() {
	w.t.Helper()
	deadline := time.Now().Add(answerWithin)
	for w.working() > 0 || w.underWay() > 0 {
		require.True(w.t, time.Now().Before(deadline), "not in time: nothing at work and nothing on its way")
		w.pause(askEvery)
	}
}
