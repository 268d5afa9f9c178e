package app_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// lateBody is a body whose first byte comes when ctx ends.
type lateBody struct {
	io.ReadCloser
	ctx context.Context
}

func (l *lateBody) Read(p []byte) (int, error) {
	<-l.ctx.Done()
	return l.ReadCloser.Read(p)
}

// The header of the page names modules. A browser may read all of them before the page, which has the map of the names of libraries.
func TestPageComesAfterItsModules(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	to, err := url.Parse(g.url(""))
	require.NoError(t, err)
	var mu sync.Mutex
	modules := map[string]bool{} // that have not been read
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ModifyResponse: func(r *http.Response) error {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range regexp.MustCompile(`<([^>]+)>`).FindAllStringSubmatch(r.Header.Get("Link"), -1) {
				modules[m[1]] = true
				r.Body = &lateBody{r.Body, ctx}
			}
			return nil
		},
		FlushInterval: -1,
	}
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r)
		mu.Lock()
		defer mu.Unlock()
		if modules[r.URL.Path] {
			if delete(modules, r.URL.Path); len(modules) == 0 {
				cancel()
			}
		}
	}))
	t.Cleanup(func() { slow.CloseClientConnections(); slow.Close() })
	b := newBrowser(t)
	b.open(slow.URL + "/conversations/main#token=" + g.Token())
	b.state("connected")
	require.NotErrorIs(t, ctx.Err(), context.DeadlineExceeded, "not read: %v", modules)
}
