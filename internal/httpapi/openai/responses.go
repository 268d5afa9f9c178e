package openai

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/wire"
	"sluice/sessions"
)

// The states of responses and of their messages.
const (
	statusProgress   = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
)

// responseRecord is a response. Its fixed fields say what holds for every agent; clients expect them.
type responseRecord struct {
	ID           string              `json:"id" doc:"resp_ and the digits of the run's id"`
	Object       string              `json:"object" enum:"response"`
	Created      int64               `json:"created_at" doc:"seconds since 1970"`
	Status       string              `json:"status" enum:"in_progress,completed,incomplete,failed,cancelled" doc:"incomplete: the reply is withheld, and the output says why"`
	Error        *responseError      `json:"error" doc:"of failed: why"`
	Incomplete   *responseIncomplete `json:"incomplete_details"`
	Instructions *string             `json:"instructions"`
	Model        string              `json:"model" doc:"id of the agent"`
	Output       []outputItem        `json:"output"`
	Previous     *string             `json:"previous_response_id"`
	Conversation *conversationRecord `json:"conversation" doc:"the session"`
	Usage        *responseUsage      `json:"usage" doc:"null if it is not known"`
	Metadata     json.RawMessage     `json:"metadata"`
	User         string              `json:"user,omitempty"`

	Background  bool            `json:"background"`
	Parallel    bool            `json:"parallel_tool_calls"`
	Store       bool            `json:"store"`
	Choice      json.RawMessage `json:"tool_choice" doc:"auto or none"`
	Tools       json.RawMessage `json:"tools" doc:"as in the request"`
	Temperature *float64        `json:"temperature"`
	TopP        *float64        `json:"top_p"`
	Truncation  string          `json:"truncation" enum:"disabled"`
	MaxTokens   *int            `json:"max_output_tokens"`
	Text        textSet         `json:"text"`
}

