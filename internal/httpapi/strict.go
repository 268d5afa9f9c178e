package httpapi

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// strict refuses query parameters that a route's description does not have: a
// misspelt filter must not select more than was meant. It stands before all
// routes of the API, those without a description too, so that none can be
// without it.
func strict(mux *http.ServeMux, doc *huma.OpenAPI) http.Handler {
	known := queries(doc)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, route := mux.Handler(r); r.URL.RawQuery != "" && strings.Contains(route, " /v1/") {
			if e := misspelt(r.URL.RawQuery, known[strings.ReplaceAll(route, "...}", "}")]); e != nil {
				writeError(w, e)
				return
			}
		}
		mux.ServeHTTP(w, r)
	})
}

// misspelt says what in a query is no parameter of its route; nil if nothing is.
func misspelt(query string, known []string) *apiError {
	given, err := url.ParseQuery(query)
	if err != nil {
		return badRequest("the query cannot be read: " + err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			return &apiError{http.StatusUnprocessableEntity, "invalid_request", name + ": unknown query parameter"}
		}
	}
	return nil
}

// queries are the names of the query parameters that the description has, by route.
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
