package openai

import (
	"net/http"
	"time"

	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/wire"
)

// The paths. Their names are OpenAI's.
const (
	chatPath       = "/v1/chat/completions"
	responsesPath  = "/v1/responses"
	modelsPath     = "/v1/models"
	embeddingsPath = "/v1/embeddings"
)

// BodyMax is the largest body of a request, in bytes: clients send a conversation again and again, and it grows.
const BodyMax = 4 << 20

// Agent is an agent as clients may know it.
type Agent struct {
	ID        string
	Default   bool // handles what names no agent
	Published bool // the configuration offers it to clients of this API
	Program   bool // a program works its runs; it can't call functions of clients
}

// API serves OpenAI's API.
type API struct {
	Face    *conversation.Face
	Turns   *conversation.TurnAPI
	Agents  func() []Agent
	Problem func(err error) *wire.Error
	Started time.Time
	Now     func() time.Time
}

// Embeddings refuses to embed texts.
func (a *API) Embeddings(http.ResponseWriter, *http.Request) error {
	return wire.NewError(http.StatusNotFound, "unsupported_endpoint", "this gateway makes no embeddings: it offers agents, which reply to messages at /v1/chat/completions and /v1/responses; ask your model provider for embeddings")
}
