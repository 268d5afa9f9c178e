package router_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/outbound"
	"sluice/router/quota"
	"sluice/sessions"
)

// notes are the notes of a message's attachments, and how many of them are stored.
func notes(parts []sessions.Part) (all []string, stored int) {
	for _, p := range parts {
		if p.Attachment == nil {
			continue
		}
		all = append(all, p.Attachment.Note)
		if p.Attachment.Media != "" {
			stored++
		}
	}
	return all, stored
}

func photo(name string) sessions.Attachment {
	return sessions.Attachment{Kind: "document", Ref: name, Name: name}
}

func TestFilesOfASessionAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const each = 10 << 10
		f := &filing{files: map[string][]byte{"f": make([]byte, each), "g": make([]byte, each)}}
		b := newBundle(t, func(b *bundle) {
			f.chat, b.adapter, b.settings.SessionFileBytes = b.chat, f, 3*(each+4<<10) // a file counts 4 KiB besides its content
		})
		got, stored := notes(b.heard(b.hear(withFiles(photo("f"), photo("f"))).Run))
		require.Equal(t, 2, stored, got)

		second := withFiles(photo("f"), photo("g"))
		second = withID(second, "2")
		run := b.ended(b.hear(second).Run)
		require.Equal(t, sessions.RunDone, run.Status, "the message is taken all the same")
		record, err := b.store.Session(t.Context(), run.Session)
		require.NoError(t, err)
		thread, err := b.store.Thread(t.Context(), record)
		require.NoError(t, err)
		got, stored = notes(thread[2].Parts)
		require.Equal(t, 1, stored, got)
		require.Equal(t, "it was not stored: the files that were sent in this conversation use 42 KiB of at most 42 KiB (limits.sessionBytes); start a new conversation with /new, or wait until old files are deleted (retention.media)", got[1])
		held, err := b.store.MediaHeld(t.Context(), run.Session, 0)
		require.NoError(t, err)
		require.Equal(t, int64(3*each), held)

		other := withFiles(photo("f"))
		other.Event, other.Sender.ID, other.Route.Conversation = "3", "bob", "chat-bob"
		_, stored = notes(b.heard(b.hear(other).Run))
		require.Equal(t, 1, stored, "the bound is of one session")
	})
}

// The reserve is asked before a file is fetched, and again with its true size.
func TestFilesLeaveTheReserve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said    int64
		refuses func(n int64) error
		note    string
		fetched bool
	}{
		"none left":        {0, func(int64) error { return &quota.FullError{Text: "the disk is short of space"} }, "it was not stored: the disk is short of space", false},
		"none for it":      {1 << 10, above(1000, &quota.FullError{Text: "the disk is short of space"}), "it was not stored: the disk is short of space", false},
		"the size was not": {5, above(1000, &quota.FullError{Text: "the disk is short of space"}), "it was not stored: the disk is short of space", true},
		"the disk fails":   {0, func(int64) error { return errors.New("statfs /secret/path: input/output error") }, "it could not be downloaded", false},
		"enough":           {0, above(1<<20, &quota.FullError{Text: "the disk is short of space"}), "its content can't be shown", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &filing{files: map[string][]byte{"f": make([]byte, 2<<10)}}
				b := newBundle(t, func(b *bundle) { f.chat, b.adapter, b.disk = b.chat, f, c.refuses })
				at := photo("f")
				at.Size = c.said
				got, _ := notes(b.heard(b.hear(withFiles(at)).Run))
				require.Equal(t, []string{c.note}, got)
				require.Equal(t, c.fetched, f.fetched > 0)
				require.Zero(t, f.open, "every body is closed")
			})
		})
	}
}

// above refuses what is larger.
func above(most int64, err error) quota.Disk {
	return func(n int64) error {
		if n > most {
			return err
		}
		return nil
	}
}

// A message without files asks neither the disk nor the store.
func TestMessagesWithoutFilesAskForNoRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.settings.SessionFileBytes = 1
			b.disk = func(int64) error { t.Error("the disk was asked"); return nil }
		})
		b.heard(b.hear(in("ann", "1", "no file")).Run)
		b.heard(b.hear(withID(withFiles(sessions.Attachment{Kind: "location", Name: "52.5, 13.4"}), "2")).Run)
	})
}

func withID(m adapters.Inbound, id string) adapters.Inbound {
	m.Event = id
	return m
}

func TestFilesOfProgramsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var short error
		b := newBundle(t, func(b *bundle) {
			b.settings.ProgramFileBytes = 64 << 10
			b.disk = func(int64) error { mu.Lock(); defer mu.Unlock(); return short }
		})
		p := outbound.Proactive{
			Channel: "test", To: "ann", Text: "the report", Label: flow.Bottom(), Idempotency: "monday",
			Files: []outbound.NewFile{{Name: "a.txt", Content: []byte(strings.Repeat("x", 28<<10))}},
		}
		first, err := b.Sender.Send(t.Context(), p)
		require.NoError(t, err)
		full := func(want string, idempotency string) {
			t.Helper()
			q := p
			q.Idempotency = idempotency
			_, err := b.Sender.Send(t.Context(), q)
			why, ok := errors.AsType[*quota.FullError](err)
			require.True(t, ok, "%v", err)
			require.Contains(t, why.Text, want)
		}
		q := p
		q.Idempotency = "tuesday"
		_, err = b.Sender.Send(t.Context(), q)
		require.NoError(t, err)
		full("limits.workspaceBytes", "")
		full("limits.workspaceBytes", "wednesday")
		again, err := b.Sender.Send(t.Context(), p)
		require.NoError(t, err, "what was stored before needs no room")
		require.Equal(t, first.ID, again.ID)
		mu.Lock()
		short = &quota.FullError{Text: "the disk is short of space"}
		mu.Unlock()
		full("the disk is short of space", "thursday")
		held, err := b.store.MediaHeld(t.Context(), "", 0)
		require.NoError(t, err)
		require.Equal(t, int64(56<<10), held)
	})
}
