package a2aserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"

	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/wire"
)

const (
	// CardPath is where clients look for the card of the default agent. That of another one is below its own path.
	CardPath = "/.well-known/agent-card.json"
	// Prefix begins the paths of agents.
	Prefix = "/a2a/"
	// version is that of the protocol.
	version = "0.3.0"
)

// Agent is an agent as other agents may know it.
type Agent struct {
	ID, Name  string
	Default   bool // handles what names no agent
	Published bool // the configuration offers it to other agents
}

// API serves agents over A2A.
type API struct {
	Face    *conversation.Face
	Turns   *conversation.TurnAPI
	Runs    *conversation.RunAPI
	Agents  func() []Agent
	Push    *Push
	URL     string // under which others reach the gateway; empty: that of the request
	Problem func(err error) *wire.Error
	Version string
	Log     *slog.Logger
}

// agent finds a published agent; without a name, the default one, or else the first. Another agent is as one that does not
// exist.
func (a *API) agent(id string) (Agent, error) {
	var found *Agent
	for _, agent := range a.Agents() {
		if agent.Published && (agent.ID == id || id == "" && (found == nil || agent.Default)) {
			found = &agent
		}
	}
	if found == nil {
		return Agent{}, wire.ErrNotFound
	}
	return *found, nil
}

// Card answers with the card of an agent.
func (a *API) Card(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r.PathValue("agent"))
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, a.card(agent, r))
	return nil
}

func (a *API) card(agent Agent, r *http.Request) *a2a.AgentCard {
	base := strings.TrimSuffix(a.URL, "/")
	if base == "" {
		base = "http://" + r.Host
		if r.TLS != nil {
			base = "https://" + r.Host
		}
	}
	const scheme a2a.SecuritySchemeName = "token"
	return &a2a.AgentCard{
		ProtocolVersion: version, Name: agent.Name, Description: "The agent " + agent.Name + " of a Sluice gateway.", URL: base + Prefix + agent.ID, Version: a.Version,
		PreferredTransport: a2a.TransportProtocolJSONRPC, Capabilities: a2a.AgentCapabilities{Streaming: true, PushNotifications: a.Push.offered()},
		DefaultInputModes: []string{"text/plain", "application/json"}, DefaultOutputModes: []string{"text/markdown"},
		SecuritySchemes: a2a.NamedSecuritySchemes{scheme: a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "a token of the gateway's API"}},
		Security:        []a2a.SecurityRequirements{{scheme: a2a.SecuritySchemeScopes{}}},
		Skills:          []a2a.AgentSkill{{ID: "talk", Name: "Talk", Description: "Replies to messages.", Tags: []string{"chat"}}},
	}
}

// Call serves a request to an agent.
func (a *API) Call(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r.PathValue("agent"))
	if err != nil {
		return err
	}
	if mime := r.Header.Get("Content-Type"); !strings.HasPrefix(mime, "application/json") {
		return wire.NewError(http.StatusUnsupportedMediaType, "unsupported_media_type", "send application/json")
	}
	body, err := io.ReadAll(r.Body)
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return wire.TooLarge(fmt.Sprintf("the request is longer than %d bytes", big.Limit))
	}
	if err != nil {
		return wire.ErrCutBody
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.Header().Set("Content-Type", "application/json")
	out := &flushing{ResponseWriter: w}
	a2asrv.NewJSONRPCHandler(&handler{api: a, agent: agent, request: r}).ServeHTTP(out, r)
	if !out.wrote { // the library answers nothing where there is no result, and clients wait for one
		var asked struct {
			ID json.RawMessage `json:"id"`
		}
		if err := json.Unmarshal(body, &asked); err != nil {
			return wire.BadRequest("the body is not a request of JSON-RPC")
		}
		wire.WriteJSON(out, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": asked.ID, "result": nil})
	}
	return nil
}

// flushing is a response whose parts can be sent at once.
type flushing struct {
	http.ResponseWriter
	wrote bool
}

// Write implements [io.Writer].
func (f *flushing) Write(p []byte) (int, error) {
	f.wrote = true
	return f.ResponseWriter.Write(p)
}

// Flush implements [http.Flusher].
func (f *flushing) Flush() { _ = http.NewResponseController(f.ResponseWriter).Flush() } // the caller has gone

// Unwrap lets others reach the connection.
func (f *flushing) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// handler serves one request to an agent.
type handler struct {
	api     *API
	agent   Agent
	request *http.Request
}

var _ a2asrv.RequestHandler = (*handler)(nil)

// problem is an error as the protocol has it.
func (h *handler) problem(err error) error {
	if err == nil {
		return nil
	}
	kinds := []error{
		a2a.ErrInvalidParams, a2a.ErrTaskNotFound, a2a.ErrUnsupportedOperation, a2a.ErrUnsupportedContentType, a2a.ErrTaskNotCancelable,
		a2a.ErrPushNotificationNotSupported, a2a.ErrAuthenticatedExtendedCardNotConfigured,
	}
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return err
		}
	}
	e := h.api.Problem(err)
	switch {
	case e.Status == http.StatusNotFound:
		return fmt.Errorf("%w: %s", a2a.ErrTaskNotFound, e.Message)
	case e.Status >= http.StatusInternalServerError, e.Status == http.StatusTooManyRequests, e.Status == http.StatusConflict: // later, it may succeed
		return fmt.Errorf("%w: %s", a2a.ErrServerError, e.Message)
	}
	return fmt.Errorf("%w: %s", a2a.ErrInvalidRequest, e.Message)
}

// survive turns a panic into an error: the library has goroutines of its own.
func (h *handler) survive(err *error) {
	if p := recover(); p != nil {
		h.api.Log.Error("handler panicked", "path", h.request.URL.Path, "err", p, "stack", string(debug.Stack()))
		*err = a2a.ErrInternalError
	}
}

// textOf is the text of a message.
func textOf(m *a2a.Message) (string, error) {
	if m == nil {
		return "", fmt.Errorf("%w: message is missing", a2a.ErrInvalidParams)
	}
	var texts []string
	for i, p := range m.Parts {
		switch p := p.(type) {
		case a2a.TextPart:
			texts = append(texts, p.Text)
		case a2a.DataPart:
			text, err := json.Marshal(p.Data)
			if err != nil {
				return "", fmt.Errorf("%w: message.parts[%d]: %w", a2a.ErrInvalidParams, i, err)
			}
			texts = append(texts, "```json\n"+string(text)+"\n```")
		default:
			return "", fmt.Errorf("%w: message.parts[%d]: send text or data; files are not taken here", a2a.ErrUnsupportedContentType, i)
		}
	}
	text := strings.TrimSpace(strings.Join(texts, "\n\n"))
	if text == "" {
		return "", fmt.Errorf("%w: the message has no text", a2a.ErrInvalidParams)
	}
	return text, nil
}
