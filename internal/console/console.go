// Package console is the page: a chat with the agents and a look at sessions,
// deliveries and the gateway's state. It is plain HTML, CSS and JavaScript
// without a build step, embedded in the binary; it holds no data of its own.
package console

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed page
var files embed.FS

// Handler serves the page's files; anything else is not found. Where the page is off nothing is served.
func Handler(on bool) http.Handler {
	page, err := fs.Sub(files, "page")
	if err != nil || !on {
		return http.NotFoundHandler()
	}
	server := http.FileServerFS(page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache") // a new version of the gateway has a new page
		server.ServeHTTP(w, r)
	})
}
