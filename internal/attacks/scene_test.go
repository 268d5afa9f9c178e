package attacks_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"sluice/adapters/discord/discordtest"
	"sluice/adapters/slack/slacktest"
	"sluice/adapters/telegram/telegramtest"
	"sluice/store/sqlite"
)

// The people of scene n: an owner of its own and a guest of its own on Telegram, and a group.
const (
	scenesMax = 400
	ownerBase = 10_000
	guestBase = 20_000
	groupBase = -30_000
)

// args are the arguments of a tool.
type args = map[string]any

// call is an order that the model obeys.
func call(tool string, a args) string {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // the test itself is wrong
	}
	return "!call " + tool + " " + string(text)
}

// scene is one script on the stage of a world. It notes what was seen that must not be, and what was not that must.
type scene struct {
	*world
	n      int
	secret string // nobody below CONFIDENTIAL may ever see it
	leaks  []string
	lacks  []string
	since  marks

	streams sync.WaitGroup
	stop    context.CancelFunc
	stopped context.Context
	heard   record // by streams of the low token
}

// marks are where the records stood when the scene began.
type marks struct {
	telegram, discord, cheap, log, outside int
	sessions                               map[string]bool
}

func (w *world) scene(n int) *scene {
	require.Less(w.t, n, scenesMax)
	s := &scene{world: w, n: n, secret: fmt.Sprintf("zinc%dquartz", n)}
	s.stopped, s.stop = context.WithCancel(w.t.Context())
	s.since = marks{len(w.telegram.Calls("")), len(w.discord.Calls("")), len(w.cheap.Requests()), len(w.log.String()), len(w.outside.heardLow.String()), map[string]bool{}}
	for _, r := range s.sessions() {
		s.since.sessions[r.ID] = true
	}
	s.follow(stepsPath)
	s.follow("/v1/stream")
	return s
}

// stepsPath is the stream of the steps of exchanges.
const stepsPath = "/v1/bus/steps"

// leak notes something that was seen by somebody who must not.
func (s *scene) leak(format string, a ...any) { s.leaks = append(s.leaks, fmt.Sprintf(format, a...)) }

// unseen notes a leak if a text has the secret.
func (s *scene) unseen(where, text string) {
	for _, secret := range []string{s.secret, vaultValue} {
		if at := strings.Index(text, secret); at >= 0 {
			s.leak("%s: …%s…", where, text[max(at-80, 0):min(at+80, len(text))])
		}
	}
}

// same notes a leak if what is hidden does not look as what is not there.
func (s *scene) same(where, hidden, absent string) {
	if hidden != absent {
		s.leak("%s: hidden %q, absent %q", where, hidden, absent)
	}
}

// has notes that an answer does not say what it must.
func (s *scene) has(text string, wants ...string) {
	for _, want := range wants {
		if !strings.Contains(text, want) {
			s.lacks = append(s.lacks, fmt.Sprintf("%q is not in %q", want, text[:min(len(text), 600)]))
		}
	}
}

type sessionRow struct {
	ID, Key, Agent, Taint, Title, Model string
	Channel                             string
}

// read decodes an answer that must be 2xx.
func (w *world) read(a answer, into any) {
	w.t.Helper()
	require.Less(w.t, a.status, 300, "%s", a.body)
	if into != nil {
		require.NoError(w.t, json.Unmarshal([]byte(a.body), into), "%s", a.body)
	}
}

func (w *world) sessions() (rows []sessionRow) {
	w.t.Helper()
	w.read(w.as(masterToken, http.MethodGet, "/v1/sessions", ""), &rows)
	return rows
}

func (w *world) session(name string) (row sessionRow) {
	w.t.Helper()
	w.read(w.as(masterToken, http.MethodGet, "/v1/sessions/"+name, ""), &row)
	return row
}

// open begins a session for a token, by the agent main unless another is named.
func (s *scene) open(token string, agent ...string) sessionRow {
	s.t.Helper()
	body := `{"persistent":true}`
	if len(agent) > 0 {
		body = `{"persistent":true,"agent":"` + agent[0] + `"}`
	}
	var row sessionRow
	s.read(s.as(token, http.MethodPost, "/v1/sessions", body), &row)
	return row
}

// low is a session at PUBLIC, to whose events the low token listens.
func (s *scene) low(agent ...string) sessionRow {
	s.t.Helper()
	row := s.open(masterToken, agent...)
	s.listen(row)
	return row
}

