package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"sluice/internal/httpapi/wire"
)

// registrar registers handlers and describes them in the OpenAPI document. The errors of all handlers become responses here.
type registrar struct {
	huma.API
	mux      *http.ServeMux
	problems problems
	public   map[string]bool // patterns of the routes that need no token of the API; all others need one
}

// newRegistrar creates the API. The library's own limits are set to the guard's; otherwise it would apply narrower
// ones.
func newRegistrar(version string, log *slog.Logger, maxBytes func(method, path string) int64) *registrar {
	config := huma.DefaultConfig("Sluice", version)
	config.Info.Description = "A gateway between chat channels and AI agents."
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil
	config.Formats = map[string]huma.Format{"application/json": wire.JSONFormat(), "json": wire.JSONFormat()}
	config.Transformers = []huma.Transformer{wire.PlainErrors}
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", wire.SchemaName)
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "gateway.token, or the file token in the state folder, or one of gateway.tokens or /v1/tokens, which is limited to its level and role"},
	}
	config.Security = []map[string][]string{{"token": {}}}
	public := map[string]bool{}
	config.OnAddOperation = append(config.OnAddOperation, func(_ *huma.OpenAPI, o *huma.Operation) {
		for _, answer := range o.Responses { // as wire.PlainErrors answers
			if m, ok := answer.Content["application/problem+json"]; ok {
				answer.Content = map[string]*huma.MediaType{"application/json": m}
			}
		}
		o.MaxBodyBytes, o.BodyReadTimeout = maxBytes(o.Method, o.Path), wire.BodyTimeout
		if o.Security != nil && !slices.ContainsFunc(o.Security, func(ways map[string][]string) bool { return len(ways) > 0 }) {
			public[o.Method+" "+o.Path] = true
		}
	})
	mux := http.NewServeMux()
	api := humago.New(mux, config)
	registry := api.OpenAPI().Components.Schemas
	registry.Schema(reflect.TypeFor[wire.Error](), true, "")
	registry.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[wire.Error]())
	return &registrar{API: api, mux: mux, problems: problems{log}, public: public}
}

// open registers a route that needs no token of the API.
func (r *registrar) open(pattern string, handler http.Handler) {
	r.mux.Handle(pattern, handler)
	r.public[pattern] = true
}

// isOpen reports whether a request needs no token: its route says so, or it reads a file of the page.
func (r *registrar) isOpen(req *http.Request) bool {
	_, pattern := r.mux.Handler(req)
	if pattern == pagePattern {
		return req.Method == http.MethodGet || req.Method == http.MethodHead
	}
	return r.public[pattern]
}

// public is an operation that needs no token.
func public(o huma.Operation) huma.Operation {
	o.Security = []map[string][]string{}
	return o
}

// unchecked is an operation whose body the handler checks itself.
func unchecked(o huma.Operation) huma.Operation {
	o.SkipValidateBody = true
	return o
}

// add registers an operation whose input and output the API library reads, checks and writes.
func add[I, O any](r *registrar, o huma.Operation, handle func(ctx context.Context, in *I) (*O, error)) {
	huma.Register(r, o, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, r.problems.of(reasonOf(ctx, err))
		}
		return out, nil
	})
}

// whole lets the last parameter of a registered path have slashes, also when the request does not escape them.
func (r *registrar) whole(method, prefix string) {
	r.mux.HandleFunc(method+" "+prefix+"{first}/{rest...}", func(w http.ResponseWriter, req *http.Request) {
		again := req.Clone(req.Context())
		again.URL.RawPath = prefix + url.PathEscape(strings.TrimPrefix(req.URL.Path, prefix))
		r.mux.ServeHTTP(w, again)
	})
}

// raw registers an operation that the API library cannot serve: it streams, or its parameter path has several parts.
func (r *registrar) raw(o huma.Operation, handle wire.Handler) {
	r.mux.HandleFunc(o.Method+" "+strings.ReplaceAll(o.Path, "{path}", "{path...}"), r.problems.plain(handle))
	r.OpenAPI().AddOperation(&o)
}
