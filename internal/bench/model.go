package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// modelAnswer is the answer of the HTTP model. It is streamed in chunks of a few words.
const modelAnswer = "Yes, it stays dry until the evening, with some sun in the afternoon. You can leave the umbrella at home."

// httpModel is a Chat Completions server that answers every request at once with a streamed text. It is minimal and
// checks nothing, because it shares the machine with the gateway. Its goroutines are those of the HTTP server; close
// waits for them.
type httpModel struct {
	url     string
	server  *http.Server
	serving sync.WaitGroup
}

// overHTTP is the model's name in the gateway's configuration.
const overHTTP = "openai/mock"

func newHTTPModel() (*httpModel, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the model: %w", err)
	}
	events := answerEvents()
	m := &httpModel{url: "http://" + ln.Addr().String() + "/v1"}
	m.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // the gateway has disconnected
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range events {
			if _, err := io.WriteString(w, event); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush() // fails if the gateway has disconnected, which the next write notices
		}
	})}
	m.serving.Go(func() { _ = m.server.Serve(ln) }) // ends with ErrServerClosed at close
	return m, nil
}

func (m *httpModel) close() {
	_ = m.server.Close() // only closes listeners and connections
	m.serving.Wait()
}

// answerEvents returns the server-sent events of an answer.
func answerEvents() []string {
	const frame = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"mock","choices":[%s]%s}` + "\n\n"
	events := []string{fmt.Sprintf(frame, `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`, "")}
	const atATime = 4 // words per event
	words := strings.SplitAfter(modelAnswer, " ")
	for from := 0; from < len(words); from += atATime {
		text := strings.Join(words[from:min(from+atATime, len(words))], "")
		events = append(events, fmt.Sprintf(frame, fmt.Sprintf(`{"index":0,"delta":{"content":%q},"finish_reason":null}`, text), ""))
	}
	return append(events,
		fmt.Sprintf(frame, `{"index":0,"delta":{},"finish_reason":"stop"}`, ""),
		fmt.Sprintf(frame, "", `,"usage":{"prompt_tokens":100,"completion_tokens":25,"total_tokens":125}`),
		"data: [DONE]\n\n")
}
