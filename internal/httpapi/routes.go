package httpapi

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// routes are all that the server serves.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	api := s.newAPI(mux)
	s.sessionRoutes(api)
	s.runRoutes(api)
	s.exchangeRoutes(api)
	s.deliveryRoutes(api)
	s.mediaRoutes(api)
	s.operatorRoutes(api)
	s.memoryRoutes(api)
	s.approvalRoutes(api)
	s.streamRoutes(mux, api)
	s.fileRoutes(mux, api)
	s.cfgRoutes(mux)
	return s.paced(s.measured(s.guard(strict(mux, api.OpenAPI()))))
}

// newAPI is the part that documents itself. Its errors have the API's own shape.
func (s *Server) newAPI(mux *http.ServeMux) huma.API {
	config := huma.DefaultConfig("Sluice", s.cfg.Version)
	config.Info.Description = "A gateway between chat channels and AI agents."
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil
	config.Formats = map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()}
	config.Transformers = []huma.Transformer{plainErrors}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "gateway.token, else the file token in the state folder, or one of gateway.tokens, which sees and does what its level and role allow"},
	}
	config.Security = []map[string][]string{{"token": {}}}
	// The library's limits stand at the guard's, else it takes the guard's for faults of its own, or has its own narrower ones.
	config.OnAddOperation = append(config.OnAddOperation, func(_ *huma.OpenAPI, o *huma.Operation) {
		o.MaxBodyBytes, o.BodyReadTimeout = s.bodyMost(o.Method, o.Path), bodyTimeout
	})
	api := humago.New(mux, config)
	registry := api.OpenAPI().Components.Schemas
	registry.Schema(reflect.TypeFor[apiError](), true, "Error")
	registry.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[apiError]())
	return api
}

// cfgRoutes are those that the configuration's parts serve themselves.
func (s *Server) cfgRoutes(mux *http.ServeMux) {
	mux.Handle("GET /metrics", s.needAll(s.cfg.Metrics))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n")) // the caller has gone
	})
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("POST /channels/{channel}/{account}", s.callback)
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, _ *http.Request) { writeError(w, errNotFound) })
	mux.Handle("/", s.cfg.Page)
}

// callback hands a platform's own request to its adapter, which checks the signature.
func (s *Server) callback(w http.ResponseWriter, r *http.Request) {
	c, ok := s.cfg.Callback(r.PathValue("channel"), r.PathValue("account"))
	if !ok {
		writeError(w, errNotFound)
		return
	}
	c.ServeHTTP(w, r)
}
