package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/internal/schema"
)

// tool is a tool, which is a request to the API.
type tool struct {
	spec    *mcp.Tool
	request func(args json.RawMessage) (request, error)
	list    string // name of the rows, if the response is an array: results are objects
	// more adds to the response what only further requests can read; nil: nothing.
	more func(ctx context.Context, c *caller, args json.RawMessage, body []byte) ([]byte, error)
}

// effect is what a tool does to the gateway.
type effect int

const (
	reads effect = iota
	changes
	destroys
)

// define makes a tool with the parameters in the struct I.
func define[I any](name, description string, does effect, build func(in I) request) tool {
	s := schema.Of[I]()
	no, yes := false, true
	hints := &mcp.ToolAnnotations{ReadOnlyHint: does == reads, OpenWorldHint: &no}
	if does != reads {
		hints.DestructiveHint = &no
		hints.OpenWorldHint = &yes // people may see what comes of it
	}
	if does == destroys {
		hints.DestructiveHint = &yes
	}
	return tool{
		spec: &mcp.Tool{Name: name, Description: description, InputSchema: s.Text(), Annotations: hints},
		request: func(args json.RawMessage) (request, error) {
			if len(args) == 0 {
				args = json.RawMessage("{}")
			}
			in, err := schema.Decode[I](args)
			if err != nil {
				return request{}, err
			}
			return build(in), nil
		},
	}
}

// listing names the rows of a tool whose response is an array.
func listing(rows string, t tool) tool {
	t.list = rows
	return t
}

// values are the parameters of a query; empty ones are left out.
func values(pairs ...string) url.Values {
	v := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if value := pair[len(pair)-1]; value != "" {
			v.Set(pair[0], value)
		}
	}
	return v
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func get(path string, query url.Values) request {
	return request{method: http.MethodGet, path: path, query: query}
}

func post(path string, body any) request {
	return request{method: http.MethodPost, path: path, body: body}
}

// at is a path with escaped parts.
func at(parts ...string) string {
	path := "/v1"
	for _, p := range parts {
		if strings.Trim(p, ".") == "" { // it would lead to another path
			p = " "
		}
		path += "/" + url.PathEscape(p)
	}
	return path
}

type (
	noArgs   struct{}
	pageArgs struct {
		Limit *int   `json:"limit,omitempty" jsonschema:"rows of a page" bounds:"minimum=1,maximum=200"`
		After string `json:"after,omitempty" jsonschema:"where the page begins: after of the page before"`
	}
	sessionArgs struct {
		Session string `json:"sessionKey" jsonschema:"a session's key or id, or main" bounds:"minLength=1" also:"session_id"`
	}
	idArgs struct {
		ID string `json:"id" bounds:"minLength=1"`
	}
)

// tools are all tools. Their names and rows are those of the agents' own tools and of the API.
func tools() []tool {
	var all []tool
	all = append(all, sessionTools()...)
	all = append(all, memoryTools()...)
	all = append(all, messageTools()...)
	return append(all, alertTools()...)
}

