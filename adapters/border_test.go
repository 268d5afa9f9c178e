package adapters_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestMoment(t *testing.T) {
	t.Parallel()
	sent := now.Add(-time.Minute)
	for name, c := range map[string]struct{ at, want time.Time }{
		"a moment":                        {sent, sent},
		"in another zone":                 {sent.In(time.FixedZone("x", 3600)), sent},
		"none":                            {time.Time{}, now},
		"before 1970":                     {time.Unix(-1, 0), now},
		"milliseconds read as seconds":    {time.Unix(sent.UnixMilli(), 0), now},
		"microseconds read as seconds":    {time.Unix(sent.UnixMicro(), 0), now},
		"the greatest number":             {time.Unix(1<<63-1, 0), now},
		"the least number":                {time.Unix(-1<<63, 0), now},
		"one that JSON takes in its zone": {time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("x", -23*3600)), now},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, adapters.NewReceipt("7", c.at, now).At)
			require.Equal(t, c.want, adapters.Inbound{SentAt: c.at}.Fit(now).SentAt)
		})
	}
}

func TestID(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"", "1700000000.000100", "-100200", strings.Repeat("x", adapters.IDMax)} {
		require.Equal(t, plain, adapters.ID(plain))
	}
	long := strings.Repeat("x", 100_000)
	require.Len(t, adapters.ID(long), adapters.IDMax/2+33)
	require.NotEqual(t, adapters.ID(long), adapters.ID(long+"y"), "two long ids stay two")
	require.NotEqual(t, adapters.ID("a\x00"), adapters.ID("a\xff"), "two ids that can't be stored stay two")
	require.Equal(t, adapters.ID(sessions.UserID(long)), adapters.ID(adapters.ID(sessions.UserID(long))))
}

// Whatever a platform sends, its receipt and its event fit: JSON takes them as they are, and no id is longer than an index takes.
func FuzzFit(f *testing.F) {
	f.Add("7", "hello", int64(1_700_000_000), int64(0))
	f.Add("\x00", "\xff", int64(1_700_000_000_000), int64(1<<62))
	f.Add(strings.Repeat("é", 300), "nul \x00", int64(-1<<63), int64(-1))
	f.Fuzz(func(t *testing.T, id, text string, seconds, nanos int64) {
		at := time.Unix(seconds, nanos)
		r := adapters.NewReceipt(id, at, now)
		r.Moved = &adapters.Migration{From: sessions.ConversationID(id), To: sessions.ConversationID(text)}
		fits(t, r.Fit(now), string(r.Fit(now).MessageID), string(r.Fit(now).Moved.To))
		in := adapters.Inbound{
			Event: id, MessageID: sessions.PlatformMessageID(id), Text: text, Quotations: []sessions.Quotation{{Text: text, From: sessions.Peer{Name: text}, Files: []string{text}}}, SentAt: at, Roles: []string{id},
			Route:       sessions.Route{Conversation: sessions.ConversationID(id), Thread: sessions.ThreadID(text), Title: text},
			Sender:      sessions.Peer{ID: sessions.UserID(id), Name: text, Username: text},
			Attachments: []sessions.Attachment{{Name: text, Ref: text}}, Reaction: &adapters.Reaction{Emoji: text},
		}.Fit(now)
		fits(t, in, in.Event, string(in.Route.Thread), string(in.Sender.ID), in.Reaction.Emoji, in.Roles[0])
		require.Equal(t, in, in.Fit(now), "what fits is left as it is")
		require.NotContains(t, in.Text+in.Quotations[0].Text+in.Quotations[0].Files[0]+in.Sender.Name+in.Route.Title+in.Attachments[0].Ref, "\x00")
		require.True(t, utf8.ValidString(in.Text+in.Sender.Username))
	})
}

func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]time.Duration{
		-3: 0, 0: 0, math.NaN(): 0, math.Inf(-1): 0, 0.25: 250 * time.Millisecond, 2: 2 * time.Second,
		86400: 24 * time.Hour, 86401: 24 * time.Hour, 1e300: 24 * time.Hour, math.Inf(1): 24 * time.Hour,
	} {
		require.Equal(t, want, adapters.Wait(n, time.Second), n)
	}
	require.Equal(t, 2*time.Millisecond, adapters.Wait(2, time.Millisecond))
}

func fits(t *testing.T, v any, ids ...string) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.NotContains(t, string(text), `\u0000`)
	for _, id := range ids {
		require.LessOrEqual(t, len(id), adapters.IDMax)
		require.True(t, utf8.ValidString(id))
	}
}
