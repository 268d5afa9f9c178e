package wire

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Strict refuses query parameters that a route's description does not list: a
// misspelt filter must not select more than was meant. It covers every route of
// the API, also routes without a description, and notes, whose title belongs in a header. A path with "." or ".." names
// nothing: the router would redirect to another path.
func Strict(mux *http.ServeMux, doc *huma.OpenAPI, refuse func(w http.ResponseWriter, r *http.Request, e *Error)) http.Handler {
	known := queries(doc)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if segments := strings.Split(r.URL.EscapedPath(), "/"); slices.Contains(segments, ".") || slices.Contains(segments, "..") {
			refuse(w, r, ErrNotFound)
			return
		}
		if _, route := mux.Handler(r); r.URL.RawQuery != "" && (strings.Contains(route, " /v1/") || strings.Contains(route, " /notify")) {
			if e := misspelt(r.URL.RawQuery, known[strings.ReplaceAll(route, "...}", "}")]); e != nil {
				refuse(w, r, e)
				return
			}
		}
		mux.ServeHTTP(w, r)
	})
}

// misspelt names the first parameter of a query that its route does not know; nil if it knows all.
func misspelt(query string, known []string) *Error {
	given, err := url.ParseQuery(query)
	if err != nil {
		return BadRequest("query: it cannot be parsed: " + err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			return Invalid(name + ": unknown query parameter")
		}
	}
	return nil
}

// queries lists the names of the described query parameters by route.
func queries(doc *huma.OpenAPI) map[string][]string {
	known := map[string][]string{}
	for path, item := range doc.Paths {
		for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if o == nil {
				continue
			}
			for _, p := range o.Parameters {
				if p.In == "query" {
					known[o.Method+" "+path] = append(known[o.Method+" "+path], p.Name)
				}
			}
		}
	}
	return known
}
