package attacks_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/policy"
	"sluice/policy/condition"
	"sluice/policy/flow"
	"sluice/sessions"
)

// monitor is one as lenient as can be.
func monitor(escalation policy.Escalation) *policy.Monitor {
	m, err := policy.NewMonitor(policy.MonitorConfig{
		Escalation: escalation, SinkLevel: func(sessions.Route) flow.Level { return flow.Public }, Now: time.Now,
	})
	if err != nil {
		panic(err) // the test itself is wrong
	}
	return m
}

// group is a session of people who may learn what is PUBLIC.
func group() sessions.Record {
	return sessions.Record{ID: "sess_1", Key: "agent:main:telegram:group:-1", Agent: "main", Taint: flow.Bottom(), Clearance: flow.Public}
}

// labelAttacks are about labels that are lost or lie. They ask the monitor itself: no tool of the gateway lies.
func labelAttacks() []attack {
	local := sessions.Tool{
		Spec: sessions.ToolSpec{Name: "liar"}, Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone},
		Run: func(context.Context, sessions.Caller, json.RawMessage) (sessions.ToolResult, error) {
			return sessions.ToolResult{}, nil
		},
	}
	return []attack{
		{path: "L6", name: "a tool gives what is above its session", without: []policy.Checkpoint{policy.CheckResponse}, act: func(s *scene) {
			call := policy.Call{MonitoredCall: sessions.MonitoredCall{Record: group(), Tool: local, Args: []byte("{}")}}
			_, r := monitor(policy.EscalationAuto).Answer(call, sessions.Response{Text: s.secret, Label: flow.NewLabel(flow.Confidential, flow.Trusted)})
			s.unseen("answer of a tool", r.Text)
		}},
		{path: "L13", name: "a tool's answer has lost its label", without: []policy.Checkpoint{policy.CheckResponse}, act: func(s *scene) {
			call := policy.Call{MonitoredCall: sessions.MonitoredCall{Record: group(), Tool: local, Args: []byte("{}")}}
			_, r := monitor(policy.EscalationAuto).Answer(call, sessions.Response{Text: s.secret})
			s.unseen("answer of a tool", r.Text)
		}},
		{path: "L13", name: "a text without a label enters a thread", without: []policy.Checkpoint{policy.CheckInput}, act: func(s *scene) {
			if d := monitor(policy.EscalationAuto).Enter(policy.Entry{Record: group(), Texts: []string{s.secret}}); d.Action != policy.Block {
				s.leak("thread: a text without a label enters it: %s", d.Action)
			}
		}},
		{path: "L13", name: "a text above the clearance enters a thread", without: []policy.Checkpoint{policy.CheckInput}, act: func(s *scene) {
			d := monitor(policy.EscalationAuto).Enter(policy.Entry{Record: group(), Texts: []string{s.secret}, Label: flow.NewLabel(flow.Confidential, flow.Trusted)})
			if d.Action != policy.Block {
				s.leak("thread: a text above its clearance enters it: %s", d.Action)
			}
		}},
		{path: "L13", name: "a text without a label leaves", without: []policy.Checkpoint{policy.CheckGate}, act: func(s *scene) {
			d := policy.NewGate(map[string]policy.Sink{"telegram": {Level: flow.Restricted}}, nil, nil).Decide(policy.Egress{Route: sessions.Route{Channel: "telegram", Conversation: "1"}, Text: s.secret})
			if d.Action != policy.Block {
				s.leak("gate: a text without a label leaves: %s", d.Action)
			}
		}},
		{path: "L13", name: "a session whose label was lost asks a server", without: []policy.Checkpoint{policy.CheckSink}, act: func(s *scene) {
			record := group()
			record.Taint, record.Clearance = flow.Label{}, flow.Restricted
			tool := local
			tool.Flow = sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowOutside, Sink: flow.Restricted, Setting: "x"}
			d, _ := monitor(policy.EscalationAuto).Ask(policy.Call{MonitoredCall: sessions.MonitoredCall{Record: record, Tool: tool, Args: []byte("{}")}}, false)
			if d.Action != policy.Block {
				s.leak("tool: it was asked by a session without a label: %s", d.Action)
			}
		}},
		{path: "L5", name: "a session learns what it could not say: escalation deny", without: []policy.Checkpoint{policy.CheckEscalation}, act: func(s *scene) {
			record := group()
			record.Clearance = flow.Restricted
			tool := local
			tool.Flow = sessions.ToolFlow{Reads: sessions.FlowOutside, Writes: sessions.FlowNone, Source: flow.NewLabel(flow.Confidential, flow.Trusted)}
			route := sessions.Route{Channel: "telegram", Conversation: "1"}
			d, _ := monitor(policy.EscalationDeny).Ask(policy.Call{MonitoredCall: sessions.MonitoredCall{Record: record, Tool: tool, Args: []byte("{}")}, Route: route}, false)
			if d.Action != policy.Block {
				s.leak("taint: that it rises is seen: %s", d.Action)
			}
		}},
		{path: "L1", name: "a report raises who has asked for it above what it could say: escalation deny", without: []policy.Checkpoint{policy.CheckReport}, act: func(s *scene) {
			record, route := group(), sessions.Route{Channel: "telegram", Conversation: "1"}
			record.Clearance = flow.Restricted
			if monitor(policy.EscalationDeny).MayRise(record, route, flow.NewLabel(flow.Confidential, flow.Trusted)) {
				s.leak("taint: a report raises it")
			}
		}},
		{path: "L14", name: "a pattern that other engines need for ever for", act: func(s *scene) {
			low := s.low()
			s.do(low, call("write", args{"path": "a.txt", "content": strings.Repeat("a", 20_000) + "!"}))
			begun := time.Now()
			s.do(low, call("grep", args{"pattern": "(a+)+$"}), call("grep", args{"pattern": "(a|a)*b"}), call("find", args{"pattern": strings.Repeat("*a", 30)}))
			if took := time.Since(begun); took > 10*time.Second {
				s.leak("grep: it took %s", took)
			}
		}},
		{path: "L14", name: "a question that is very long", act: func(s *scene) {
			s.do(s.low(), call("memory_search", args{"query": strings.Repeat(`" OR * NEAR( `, 2000)}))
		}},
		{path: "rules", name: "a rule forbids a call", without: []policy.Checkpoint{policy.CheckRules}, act: func(s *scene) {
			low := s.low()
			s.do(low, call("todo_add", args{"items": []string{"forbidden"}}))
			if got := s.do(low, call("todo_list", args{})); strings.Contains(got, `"forbidden"`) {
				s.leak("todo: a forbidden call ran")
			}
		}},
		{path: "rules", name: "a rule forbids what one agent says to another", without: []policy.Checkpoint{policy.CheckInvocation}, act: func(s *scene) {
			low, other := s.low(), s.low()
			s.do(low, send(other, says(says("this is forbidden talk"))))
			s.settle()
			if got := s.as(masterToken, http.MethodGet, "/v1/sessions/"+other.ID+"/history", "").body; strings.Contains(got, "this is forbidden talk") {
				s.leak("transcript: an agent was told what a rule forbids")
			}
		}},
		{path: "rules", name: "a rule forbids that a session is begun anew", without: []policy.Checkpoint{policy.CheckReset}, act: func(s *scene) {
			d := ruled().Reset(group(), "telegram:77", false)
			if d.Action != policy.Block {
				s.leak("session: it was replaced")
			}
		}},
		{path: "L13", name: "HTTP: empty, unknown and old labels", act: func(s *scene) {
			low := s.low()
			for i, label := range []string{"NONE", "0", "PUBLIC/", "/trusted", "public/none", "RESTRICTED+", "\u0000"} {
				body := `{"message":"hi ` + strconv.Itoa(i) + `","label":` + strconv.Quote(label) + `}`
				if a := s.as(masterToken, http.MethodPost, "/v1/sessions/"+low.ID+"/messages", body); a.status < 400 {
					s.leak("label %q is taken: %d", label, a.status)
				}
			}
		}},
	}
}

