package app_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"sluice/internal/backup"
	"sluice/store/storetest"
)

// talk is what one conversation has been told: text i was answered before i+1 was sent.
type talk struct {
	id       string
	mu       sync.Mutex
	answered int
}

func (l *talk) said() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answered
}

// texts returns what a conversation of a gateway has, in order.
func texts(g *gateway, id string) (all []string) {
	var history struct{ Messages []struct{ Text string } }
	read(g.t, g.call(http.MethodGet, "/v1/sessions/"+id+"/history?limit=500", ""), http.StatusOK, &history)
	for _, m := range history.Messages {
		all = append(all, m.Text)
	}
	return all
}

// A backup that is made while messages arrive has, of each conversation, everything that was answered before it began,
// and a beginning of what came later, without gaps. Its audit trail is whole, its files are there, and the restored
// gateway goes on.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func() string{
		"SQLite":     func() string { return "" },
		"PostgreSQL": func() string { return storetest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const common = "models: { default: offline/echo }\n"
			from, to := database(), database()
			g := start(t, common+"store: { url: \""+from+"\" }\n")
			require.NoError(t, os.MkdirAll(filepath.Join(g.state, "workspaces", "main"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(g.state, "workspaces", "main", "note.txt"), []byte("kept"), 0o600))

			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			talks := make([]*talk, 3)
			reached := make(chan struct{}, len(talks))
			var writers sync.WaitGroup
			for i := range talks {
				var session struct{ ID string }
				read(t, g.call(http.MethodPost, "/v1/sessions", `{}`), http.StatusCreated, &session)
				talks[i] = &talk{id: session.ID}
				writers.Go(func() { talks[i].run(ctx, g, reached) })
			}
			for range talks {
				<-reached
			}
			key, err := age.GenerateX25519Identity()
			require.NoError(t, err)
			before := make([]int, len(talks))
			for i, l := range talks {
				before[i] = l.said()
			}
			var archive bytes.Buffer
			source := backup.Source{Version: "test", State: g.state, Store: from, Now: time.Now()}
			made, err := backup.Create(t.Context(), source, &archive, []age.Recipient{key.Recipient()})
			require.NoError(t, err)
			stop()
			writers.Wait()
			require.Positive(t, made.Schema)

			target := backup.Target{State: filepath.Join(t.TempDir(), "state"), Store: to, Now: time.Now()}
			_, err = backup.Restore(t.Context(), bytes.NewReader(archive.Bytes()), target, nil)
			require.ErrorIs(t, err, backup.ErrEncrypted)
			_, err = backup.Restore(t.Context(), bytes.NewReader(archive.Bytes()[:archive.Len()*3/4]), target, []age.Identity{key})
			require.Error(t, err, "cut off")
			_, err = backup.Restore(t.Context(), bytes.NewReader(archive.Bytes()), target, []age.Identity{key})
			require.NoError(t, err)
			note, err := os.ReadFile(filepath.Join(target.State, "workspaces", "main", "note.txt"))
			require.NoError(t, err)
			require.Equal(t, "kept", string(note))

			restored := &gateway{t: t, state: target.State, log: newOutput()}
			restored.cfg = load(t, target.State, common+"store: { url: \""+to+"\" }\n")
			restored.begin()
			t.Cleanup(restored.end)
			for i, l := range talks {
				had, has := texts(g, l.id), texts(restored, l.id)
				require.GreaterOrEqual(t, len(has), 2*before[i], "what was answered before the backup")
				require.LessOrEqual(t, len(has), len(had)+1)
				require.Equal(t, had[:min(len(has), len(had))], has[:min(len(has), len(had))], "the same, in the same order")
			}
			report, err := restored.Store().VerifyAudit(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, report.Faults)
			var reply turnReply
			read(t, restored.call(http.MethodPost, "/v1/sessions/"+talks[0].id+"/messages", `{"message":"again"}`), http.StatusOK, &reply)
			require.Equal(t, "echo: again", reply.Reply)

			_, err = backup.Restore(t.Context(), bytes.NewReader(archive.Bytes()), target, []age.Identity{key})
			require.Error(t, err, "there is a gateway already")
		})
	}
}

// run sends messages until ctx ends, each after the answer to the previous one.
func (l *talk) run(ctx context.Context, g *gateway, reached chan<- struct{}) {
	for n := 1; n <= 200 && ctx.Err() == nil; n++ { // one page of history has them
		body := fmt.Sprintf(`{"message":"text %d"}`, n)
		req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, g.url("/v1/sessions/"+l.id+"/messages"), bytes.NewReader([]byte(body)))
		if err != nil {
			return
		}
		req.Header.Set("Authorization", "Bearer "+g.Token())
		req.Header.Set("Accept", "application/json")
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return
		}
		l.mu.Lock()
		l.answered = n
		l.mu.Unlock()
		if n == 10 {
			reached <- struct{}{}
		}
	}
}

// What does not fit is refused before anything is changed.
func TestRestoreRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	var archive bytes.Buffer
	_, err := backup.Create(t.Context(), backup.Source{State: g.state, Now: time.Now()}, &archive, nil)
	require.NoError(t, err)
	restore := func(data []byte, target backup.Target) error {
		target.Now = time.Now()
		_, err := backup.Restore(t.Context(), bytes.NewReader(data), target, nil)
		return err
	}
	empty := filepath.Join(t.TempDir(), "state")
	require.ErrorContains(t, restore(archive.Bytes(), backup.Target{State: g.state, Replace: true}), "stop it first")
	require.NoError(t, restore(archive.Bytes(), backup.Target{State: g.state, Check: true}), "beside the gateway")
	require.ErrorContains(t, restore(archive.Bytes(), backup.Target{State: empty, Store: "postgres://db/sluice"}), "is of sqlite")
	require.ErrorContains(t, restore([]byte("something else"), backup.Target{State: empty}), "not a backup")
	damaged := bytes.Clone(archive.Bytes())
	damaged[len(damaged)/2] ^= 1
	require.Error(t, restore(damaged, backup.Target{State: empty}))
	for name, more := range map[string][]byte{
		"a second backup": archive.Bytes(), "something else": []byte("x"), "a byte": {0x1f},
	} {
		followed := slices.Concat(archive.Bytes(), more)
		require.ErrorContains(t, restore(followed, backup.Target{State: empty}), "more data after the backup", name)
	}
	require.ErrorContains(t, restore(archive.Bytes()[:archive.Len()-4], backup.Target{State: empty}), "incomplete", "the last checksum is missing")
	require.NoFileExists(t, filepath.Join(empty, "sluice.db"))
	require.NoError(t, restore(archive.Bytes(), backup.Target{State: empty, Check: true}))
	require.NoFileExists(t, filepath.Join(empty, "sluice.db"))
	require.NoError(t, restore(archive.Bytes(), backup.Target{State: empty}))
	require.ErrorContains(t, restore(archive.Bytes(), backup.Target{State: empty}), "--replace")
	require.NoError(t, restore(archive.Bytes(), backup.Target{State: empty, Replace: true}))
	left, err := filepath.Glob(filepath.Join(empty, "before-restore-*", "sluice.db"))
	require.NoError(t, err)
	require.Len(t, left, 1)
}