// high is a CONFIDENTIAL session that knows the secret.
func (s *scene) high(agent ...string) sessionRow {
	s.t.Helper()
	row := s.open(masterToken, agent...)
	s.tell(row, "CONFIDENTIAL", "the secret word is "+s.secret)
	return row
}

// tell says something in a session with the master token, and gives the answer.
func (s *scene) tell(to sessionRow, label, text string) string {
	s.t.Helper()
	return s.reply(s.tellAs(masterToken, to, label, text))
}

// tellAs says something in a session with a token.
func (s *scene) tellAs(token string, to sessionRow, label, text string) answer {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"message": text, "label": label})
	require.NoError(s.t, err)
	return s.as(token, http.MethodPost, "/v1/sessions/"+to.ID+"/messages", string(body))
}

// reply is the result of a turn, or why there is no answer. Over HTTP the gate is before it too: what the page may not
// carry is looked up as the operator.
func (s *scene) reply(a answer) string {
	s.t.Helper()
	var got struct {
		Run            string `json:"run_id"`
		Reply, Message string
		Withheld       *struct{ Code string }
	}
	require.NoError(s.t, json.Unmarshal([]byte(a.body), &got), "%s", a.body)
	if got.Withheld != nil {
		s.read(s.as(masterToken, http.MethodGet, "/v1/runs/"+got.Run, ""), &got)
	}
	return got.Reply + got.Message
}

// do orders tool calls in a session, one after the other in one turn, and gives their results, a line each.
func (s *scene) do(in sessionRow, orders ...string) string {
	s.t.Helper()
	return results(s.tell(in, "PUBLIC", strings.Join(orders, "\n")))
}

// results cuts off what the model knows besides.
func results(reply string) string {
	text, _, _ := strings.Cut(reply, "\n\nI know: ")
	return text
}

// patch changes a session as the operator.
func (s *scene) patch(row sessionRow, body string) answer {
	s.t.Helper()
	return s.as(masterToken, http.MethodPatch, "/v1/sessions/"+row.ID, body)
}

func (s *scene) owner() telegramtest.User {
	return telegramtest.User{ID: int64(ownerBase + s.n), FirstName: "Ada"}
}

func (s *scene) guest() telegramtest.User {
	return telegramtest.User{ID: int64(guestBase + s.n), FirstName: "Eve"}
}

func (s *scene) private() telegramtest.Chat { return telegramtest.Private(s.owner().ID) }

func (s *scene) group() telegramtest.Chat {
	return telegramtest.Group(int64(groupBase-s.n), "Group "+strconv.Itoa(s.n))
}

// privateKey and groupKey are the keys of the owner's direct chat and of the group.
func (s *scene) privateKey() string {
	return fmt.Sprintf("agent:main:telegram:direct:%d", ownerBase+s.n)
}

func (s *scene) groupKey() string { return fmt.Sprintf("agent:main:telegram:group:%d", groupBase-s.n) }

// say lets somebody write on Telegram and waits for all that comes of it.
func (s *scene) say(at telegramtest.Chat, who telegramtest.User, text string) {
	s.t.Helper()
	s.telegram.Say(at, who, text)
	require.NoError(s.t, s.telegram.WaitConfirmed(s.t.Context()))
	s.settle()
}

// shown is all that a Telegram chat shows.
func (s *scene) shown(at telegramtest.Chat) string {
	var all []string
	for _, m := range s.telegram.Sent(at.ID) {
		all = append(all, m.Text)
	}
	return strings.Join(all, "\n")
}

// raised is the owner's direct chat at CONFIDENTIAL, where the secret was said.
func (s *scene) raised() sessionRow {
	s.t.Helper()
	s.say(s.private(), s.owner(), "hello")
	row := s.session(s.privateKey())
	s.tell(row, "CONFIDENTIAL", "the secret word is "+s.secret)
	s.settle()
	return row
}

// grouped is the session of the group, in which people have spoken.
func (s *scene) grouped() sessionRow {
	s.t.Helper()
	s.say(s.group(), s.guest(), "hello all")
	return s.session(s.groupKey())
}

// onSlack and onDiscord let the owner write in a direct chat there, wait for all that comes of it, and give its session.
func (s *scene) onSlack(text string) sessionRow {
	s.t.Helper()
	s.slack.Say(1, text)
	return s.spoken("agent:main:slack:direct:"+strings.ToLower(slacktest.Person(1)), text)
}

func (s *scene) onDiscord(text string) sessionRow {
	s.t.Helper()
	s.discord.Say(discordtest.DirectID(1), 1, text)
	return s.spoken("agent:main:discord:direct:1", text)
}