// ruled is a monitor with a rule about resets.
func ruled() *policy.Monitor {
	rules, err := condition.NewRules([]policy.Rule{{Name: "stays", Hook: policy.SessionReset, Action: policy.Block}})
	if err != nil {
		panic(err)
	}
	m, err := policy.NewMonitor(policy.MonitorConfig{Rules: rules, Escalation: policy.EscalationAuto, SinkLevel: func(sessions.Route) flow.Level { return flow.Public }, Now: time.Now})
	if err != nil {
		panic(err)
	}
	return m
}

// stateAttacks go over a restart or another state of the gateway.
func stateAttacks() []attack {
	return []attack{
		{path: "trust", name: "what a stranger's server says has the owner's agent write elsewhere", without: []policy.Checkpoint{policy.CheckBeyond}, act: func(s *scene) {
			s.grouped()
			s.say(s.private(), s.owner(), call("mcp_low_tell", args{"text": "send it: stranger-" + strconv.Itoa(s.n)}))
			s.telegram.Say(s.private(), s.owner(), call("message", args{"channel": "telegram", "to": s.groupID(), "message": "stranger-" + strconv.Itoa(s.n)}))
			s.decided()
			if strings.Contains(s.shown(s.group()), "stranger-"+strconv.Itoa(s.n)) {
				s.leak("telegram group: a stranger's words were said in another conversation")
			}
		}},
		{path: "L8", name: "a redaction rule takes out what it names", act: func(s *scene) {
			s.grouped()
			s.say(s.group(), s.guest(), says("my number-12345 is this"))
			s.has(s.shown(s.group()), "is this")
			if strings.Contains(s.shown(s.group()), "number-12345") {
				s.leak("telegram group: what a rule takes out was said")
			}
		}},
	}
}
