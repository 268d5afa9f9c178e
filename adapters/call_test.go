package adapters_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

// A caller that repeats a call must know whether the first one may have arrived.
func TestRequestReportsWhetherItWasSent(t *testing.T) {
	t.Parallel()
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(answers.Close)
	breaks := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(breaks.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for name, c := range map[string]struct {
		url       string
		sent, got bool
	}{
		"answered":                   {answers.URL, true, true},
		"connected without response": {breaks.URL, true, false},
		"no connection":              {"http://" + closed.Addr().String(), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport := adapters.NewTransport(1)
			defer transport.CloseIdleConnections()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, http.NoBody)
			require.NoError(t, err)
			resp, sent, err := adapters.Request(&http.Client{Transport: transport}, r)
			require.Equal(t, c.sent, sent)
			if !c.got {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, http.StatusTeapot, resp.StatusCode)
			require.NoError(t, resp.Body.Close())
		})
	}
}

func TestAsked(t *testing.T) {
	t.Parallel()
	var asked adapters.Asked[int]
	require.Nil(t, asked.Known())
	errDown := errors.New("down")
	_, err := asked.Get(t.Context(), func(context.Context) (*int, error) { return nil, errDown })
	require.ErrorIs(t, err, errDown)
	require.Nil(t, asked.Known(), "a failure is not remembered")
	questions := 0
	var wg, ready sync.WaitGroup
	ready.Add(20)
	for range 20 {
		wg.Go(func() {
			ready.Done()
			v, err := asked.Get(t.Context(), func(context.Context) (*int, error) {
				questions++
				ready.Wait() // the answer comes when all callers want it
				return new(7), nil
			})
			if err != nil || *v != 7 {
				t.Errorf("got %v, %v", v, err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, questions)
	asked.Set(new(8))
	require.Equal(t, 8, *asked.Known())
}
