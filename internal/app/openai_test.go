package app_test

import (
	"bufio"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

// completion is a chat completion as clients read it.
type completion struct {
	ID      string
	Choices []struct {
		Message, Delta struct{ Content string }
		Finish         string `json:"finish_reason"`
	}
	Usage *struct {
		Total int `json:"total_tokens"`
	}
}

// published is a gateway that offers its agent to clients of OpenAI's API.
func published(t *testing.T, more string) (*gateway, *modeltest.Server) {
	t.Helper()
	_, models := platforms(t)
	return start(t, withModels(models)+"agents: { list: [{ id: main, publish: { openai: true } }, { id: quiet }] }\n"+more), models
}

// chat asks for a chat completion.
func (g *gateway) chat(body string, headers ...string) (completion, *http.Response) {
	g.t.Helper()
	resp := g.call("POST", "/v1/chat/completions", `{"model":"main",`+body+`}`, headers...)
	var got completion
	read(g.t, resp, http.StatusOK, &got)
	return got, resp
}

// One client keeps its conversation, another one has the gateway remember it. In both the agent knows what was said before, and a
// repeated request asks no model.
func TestClientsOfOpenAITalkToAnAgent(t *testing.T) {
	t.Parallel()
	g, models := published(t, "")
	asked := func() string {
		all := models.Requests()
		return string(all[len(all)-1].Raw)
	}
	got, _ := g.chat(`"messages":[{"role":"system","content":"Be short."},{"role":"user","content":"I am Ada"},{"role":"assistant","content":"Hello Ada"},{"role":"user","content":"who am I?"}]`)
	require.Contains(t, got.Choices[0].Message.Content, "who am I?")
	require.Equal(t, "stop", got.Choices[0].Finish)
	require.Positive(t, got.Usage.Total)
	require.Contains(t, asked(), `[Earlier in this thread; words of \"the user\":]\n\u003e I am Ada`)
	require.Contains(t, asked(), `Be short.\n\nwho am I?`)

	first, one := g.chat(`"user":"ann","messages":[{"role":"user","content":"the word is blue"}]`, "Idempotency-Key", "a")
	calls := len(models.Requests())
	again, _ := g.chat(`"user":"ann","messages":[{"role":"user","content":"the word is blue"}]`, "Idempotency-Key", "a")
	require.Equal(t, first, again)
	require.Len(t, models.Requests(), calls, "no second run")
	_, two := g.chat(`"user":"ann","messages":[{"role":"user","content":"what is the word?"}]`)
	require.Equal(t, one.Header.Get("X-Session-Id"), two.Header.Get("X-Session-Id"))
	require.Contains(t, asked(), "the word is blue")
	_, bob := g.chat(`"user":"bob","messages":[{"role":"user","content":"what is the word?"}]`)
	require.NotEqual(t, one.Header.Get("X-Session-Id"), bob.Header.Get("X-Session-Id"))
	require.NotContains(t, asked(), "the word is blue")
}

func TestResponsesGoOn(t *testing.T) {
	t.Parallel()
	g, models := published(t, "")
	type response struct {
		ID, Status   string
		Output       []struct{ Content []struct{ Text string } }
		Conversation struct{ ID string }
	}
	ask := func(body string, headers ...string) (got response) {
		read(t, g.call("POST", "/v1/responses", `{"model":"main",`+body+`}`, headers...), http.StatusOK, &got)
		return got
	}
	first := ask(`"input":"the word is blue"`, "Idempotency-Key", "first")
	require.Equal(t, first, ask(`"input":"the word is blue"`, "Idempotency-Key", "first"))
	require.Len(t, models.Requests(), 1)
	require.Equal(t, http.StatusNoContent, g.call("DELETE", "/v1/sessions/"+ask(`"input":"ended"`, "Idempotency-Key", "ended").Conversation.ID, "").StatusCode)
	require.Equal(t, "completed", ask(`"input":"ended"`, "Idempotency-Key", "ended").Status, "also when its session has ended")
	require.Len(t, models.Requests(), 2)
	second := ask(`"input":"and now?","previous_response_id":"` + first.ID + `"`)
	require.Equal(t, first.Conversation, second.Conversation)
	all := models.Requests()
	require.Contains(t, string(all[len(all)-1].Raw), "the word is blue")
	var stored response
	read(t, g.call("GET", "/v1/responses/"+second.ID, ""), http.StatusOK, &stored)
	require.Equal(t, second, stored)
}

// Of requests with one key that come at the same time, one runs, and all get its reply.
func TestRequestsAtTheSameTimeRunOnce(t *testing.T) {
	t.Parallel()
	g, models := published(t, "")
	models.Enqueue(modeltest.Reply{Text: "once", Latency: 200 * time.Millisecond})
	const clients = 4
	replies := make(chan *http.Response, clients)
	for range clients {
		go func() {
			replies <- g.call("POST", "/v1/responses", `{"model":"main","input":"hello"}`, "Idempotency-Key", "one")
		}()
	}
	ids := map[string]bool{}
	for range clients {
		var got struct{ ID string }
		read(t, <-replies, http.StatusOK, &got)
		ids[got.ID] = true
	}
	require.Len(t, ids, 1)
	require.Len(t, models.Requests(), 1)
}

// While an answer is written it is streamed; of one that may not be sent nothing is.
func TestChatIsStreamedAsTheGateAllows(t *testing.T) {
	t.Parallel()
	plain, models := published(t, "")
	said := strings.TrimSpace(strings.Repeat("many words ", 20))
	models.Enqueue(modeltest.Reply{Text: said, Pause: 10 * time.Millisecond})
	text, finish, chunks := plain.chunks()
	require.Equal(t, []string{said, "stop"}, []string{text, finish})
	require.Greater(t, chunks, 4)

	strict, models := published(t, "policy: { rules: [{ name: no-codes, hook: PRE_OUTPUT, when: 'text.contains(\"code-\")', action: block }] }\n")
	models.Enqueue(modeltest.Reply{Text: "the word is code-7, as you have asked", Pause: 10 * time.Millisecond})
	text, finish, _ = strict.chunks()
	require.Equal(t, "content_filter", finish)
	require.Contains(t, text, "not allowed to send it")
	require.NotContains(t, text, "code-7")
}

// chunks is what a client reads of a chat completion that is streamed, and in how many chunks.
func (g *gateway) chunks() (text, finish string, chunks int) {
	g.t.Helper()
	resp := g.call("POST", "/v1/chat/completions", `{"model":"main","stream":true,"messages":[{"role":"user","content":"hello"}]}`)
	require.Equal(g.t, "text/event-stream", resp.Header.Get("Content-Type"))
	for event := range serverEvents(g.t, resp) {
		var chunk completion
		require.NoError(g.t, json.Unmarshal([]byte(event), &chunk), event)
		chunks++
		text += chunk.Choices[0].Delta.Content
		finish += chunk.Choices[0].Finish
	}
	return text, finish, chunks
}

// serverEvents are the events of a stream, up to the one that says that it is done.
func serverEvents(t *testing.T, resp *http.Response) iter.Seq[string] {
	t.Helper()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	return func(yield func(string) bool) {
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && (data == "[DONE]" || !yield(data)) {
				return
			}
		}
	}
}

// A change of the configuration takes an agent away from clients at once.
func TestAnAgentIsWithdrawn(t *testing.T) {
	t.Parallel()
	g, _ := published(t, "")
	require.Equal(t, http.StatusOK, g.call("GET", "/v1/models/main", "").StatusCode)
	require.Equal(t, http.StatusNotFound, g.call("GET", "/v1/models/quiet", "").StatusCode)
	next := *g.cfg
	next.Agents.List = append(next.Agents.List[:0:0], next.Agents.List...)
	next.Agents.List[0].Publish.OpenAI = false
	_, err := g.Reload(&next)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, g.call("POST", "/v1/chat/completions", `{"model":"main","messages":[{"role":"user","content":"hello"}]}`).StatusCode)
}
