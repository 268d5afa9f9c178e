package chaos_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/chaos"
	"sluice/internal/chaos/child"
	"sluice/internal/chaos/completions"
	"sluice/internal/freeport"
	"sluice/store/storetest"
)

// shardOf chooses the shard of a conversation: the one with the highest hash (rendezvous hashing).
func shardOf(conversation string, shards int) int {
	best, highest := 0, uint64(0)
	for i := range shards {
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%s on shard %d", conversation, i) // never fails
		sum := h.Sum64()
		sum ^= sum >> 33 // FNV leaves the hashes of texts that end alike close together
		sum *= 0xff51afd7ed558ccd
		sum ^= sum >> 33
		if i == 0 || sum > highest {
			best, highest = i, sum
		}
	}
	return best
}

// Another shard takes its share of the conversations from each of the others, and no other conversation moves.
func TestAnotherShardMovesFewConversations(t *testing.T) {
	t.Parallel()
	const conversations = 20_000
	for shards := 1; shards < 6; shards++ {
		moved := 0
		for i := range conversations {
			key := "telegram:" + strconv.Itoa(i)
			if now := shardOf(key, shards+1); now != shardOf(key, shards) {
				require.Equal(t, shards, now, "it moves to the new shard")
				moved++
			}
		}
		require.InEpsilon(t, float64(conversations)/float64(shards+1), moved, 0.05)
	}
}

// shard is a gateway of several replicas with a database server, a bot and a NATS account of its own.
type shard struct {
	database *storetest.Server
	url      string
	bot      *telegramtest.Bot
	configs  []child.Config
	replicas []*child.Process
	subjects chan *nats.Msg // everything on the shard's NATS account
}

// shards are some shards on one NATS server and one Telegram.
type shards struct {
	t     *testing.T
	all   []*shard
	rng   *rand.Rand
	said  []chaos.Said
	count map[int64]int
	shown chan struct{} // capacity 1; after each message of a bot
}

// farAsker is a person of shard 0 whose agent works in shard 1.
const farAsker = 2001

const shardReplicas = 2

func newShards(t *testing.T, n int) *shards {
	t.Helper()
	w := &shards{t: t, rng: rand.New(rand.NewPCG(*seed+95, 0)), count: map[int64]int{}, shown: make(chan struct{}, 1)}
	t.Logf("seed: -chaos.seed=%d", *seed)
	binary, err := built.usual()
	require.NoError(t, err)
	var tokens []string
	for i := range n {
		tokens = append(tokens, fmt.Sprintf("%d:token-of-the-bot-of-a-shard", 1000001+i))
	}
	telegram := telegramtest.Start(t, telegramtest.Options{Tokens: tokens, OnSent: func(telegramtest.Message) {
		select {
		case w.shown <- struct{}{}:
		default: // the caller that waits has not looked yet
		}
	}})
	model, err := completions.NewServer(completions.Options{})
	require.NoError(t, err)
	t.Cleanup(model.Close)
	bus := startAccounts(t, n)
	for i := range n {
		s := &shard{database: storetest.NewServer(t), bot: telegram.BotFor(tokens[i]), subjects: make(chan *nats.Msg, 1<<16)}
		s.url = s.database.Database(t)
		w.all = append(w.all, s)
		conn, err := nats.Connect(bus[i])
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		_, err = conn.ChanSubscribe("sluice.>", s.subjects)
		require.NoError(t, err)
		for r := range shardReplicas {
			addr, err := freeport.Addr()
			require.NoError(t, err)
			s.configs = append(s.configs, child.Config{
				State: filepath.Join(t.TempDir(), fmt.Sprintf("shard%d-%d", i, r)), Listen: addr, Channels: child.Telegram(telegram.URL(), tokens[i]),
				Model: "openai/fake", ModelURL: model.OpenAIURL(), QueueMode: "followup", StoreURL: s.url, BusURL: bus[i],
			})
		}
	}
	for i := range w.all[0].configs {
		w.all[0].configs[i].Extra = fmt.Sprintf(`agents:
  list:
    - { id: main, default: true, name: Main }
    - { id: far, name: Far, kind: a2a, url: "http://%s", auth: "Bearer %s", classification: RESTRICTED }
bindings:
  - { match: { channel: telegram, peer: "%d" }, agent: far }
`, w.all[1].configs[0].Listen, child.APIToken, farAsker)
		w.all[1].configs[i].Extra = "agents: { list: [{ id: main, default: true, name: Main, publish: { a2a: true } }] }\n"
	}
	for _, s := range w.all {
		for _, c := range s.configs {
			p, err := child.Start(binary, c)
			require.NoError(t, err)
			s.replicas = append(s.replicas, p)
			t.Cleanup(func() {
				p.Kill()
				if t.Failed() {
					t.Logf("%s:\n%s", c.State, tail(c.LogPath()))
				}
			})
		}
	}
	for i := range w.all {
		w.ready(i)
	}
	return w
}