func sessionTools() []tool {
	type listArgs struct {
		pageArgs
		Agent    string   `json:"agent,omitempty" jsonschema:"only sessions of this agent"`
		Kinds    []string `json:"kinds,omitempty" jsonschema:"only these kinds; default: all" bounds:"each.enum=main|group|cron|hook|node|other"`
		Minutes  *int     `json:"activeMinutes,omitempty" jsonschema:"only sessions active within this many minutes" bounds:"minimum=1,maximum=5000000"`
		Messages int      `json:"messageLimit,omitempty" jsonschema:"newest messages to show with each; default 0" bounds:"minimum=0,maximum=20,lowered"`
	}
	type historyArgs struct {
		sessionArgs
		Limit *int `json:"limit,omitempty" jsonschema:"the newest messages" bounds:"minimum=1,maximum=1000"`
	}
	type sendArgs struct {
		sessionArgs
		Message string `json:"message" jsonschema:"what to say, in Markdown" bounds:"minLength=1" also:"content"`
		Name    string `json:"name,omitempty" jsonschema:"names this message: sent again under the same name, it has no effect and returns the first outcome"`
		Timeout *int   `json:"timeoutSeconds,omitempty" jsonschema:"how long to wait for the reply; the run goes on afterwards; 0: do not wait" bounds:"minimum=0,maximum=1800"`
	}
	type spawnArgs struct {
		sessionArgs
		Task  string `json:"task" jsonschema:"what the sub-agent shall do" bounds:"minLength=1"`
		Agent string `json:"agentId,omitempty" jsonschema:"default: the session's agent"`
		Label string `json:"label,omitempty" jsonschema:"a short name for people"`
		Name  string `json:"name,omitempty" jsonschema:"names this task: sent again under the same name, it has no effect"`
	}
	type runArgs struct {
		Run  string `json:"run" bounds:"minLength=1"`
		Wait string `json:"wait,omitempty" jsonschema:"how long to wait for its end, for example 30s; at most 5m"`
	}
	return []tool{
		define("agents_list", "Lists the agents.", reads, func(noArgs) request { return get("/v1/agents", nil) }),
		withMessages(listing("sessions", define("sessions_list", "Lists conversations, most recently active first.", reads, func(in listArgs) request {
			active := ""
			if in.Minutes != nil {
				active = number(in.Minutes) + "m"
			}
			if in.Limit == nil && in.Messages > 0 {
				in.Limit = new(pageMax)
			}
			return get("/v1/sessions", values("agent", in.Agent, "kinds", strings.Join(in.Kinds, ","), "active", active, "limit", number(in.Limit), "after", in.After))
		}))),
		define("session_status", "Shows a conversation: its settings, its level, and what it may learn and say.", reads, func(in sessionArgs) request {
			return get(at("sessions", in.Session), nil)
		}),
		define("sessions_history", "Returns the messages of a conversation, oldest first.", reads, func(in historyArgs) request {
			return get(at("sessions", in.Session, "history"), values("limit", number(in.Limit)))
		}),
		define("sessions_send", "Says something in a conversation and waits for the agent's reply.", changes, func(in sendArgs) request {
			body := map[string]any{"message": in.Message}
			if in.Timeout != nil {
				body["timeoutSeconds"] = *in.Timeout
			}
			q := post(at("sessions", in.Session, "messages"), body)
			q.key = in.Name
			return q
		}),
		define("sessions_spawn", "Gives a task to a sub-agent of a conversation. Returns at once; the report goes into the conversation.", changes, func(in spawnArgs) request {
			body := map[string]string{"task": in.Task}
			for name, v := range map[string]string{"agent": in.Agent, "name": in.Label} {
				if v != "" {
					body[name] = v
				}
			}
			q := post(at("sessions", in.Session, "tasks"), body)
			q.key = in.Name
			return q
		}),
		define("run_status", "Shows a run, and can wait for its end.", reads, func(in runArgs) request {
			return get(at("runs", in.Run), values("wait", in.Wait))
		}),
	}
}

func memoryTools() []tool {
	type listArgs struct {
		pageArgs
		Namespace string `json:"namespace,omitempty" jsonschema:"only memories of these agents"`
		Tag       string `json:"tag,omitempty" jsonschema:"only memories with this tag"`
	}
	type searchArgs struct {
		listArgs
		Query string `json:"query,omitempty" jsonschema:"words to look for, best match first; without them: all"`
		Max   *int   `json:"max_results,omitempty" jsonschema:"the same as limit" bounds:"minimum=1,maximum=200"`
	}
	type saveArgs struct {
		Key     string   `json:"key" jsonschema:"a short name that says what it is about; replaces what you have saved under it before" bounds:"minLength=1"`
		Content string   `json:"content" jsonschema:"what to remember, at most 64 KiB" bounds:"minLength=1"`
		Tags    []string `json:"tags,omitempty" bounds:"maxItems=32,each.minLength=1"`
		Expires string   `json:"expires_at,omitempty" jsonschema:"when to forget it, such as 2027-01-31T18:00:00Z; default: never" bounds:"format=date-time"`
		Agent   string   `json:"agent,omitempty" jsonschema:"the agent that remembers it; default: the default agent"`
		Label   string   `json:"label,omitempty" jsonschema:"level of the content; default PUBLIC, and at least the level of a named token"`
	}
	type keyArgs struct {
		Key       string `json:"key" jsonschema:"its key or id" bounds:"minLength=1" also:"id"`
		Namespace string `json:"namespace,omitempty" jsonschema:"only of these agents"`
	}
	return []tool{
		define("memory_list", "Lists what agents remember.", reads, func(in listArgs) request {
			return get("/v1/memory", values("namespace", in.Namespace, "tag", in.Tag, "limit", number(in.Limit), "after", in.After))
		}),
		define("memory_search", "Searches or lists what agents remember.", reads, func(in searchArgs) request {
			return get("/v1/memory", values("q", in.Query, "namespace", in.Namespace, "tag", in.Tag, "limit", number(cmp.Or(in.Max, in.Limit)), "after", in.After))
		}),
		define("memory_save", "Saves something for an agent to remember, under a key.", changes, func(in saveArgs) request {
			body := map[string]any{"key": in.Key, "content": in.Content}
			for name, v := range map[string]string{"expires_at": in.Expires, "agent": in.Agent, "label": in.Label} {
				if v != "" {
					body[name] = v
				}
			}
			if len(in.Tags) > 0 {
				body["tags"] = in.Tags
			}
			return post("/v1/memory", body)
		}),
		define("memory_get", "Returns a memory with its versions.", reads, func(in keyArgs) request {
			return get(at("memory", in.Key), values("namespace", in.Namespace))
		}),
		define("memory_delete", "Lets the agents forget a memory.", destroys, func(in keyArgs) request {
			return request{method: http.MethodDelete, path: at("memory", in.Key), query: values("namespace", in.Namespace)}
		}),
	}
}