type textSet struct {
	Format struct {
		Type string `json:"type" enum:"text"`
	} `json:"format"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type responseIncomplete struct {
	Reason string `json:"reason" enum:"content_filter"`
}

type conversationRecord struct {
	ID sessions.ID `json:"id"`
}

type outputItem struct {
	ID      string       `json:"id"`
	Type    string       `json:"type" enum:"message,function_call"`
	Role    string       `json:"role,omitempty" enum:"assistant" doc:"of a message"`
	Status  string       `json:"status" enum:"in_progress,completed,incomplete"`
	Content []outputPart `json:"content,omitzero" doc:"of a message"`

	CallID    string  `json:"call_id,omitempty" doc:"of a function call: send it with the result"`
	Name      string  `json:"name,omitempty" doc:"of a function call"`
	Arguments *string `json:"arguments,omitempty" doc:"of a function call: a JSON object"`
}

// callItem is a call of a function of the client.
func callItem(call sessions.ClientCall) outputItem {
	args := string(call.Args)
	return outputItem{ID: "fc_" + strings.TrimPrefix(call.ID, "call_"), Type: "function_call", Status: statusCompleted, CallID: call.ID, Name: call.Name, Arguments: &args}
}

// reply makes a reply that has ended the output: a text, calls, or both.
func (r *responseRecord) reply(message string, end conversation.End) {
	if end.Text != "" || len(end.Calls) == 0 {
		r.message(message, itemStatus(end), textPart(end.Text))
	}
	for _, call := range end.Calls {
		r.Output = append(r.Output, callItem(call))
	}
}

type outputPart struct {
	Type        string   `json:"type" enum:"output_text"`
	Text        string   `json:"text"`
	Annotations []string `json:"annotations"`
	Logs        []string `json:"logprobs"`
}

type responseUsage struct {
	Input   int `json:"input_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

func responseUsageOf(u *sessions.Usage) *responseUsage {
	if u == nil {
		return nil
	}
	out := &responseUsage{Input: u.InputTokens, Output: u.OutputTokens, Total: u.InputTokens + u.OutputTokens}
	out.Details.Cached = u.CachedTokens
	return out
}

// newResponse is a response that is being worked on.
func newResponse(run sessions.RunID, session sessions.ID, agent string, created time.Time) responseRecord {
	r := responseRecord{
		ID: idOf(responsePrefix, run), Object: "response", Created: created.Unix(), Status: statusProgress, Model: agent, Output: []outputItem{},
		Conversation: &conversationRecord{session}, Metadata: json.RawMessage("{}"), Parallel: true, Store: true, Choice: json.RawMessage(`"auto"`), Tools: json.RawMessage("[]"), Truncation: "disabled",
	}
	r.Text.Format.Type = "text"
	return r
}

// textPart is a text of the output.
func textPart(text string) outputPart {
	return outputPart{Type: "output_text", Text: text, Annotations: []string{}, Logs: []string{}}
}

// close gives a response its end.
func (r *responseRecord) close(end conversation.End) {
	r.Usage, r.Status = responseUsageOf(end.Usage), statusCompleted
	if failed := failure(end); failed != nil {
		r.fail(failed)
		if end.Status == sessions.RunAborted || end.Status == sessions.RunDropped {
			r.Status = "cancelled"
		}
		return
	}
	if end.Withheld != nil {
		r.Status, r.Incomplete = statusIncomplete, &responseIncomplete{"content_filter"}
	}
}

func (r *responseRecord) fail(why *wire.Error) {
	r.Status, r.Error = statusFailed, &responseError{why.Code, why.Message}
}

// message adds a message to the output.
func (r *responseRecord) message(id, status string, content ...outputPart) outputItem {
	item := outputItem{ID: id, Type: "message", Role: roleAssistant, Status: status, Content: append([]outputPart{}, content...)}
	r.Output = append(r.Output, item)
	return item
}

// itemStatus is the status of a message that has ended.
func itemStatus(end conversation.End) string {
	if end.Withheld != nil {
		return statusIncomplete
	}
	return statusCompleted
}

// Respond makes a response.
func (a *API) Respond(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := a.Turns.UntilStop(r.Context())
	defer cancel()
	var request responseRequest
	if err := read(r, responsesRules(), &request); err != nil {
		return err
	}
	agent, err := a.agent(request.Model)
	if err != nil {
		return err
	}
	n, err := request.names()
	if err != nil {
		return err
	}
	t, err := request.turn()
	if err != nil {
		return err
	}
	got, err := a.begin(ctx, w, r, agent, n, t)
	if err != nil {
		return err
	}
	response := newResponse(cmp.Or(got.Run, sessions.RunID(got.NoticeID)), got.Of, agent.ID, a.Now())
	response.echo(&request)
	if request.Stream {
		return a.streamTurn(ctx, w, got, func(out *wire.Stream) sink { return &responseEvents{out: out, response: response} })
	}
	end, err := a.finish(ctx, w, got)
	if err == nil {
		response.close(end)
		response.reply(idOf("msg_", got.Run), end)
		wire.WriteJSON(w, http.StatusOK, response)
	}
	return err
}

// echo sends back what clients expect to find again.
func (r *responseRecord) echo(q *responseRequest) {
	if q.Instructions != "" {
		r.Instructions = &q.Instructions
	}
	if q.Previous != "" {
		r.Previous = &q.Previous
	}
	if !absent(q.Metadata) {
		r.Metadata = q.Metadata
	}
	if !absent(q.Tools) {
		r.Tools = q.Tools
	}
	if !absent(q.Choice) {
		r.Choice = q.Choice
	}
	r.User = q.User
}

// Response answers with the response of a run, also while the agent works on it. With stream it sends the events of the response
// again, and goes on with those to come.
func (a *API) Response(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := a.Turns.UntilStop(r.Context())
	defer cancel()
	name := r.PathValue("response")
	again, err := resumed(r)
	if err != nil {
		return err
	}
	run, agent, err := a.run(ctx, name)
	if err != nil {
		return notFound(err, "response_id", "there is no response "+wire.Printable(name)+" that your token may see")
	}
	out := newResponse(run.ID, run.Session, agent, run.Accepted)
	if again != nil {
		return a.streamTurn(ctx, w, a.Turns.Again(ctx, run), func(to *wire.Stream) sink {
			return &responseEvents{out: to, response: out, from: *again}
		})
	}
	if !run.Status.Terminal() {
		wire.WriteJSON(w, http.StatusOK, out)
		return nil
	}
	end, err := a.Turns.Past(ctx, run)
	if err != nil {
		return err
	}
	if out.close(end); out.Error == nil {
		out.reply(idOf("msg_", run.ID), end)
	}
	wire.WriteJSON(w, http.StatusOK, out)
	return nil
}

const resumeMax = 1 << 10 // bytes of a body

// resumed reads from which event on a response is streamed; nil: it is not streamed. The official client for Go asks
// for the stream in a body, all others in the query.
func resumed(r *http.Request) (from *int, err error) {
	var body struct{ Stream bool }
	_ = json.NewDecoder(io.LimitReader(r.Body, resumeMax)).Decode(&body) // most requests have no body
	after := r.URL.Query().Get("starting_after")
	streams, err := strconv.ParseBool(cmp.Or(r.URL.Query().Get("stream"), strconv.FormatBool(body.Stream || after != "")))
	if err != nil {
		return nil, refuse("stream", codeInvalid, "want true or false")
	}
	seen, err := strconv.Atoi(cmp.Or(after, "-1"))
	switch {
	case err != nil || seen < -1:
		return nil, refuse("starting_after", codeInvalid, "want the sequence_number of an event")
	case !streams:
		return nil, nil
	}
	seen++
	return &seen, nil
}