// startAccounts starts a NATS server with an account for each shard, and returns their URLs. A message of one account reaches no
// other.
func startAccounts(t *testing.T, n int) (urls []string) {
	t.Helper()
	dir := t.TempDir()
	var accounts strings.Builder
	for i := range n {
		fmt.Fprintf(&accounts, "  shard%d { jetstream: enabled, users: [{ user: shard%d, password: secret }] }\n", i, i)
	}
	file := filepath.Join(dir, "nats.conf")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q }\naccounts {\n%s}\n", dir, accounts.String()), 0o600))
	options, err := server.ProcessConfigFile(file)
	require.NoError(t, err)
	options.NoSigs, options.NoLog = true, true
	s, err := server.NewServer(options)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(readyWithin))
	for i := range n {
		urls = append(urls, fmt.Sprintf("nats://shard%d:secret@%s", i, s.Addr()))
	}
	return urls
}

// ready waits until all replicas of a shard are ready.
func (w *shards) ready(i int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), startWithin)
	defer cancel()
	for _, p := range w.all[i].replicas {
		require.NoError(w.t, p.WaitReady(ctx))
	}
}

// home is the shard of a person's conversation.
func (w *shards) home(person int64) int {
	if person == farAsker {
		return 0
	}
	return shardOf("telegram:"+strconv.FormatInt(person, 10), len(w.all))
}

func (w *shards) say(person int64) {
	token := chaos.Token(int(person), w.count[person], w.rng.Uint32())
	w.count[person]++
	w.all[w.home(person)].bot.Say(telegramtest.Private(person), telegramtest.User{ID: person, FirstName: "P"}, token)
	w.said = append(w.said, chaos.Said{Chat: person, Token: token})
}

// talk lets people write.
func (w *shards) talk(messages int) {
	for range messages {
		w.say(1001 + w.rng.Int64N(12))
	}
}

// verdict is the outcome of the messages to some shards.
func (w *shards) verdict(of func(shard int) bool) chaos.Verdict {
	var said []chaos.Said
	sent := map[int64][]string{}
	for _, s := range w.said {
		if home := w.home(s.Chat); of(home) {
			said = append(said, s)
			sent[s.Chat] = nil
		}
	}
	for person := range sent {
		for _, m := range w.all[w.home(person)].bot.Sent(person) {
			sent[person] = append(sent[person], m.Plain)
		}
	}
	return chaos.Judge(said, sent)
}

// untilAnswered waits until all messages to some shards have an answer.
func (w *shards) untilAnswered(of func(shard int) bool) {
	w.t.Helper()
	deadline := time.NewTimer(answerWithin)
	defer deadline.Stop()
	for len(w.verdict(of).Unanswered) > 0 {
		select {
		case <-w.shown:
		case <-deadline.C:
			require.FailNow(w.t, "not answered in time", "%v", w.verdict(of).Unanswered)
		}
	}
}

// stored are the ids of the sessions in a shard's database, the people in their keys, and how many sessions are not a
// person's conversation.
func (w *shards) stored(i int) (ids map[string]bool, people map[int64]bool, others int) {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.all[i].url)
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, conn.Close(context.WithoutCancel(w.t.Context()))) }()
	rows, err := conn.Query(w.t.Context(), `SELECT id, skey FROM sessions`)
	require.NoError(w.t, err)
	ids, people = map[string]bool{}, map[int64]bool{}
	var id, key string
	_, err = pgx.ForEachRow(rows, []any{&id, &key}, func() error {
		ids[id] = true
		if person, err := strconv.ParseInt(key[strings.LastIndexByte(key, ':')+1:], 10, 64); err == nil && strings.Contains(key, ":telegram:") {
			people[person] = true
			return nil
		}
		others++
		return nil
	})
	require.NoError(w.t, err)
	return ids, people, others
}

// The plan beyond one database: each shard is a gateway with its own database, replicas, bot and NATS account, and a stable hash
// says which conversations it has. A shard whose database is killed affects no other. What is said in one shard
// reaches another only if an agent asks the other shard's agent over A2A.
func TestShards(t *testing.T) {
	t.Parallel()
	messages := 30
	if *long {
		messages = 1000
	}
	w := newShards(t, 2)
	everybody := func(int) bool { return true }
	first := func(i int) bool { return i == 0 }

	w.say(farAsker)
	w.talk(messages)
	w.untilAnswered(everybody)

	w.all[1].database.Kill(t)
	began := time.Now()
	w.talk(messages)
	w.untilAnswered(first)
	w.ready(0)
	t.Logf("shard 0 answered everybody %s after the database of shard 1 was killed", time.Since(began).Round(time.Millisecond))
	require.NotEmpty(t, w.verdict(everybody).Unanswered, "shard 1 answers nobody without its database")
	for _, c := range w.all[0].configs {
		log, err := os.ReadFile(c.LogPath())
		require.NoError(t, err)
		require.NotContains(t, string(log), "database is unavailable")
	}

	w.all[1].database.Start(t)
	w.ready(1)
	w.say(farAsker)
	w.talk(messages)
	w.untilAnswered(everybody)
	require.Empty(t, w.verdict(everybody).Faults(nil), "seed -chaos.seed=%d", *seed)

	for i, s := range w.all {
		ids, people, others := w.stored(i)
		require.Equal(t, i, others, "shard 1 has one session for the other shard's agent")
		for person := range w.count {
			require.Equal(t, w.home(person) == i, people[person], "person %d in shard %d", person, i)
		}
		seen := 0
		for len(s.subjects) > 0 {
			m := <-s.subjects
			if id, ok := strings.CutPrefix(m.Subject, "sluice.events."); ok {
				require.True(t, ids[id], "shard %d sees an event of a session that is not in its database: %s", i, id)
				seen++
			}
		}
		require.Positive(t, seen)
	}
}
