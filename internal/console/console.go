// Package console serves the web page: a chat with the agents, and views of sessions, deliveries and the gateway's
// state. It is plain HTML, CSS and JavaScript without a build step, embedded in the binary. It stores no data.
package console

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed page
var files embed.FS

// Handler serves the page's files and answers 404 for anything else. If the page is off, it serves nothing.
func Handler(on bool) http.Handler {
	page, err := fs.Sub(files, "page")
	if err != nil || !on {
		return http.NotFoundHandler()
	}
	server := http.FileServerFS(page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache") // a new version of the gateway brings a new page
		server.ServeHTTP(w, r)
	})
}
