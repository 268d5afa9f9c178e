package attacks_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"sluice/adapters/discord/discordtest"
	"sluice/adapters/telegram/telegramtest"
	"sluice/policy"
)

// fileGroup is a group of the agent whose shared files are CONFIDENTIAL.
const fileGroup = -29_001

// chatAttacks say it in chats.
func chatAttacks() []attack {
	gate := []policy.Checkpoint{policy.CheckGate}
	// sent is a message by a session that knows.
	sent := func(channel string, to func(s *scene) string) func(s *scene) {
		return func(s *scene) {
			s.grouped()
			s.raised() // an owner speaks in it, so that it may speak elsewhere
			s.say(s.private(), s.owner(), call("message", args{"channel": channel, "to": to(s), "message": s.secret}))
			blocked := s.as(masterToken, http.MethodGet, "/v1/sessions/"+s.session(s.privateKey()).ID+"/history", "").body
			s.has(blocked, "blocked", "raise channels."+channel)
		}
	}
	return []attack{
		{path: "L8", name: "message: to a Telegram group", without: gate, act: sent("telegram", func(s *scene) string { return s.groupID() })},
		{path: "L8", name: "message: to somebody else's direct chat", without: gate, act: sent("telegram", func(s *scene) string { s.say(s.group(), s.owner(), "hi"); return "10399" })},
		{path: "L8", name: "message: to a Slack channel", without: gate, act: sent("slack", func(*scene) string { return slackGroup })},
		{path: "L8", name: "message: to a Discord channel", without: gate, act: sent("discord", func(*scene) string { return discordtest.General })},
		{path: "L8", name: "message: buttons say it", without: gate, act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), call("message", args{"message": "choose", "buttons": []any{args{"label": s.secret, "value": "x"}}}))
		}},
		{path: "L8", name: "reply: a chat that carries less", without: gate, act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), "what do you know?")
			s.has(s.as(masterToken, http.MethodGet, "/v1/deliveries?status=blocked&limit=5", "").body, "raise channels.telegram.classification, or start a new session with /new")
		}},
		{path: "L8", name: "attach: a reply's file says it", without: gate, act: func(s *scene) {
			plan := ".sessions/" + s.raised().ID + "/plan.txt"
			s.say(s.private(), s.owner(), call("write", args{"path": plan, "content": s.secret})+"\n"+call("attach", args{"files": []string{plan}}))
			s.has(s.as(masterToken, http.MethodGet, "/v1/deliveries?status=blocked&limit=5", "").body, "plan.txt")
		}},
		{path: "L8", name: "attach: a shared file above its session, in a group", act: func(s *scene) {
			at, name := telegramtest.Group(fileGroup, "Files"), fmt.Sprintf("plans/plan-%d.txt", s.n)
			file := filepath.Join(s.state, "workspaces", "filed", "files", name)
			require.NoError(s.t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(s.t, os.WriteFile(file, []byte(s.secret), 0o600))
			tried := func(tool string, a args) string {
				n := len(s.telegram.Sent(at.ID))
				s.say(at, s.guest(), call(tool, a))
				said := ""
				for _, m := range s.telegram.Sent(at.ID)[n:] {
					s.unseen("telegram file", m.Text+string(m.Content))
					said += results(m.Text)
				}
				return said
			}
			s.has(tried("attach", args{"files": []string{name}}), "attach returns CONFIDENTIAL information, and this conversation's clearance is PUBLIC")
			s.same("attach", tried("attach", args{"files": []string{name}}), tried("attach", args{"files": []string{"plans/none.txt"}}))
			s.same("read", tried("read", args{"path": name}), tried("read", args{"path": "plans/none.txt"}))
			require.NoError(s.t, os.Remove(file))
		}},
		{path: "L8", name: "a held answer is tried again by the operator", without: gate, act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), "what do you know?")
			for _, id := range s.ids()["delivery"] {
				s.as(masterToken, http.MethodPost, "/v1/deliveries/"+id+"/retry", "")
			}
		}},
		{path: "L8", name: "Slack: a conversation learns more than it carries", without: gate, act: func(s *scene) {
			row := s.onSlack("hello")
			s.tell(row, "CONFIDENTIAL", s.secret)
			s.onSlack("what do you know?")
			s.read(s.as(masterToken, http.MethodPost, "/v1/sessions/"+row.ID+"/reset", ""), nil)
		}},
		{path: "L8", name: "Discord: a conversation learns more than it carries", without: gate, act: func(s *scene) {
			row := s.onDiscord("hello")
			s.tell(row, "CONFIDENTIAL", s.secret)
			s.onDiscord("what do you know?")
			s.read(s.as(masterToken, http.MethodPost, "/v1/sessions/"+row.ID+"/reset", ""), nil)
		}},
		{path: "L12", name: "the owner, in a group, asks for what was said in private", act: func(s *scene) {
			s.grouped()
			private := s.raised()
			s.say(s.group(), s.owner(), call("sessions_history", args{"sessionKey": private.Key}))
			s.say(s.group(), s.owner(), "what do you know?")
			s.has(s.shown(s.group()), "there is no session")
		}},
		{path: "L12", name: "the owner, in a group, raises it", act: func(s *scene) {
			s.grouped()
			s.say(s.group(), s.owner(), "/raise CONFIDENTIAL")
			s.has(s.shown(s.group()), "PUBLIC")
			if taint := s.session(s.groupKey()).Taint; strings.HasPrefix(taint, "CONFIDENTIAL") {
				s.leak("group: it is at %s", taint)
			}
			s.say(s.group(), s.owner(), s.rises())
			s.has(s.shown(s.group()), "this conversation's clearance is PUBLIC")
		}},
		{path: "L12", name: "the owner, in a group, names a file of another chat", act: func(s *scene) {
			private := s.raised()
			s.say(s.private(), s.owner(), call("write", args{"path": "notes.md", "content": s.secret}))
			s.grouped()
			s.say(s.group(), s.owner(), call("read", args{"path": "../" + private.ID + "/notes.md"}))
		}},
		{path: "L16", name: "a blocked answer is sent again as it was", without: gate, act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), "what do you know?")
			s.say(s.private(), s.owner(), "send it again")
			s.has(s.as(masterToken, http.MethodGet, "/v1/deliveries?status=blocked&limit=5", "").body, "start a new session with /new")
		}},
		{path: "L16", name: "the session is left for a new one, which is told by the old one", without: []policy.Checkpoint{policy.CheckSessionsSend}, act: func(s *scene) {
			low, high := s.low(), s.high()
			s.do(high, drop(low.Key, "as you asked: "+s.secret))
			s.untouched(low)
			s.tell(low, "PUBLIC", "what were you told?")
		}},
		{path: "L8", name: "a guest's /commands say nothing of what is hidden", act: func(s *scene) {
			s.raised()
			s.grouped()
			for _, command := range []string{"/status", "/usage", "/whoami", "/subagents", "/branch", "/model", "/help", "/approve x allow", "/raise RESTRICTED", "/send on"} {
				s.say(s.group(), s.guest(), command)
			}
			s.has(s.session(s.groupKey()).Taint, "PUBLIC")
		}},
	}
}
