package discord_test

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/stretchr/testify/require"
)

// These tests pin why the library's REST client is not used for Discord (decision 0005). One that fails after an update
// says that a reason is gone.

// answers is Discord for the library: one answer to each call.
type answers struct {
	status int
	header http.Header
	body   string
	calls  int
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	a.calls++
	header := a.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Header: header,
		Body: io.NopCloser(strings.NewReader(a.body)), Request: r,
	}, nil
}

func library(t *testing.T, a *answers) *discordgo.Session {
	t.Helper()
	s, err := discordgo.New("Bot token")
	require.NoError(t, err)
	s.Client = &http.Client{Transport: a}
	return s
}

// It waits for a limit without looking at the call's context, with the bucket locked: a lane could not end with its run.
func TestTheLibraryWaitsPastTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &answers{status: http.StatusOK, body: `{"id":"1"}`, header: http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset-After": {"60"}}}
		s := library(t, a)
		_, err := s.ChannelMessageSend("1", "one")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		_, err = s.ChannelMessageSend("1", "two", discordgo.WithContext(ctx))
		require.ErrorIs(t, err, context.Canceled)
		require.GreaterOrEqual(t, time.Since(began), 59*time.Second, "it slept through the end of its context")
		require.Equal(t, 1, a.calls)
	})
}

// A message that was posted comes back as an ordinary error where its answer has something newer than the library, or a
// header that it can't read: neither says that the message may have been delivered, nor which it is.
func TestTheLibraryLosesReceipts(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]*answers{
		"a new component":  {status: http.StatusOK, body: `{"id":"1","components":[{"type":999}]}`},
		"a field's type":   {status: http.StatusOK, body: `{"id":"1","flags":"many"}`},
		"a broken header":  {status: http.StatusOK, body: `{"id":"1"}`, header: http.Header{"X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Reset-After": {"soon"}}},
		"a proxy's answer": {status: http.StatusOK, body: `<html>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := library(t, a).ChannelMessageSend("1", "one")
			require.Error(t, err)
			require.True(t, m == nil || m.ID == "", "the message's id is lost")
			require.Equal(t, 1, a.calls, "the message was posted")
		})
	}
}

// After a 502, which Discord's edge gives for messages that were taken too, it posts again by itself.
func TestTheLibraryRepeatsByItself(t *testing.T) {
	t.Parallel()
	a := &answers{status: http.StatusBadGateway}
	_, err := library(t, a).ChannelMessageSend("1", "one")
	require.Error(t, err)
	require.Greater(t, a.calls, 1)
}

// Its messages have no nonce to enforce, by which Discord knows a repetition.
func TestTheLibrarySendsNoNonce(t *testing.T) {
	t.Parallel()
	_, has := reflect.TypeFor[discordgo.MessageSend]().FieldByName("EnforceNonce")
	require.False(t, has)
}