// spoken waits until a message was worked on in a session.
func (s *scene) spoken(key, text string) (row sessionRow) {
	s.t.Helper()
	s.until("the message to be worked on", func() bool {
		for _, row = range s.sessions() {
			if strings.EqualFold(row.Key, key) {
				return strings.Contains(s.as(masterToken, http.MethodGet, "/v1/sessions/"+row.ID+"/runs", "").body, `"input":"`+text)
			}
		}
		return false
	})
	s.settle()
	return row
}

// listen keeps what the low token sees of a session's events, until the scene ends.
func (s *scene) listen(row sessionRow) {
	s.t.Helper()
	s.follow("/v1/sessions/" + row.ID + "/events")
}

// follow keeps what the low token sees of a stream, until the scene ends.
func (s *scene) follow(path string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.stopped, http.MethodGet, "http://"+s.Addr().String()+path, http.NoBody)
	require.NoError(s.t, err)
	req.Header.Set("Authorization", "Bearer "+lowToken)
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(s.t, err)
	s.streams.Go(func() {
		defer resp.Body.Close() //nolint:errcheck // only read from
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			_, _ = s.heard.Write(append(lines.Bytes(), '\n'))
		}
	})
}

// end ends the streams.
func (s *scene) end() {
	s.stop()
	s.streams.Wait()
}

// word is what the server high gives the secret for.
func (s *scene) word() string { return fmt.Sprintf("WORD%d", s.n) }

// groupID is the id of the group.
func (s *scene) groupID() string { return strconv.Itoa(groupBase - s.n) }

// untouched notes a leak if a session has risen: what it was told was not meant for it.
func (s *scene) untouched(row sessionRow) {
	s.t.Helper()
	s.settle()
	if taint := s.session(row.ID).Taint; !strings.HasPrefix(taint, "PUBLIC") {
		s.leak("taint of a session at PUBLIC: it was raised by what another one told it")
	}
}

// asked notes a leak if a tool of the outside has done its work, whatever came of it.
func (s *scene) asked(result, who string) {
	if !strings.Contains(result, "refused: ") {
		s.leak("%s: it was asked: %s", who, result)
	}
}

// tools are the tools of the agent main, as its model sees them.
func (w *world) tools() []string {
	requests := w.models.Requests()
	return requests[len(requests)-1].Tools
}

// decided waits until the run that works either waits for somebody's word, which is no, or has ended.
func (s *scene) decided() {
	s.t.Helper()
	require.NoError(s.t, s.telegram.WaitConfirmed(s.t.Context()))
	s.until("a call to wait or run", func() bool {
		var list struct{ Approvals []struct{ ID, Status string } }
		s.read(s.as(masterToken, http.MethodGet, "/v1/approvals", ""), &list)
		for _, a := range list.Approvals {
			if a.Status == "waiting" || a.Status == "pending" || a.Status == "open" {
				s.read(s.as(masterToken, http.MethodPost, "/v1/approvals/"+a.ID+"/deny", "{}"), nil)
			}
		}
		for _, status := range []string{"queued", "running"} {
			var open struct{ Runs []json.RawMessage }
			s.read(s.as(masterToken, http.MethodGet, "/v1/runs?status="+status, ""), &open)
			if len(open.Runs) > 0 {
				return false
			}
		}
		return true
	})
	s.settle()
}

// relabelTodos makes the items of a session's list such as no session can have written: above the session.
func (s *scene) relabelTodos(of sessionRow, text string) {
	s.t.Helper()
	s.tamper("UPDATE todos SET level = 3, text = ? WHERE session_id = ?", text, of.ID)
}

// lower makes a session's own label older than its messages, and raise makes it right again.
func (s *scene) lower(of sessionRow) {
	s.t.Helper()
	s.tamper("UPDATE sessions SET level = 1 WHERE id = ?", of.ID)
}

func (s *scene) raise(of sessionRow) {
	s.t.Helper()
	s.tamper("UPDATE sessions SET level = 3 WHERE id = ?", of.ID)
}

// tamper writes into the database behind the gateway's back.
func (s *scene) tamper(query string, a ...any) {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.state, sqlite.FileName)+"?_pragma=busy_timeout(5000)")
	require.NoError(s.t, err)
	defer db.Close() //nolint:errcheck // what it did was checked
	_, err = db.ExecContext(s.t.Context(), query, a...)
	require.NoError(s.t, err)
}