func messageTools() []tool {
	type messageArgs struct {
		Channel string `json:"channel" jsonschema:"telegram, slack, discord or webchat" bounds:"minLength=1"`
		To      string `json:"to" jsonschema:"id of a conversation or person, owner, #name or @name" bounds:"minLength=1" also:"recipient"`
		Message string `json:"message" jsonschema:"Markdown" bounds:"minLength=1" also:"text"`
		Account string `json:"accountId,omitempty"`
		Thread  string `json:"threadId,omitempty"`
		Key     string `json:"key,omitempty" jsonschema:"names this message: sent again under the same key, it has no effect"`
	}
	type listArgs struct {
		pageArgs
		Status  string `json:"status,omitempty" jsonschema:"for example failed, held or unknown"`
		Channel string `json:"channel,omitempty"`
		Session string `json:"sessionKey,omitempty"`
	}
	return []tool{
		define("message", "Sends a message to a chat. The result has the gate's decision.", changes, func(in messageArgs) request {
			body := map[string]string{"channel": in.Channel, "to": in.To, "text": in.Message}
			for name, v := range map[string]string{"account": in.Account, "thread": in.Thread, "key": in.Key} {
				if v != "" {
					body[name] = v
				}
			}
			return post("/v1/messages", body)
		}),
		define("deliveries_list", "Lists what was sent or waits to be sent, newest first.", reads, func(in listArgs) request {
			return get("/v1/deliveries", values("status", in.Status, "channel", in.Channel, "session", in.Session, "limit", number(in.Limit), "after", in.After))
		}),
		define("delivery_show", "Shows a delivery.", reads, func(in idArgs) request { return get(at("deliveries", in.ID), nil) }),
	}
}

func alertTools() []tool {
	type listArgs struct {
		pageArgs
		Status string `json:"status,omitempty" jsonschema:"default: open" bounds:"enum=open|resolved|all"`
	}
	type alertArgs struct {
		Alert string `json:"alert" jsonschema:"key or short name" bounds:"minLength=1"`
	}
	type fireArgs struct {
		Key      string `json:"key" jsonschema:"names what is wrong: fired again, the alert is updated" bounds:"minLength=1"`
		Title    string `json:"title" bounds:"minLength=1"`
		Text     string `json:"text,omitempty" jsonschema:"details, in Markdown"`
		Severity string `json:"severity,omitempty" bounds:"enum=info|warning|error|critical"`
	}
	type silenceArgs struct {
		alertArgs
		For string `json:"for" jsonschema:"how long, for example 1h" bounds:"minLength=1"`
	}
	return []tool{
		define("alert_list", "Lists alerts.", reads, func(in listArgs) request {
			return get("/v1/alerts", values("status", in.Status, "limit", number(in.Limit), "after", in.After))
		}),
		define("alert_show", "Shows an alert.", reads, func(in alertArgs) request { return get(at("alerts", in.Alert), nil) }),
		define("alert_fire", "Reports that something is wrong; the configuration decides who is notified.", changes, func(in fireArgs) request {
			body := map[string]string{"key": in.Key, "title": in.Title}
			for name, v := range map[string]string{"text": in.Text, "severity": in.Severity} {
				if v != "" {
					body[name] = v
				}
			}
			return post("/v1/alerts", body)
		}),
		define("alert_ack", "Says that somebody takes care of an alert.", changes, func(in alertArgs) request { return post(at("alerts", in.Alert, "ack"), nil) }),
		define("alert_resolve", "Says that an alert is over.", changes, func(in alertArgs) request { return post(at("alerts", in.Alert, "resolve"), nil) }),
		define("alert_silence", "Silences an alert for some time.", changes, func(in silenceArgs) request {
			return post(at("alerts", in.Alert, "silence"), map[string]string{"for": in.For})
		}),
	}
}
