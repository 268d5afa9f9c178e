package chat

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
)

func TestOnePrintsTheAnswerAsItArrives(t *testing.T) {
	t.Parallel()
	k := newTalk(t, false)
	x := k.working("hello")
	x.send(`{"type":"tool.call","run":"run_1","tool":"sessions_list"}`)
	x.send(`{"type":"tool.result","run":"run_1","tool":"sessions_list"}`)
	x.send(`{"type":"tool.result","run":"run_1","tool":"exec","failed":true}`)
	x.send(`{"type":"text.delta","run":"run_1","text":"you said "}`)
	k.sees("you said ")
	x.send(`{"type":"text.delta","run":"run_1","text":"hello\u001b"}`)
	x.ends(answer("you said hello"))
	out, all := k.ended(nil)
	require.Equal(t, `you said hello\u001b`+"\n", out)
	require.Equal(t, "[sessions_list]\n[exec failed]\n"+out, all)
}

// What each end of a run prints, and what the command returns.
func TestTheEndOfARun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		events   []string
		out, err string
		want     error
	}{
		"an answer in one piece": {[]string{`{"type":"run.done","text":"all"}`}, "all\n", "", nil},
		"no answer":              {[]string{`{"type":"run.done"}`}, "", "[the agent did not answer]\n", nil},
		"a withheld answer":      {[]string{`{"type":"run.done","withheld":{"message":"Processed; the reply was withheld.","approval":"apr_1"}}`}, "", "Processed; the reply was withheld. [sluice approvals show apr_1]\n", nil},
		"a second attempt": {
			[]string{`{"type":"text.delta","text":"ha"}`, `{"type":"run.retrying"}`, `{"type":"run.done","text":"hello"}`},
			"ha\nhello\n", "[the model failed; retrying]\n", nil,
		},
		"a failure":           {[]string{`{"type":"run.failed","text":"the model\nis down"}`}, "", "sluice: the model is down\n", terminal.ErrReported},
		"an untold failure":   {[]string{`{"type":"run.failed"}`}, "", "sluice: the run failed\n", terminal.ErrReported},
		"a stopped run":       {[]string{`{"type":"run.aborted"}`}, "", "sluice: the run was stopped\n", terminal.ErrReported},
		"a dropped message":   {[]string{`{"type":"run.dropped"}`}, "", "sluice: the message was dropped\n", terminal.ErrReported},
		"a failure in a line": {[]string{`{"type":"text.delta","text":"half"}`, `{"type":"run.failed"}`}, "half\n", "sluice: the run failed\n", terminal.ErrReported},
		"a cut stream":        {[]string{`{"type":"text.delta","text":"half"}`}, "half\n", "", errCut},
		"an unknown event":    {[]string{`{"type":"moon.phase"}`, `{"type":"run.done","text":"a\n"}`}, "a\n", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newTalk(t, false)
			k.asks("hello")
			k.hears("hello").ends(test.events...)
			out, all := k.ended(test.want)
			require.Equal(t, test.out, out)
			require.Len(t, all, len(test.out)+len(test.err))
			require.Contains(t, all, test.err)
		})
	}
}

// A chat goes on after a failed turn. It ends with /quit, and what follows is not sent.
func TestAChatGoesOn(t *testing.T) {
	t.Parallel()
	k := newTalk(t, false)
	k.starts()
	go k.types("one", "", "  ", "/help", "two", "409 refused the session is busy", "three", "four", " /quit ", "never")
	k.hears("one").ends(answer("1"))
	k.hears("/help").ends(`{"type":"message.notice","text":"Commands: /help"}`)
	k.hears("two").ends(`{"type":"run.failed","run":"run_1","text":"the model is down"}`)
	k.hears("three").ends()
	k.hears("four").ends(answer("4"))
	out, all := k.ended(nil)
	require.Equal(t, "1\nCommands: /help\n4\n", out)
	require.Equal(t, "1\nCommands: /help\nsluice: the model is down\nsluice: the session is busy\nsluice: "+errCut.Error()+"\n4\n", all)
}

func TestATerminalHasAPrompt(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true)
	k.chat.Session = "main" + "\x1b"
	k.starts()
	k.sees("\n> ")
	k.types("/exit")
	out, _ := k.ended(nil)
	require.Equal(t, `Session main\u001b. Type a message, /help for commands, or Ctrl-D to leave.`+"\n\n> ", out)
}

// Without access nothing else can work.
func TestARejectedTokenEndsTheChat(t *testing.T) {
	t.Parallel()
	k := newTalk(t, false)
	k.starts()
	k.types("401 refused x")
	err := within(k, k.done, "end")
	var refused *api.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusUnauthorized, refused.Status)
}

func TestTheEndOfTheInput(t *testing.T) {
	t.Parallel()
	k := newTalk(t, false)
	k.starts()
	k.closesInput()
	k.ended(nil)

	k = newTalk(t, false)
	k.starts()
	require.NoError(t, k.typed.CloseWithError(errNoKeyboard))
	k.ended(errNoKeyboard)

	k = newTalk(t, false)
	k.chat.Input = strings.NewReader(strings.Repeat("x", lineMax+1))
	k.starts()
	require.ErrorContains(t, within(k, k.done, "end"), "an input line is longer than 1048576 bytes")

	k = newTalk(t, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, k.chat.Run(ctx), context.Canceled)
}

func TestAnInterruptAtThePromptEndsTheChat(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true)
	k.starts()
	k.sees("> ")
	k.signals <- os.Interrupt
	k.ended(nil)
}

// The first interrupt stops the run; that is an event, and the chat goes on.
func TestAnInterruptStopsTheRun(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true)
	k.starts()
	k.types("work")
	x := k.hears("work")
	k.signals <- os.Interrupt
	k.called("POST /v1/sessions/main/runs/run_1/cancel")
	x.ends(`{"type":"run.aborted","run":"run_1"}`)
	k.sees("sluice: the run was stopped\n")
	k.types("again")
	k.hears("again").ends(answer("yes"))
	k.sees("yes\n")
	k.closesInput()
	k.ended(nil)
}

// The second interrupt does not wait for the run.
func TestASecondInterruptLeavesTheRun(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true)
	k.refuse.Store(http.StatusServiceUnavailable)
	k.starts()
	k.types("work")
	x := k.hears("work")
	k.signals <- os.Interrupt
	k.sees("sluice: stop the run: not now\n")
	k.signals <- os.Interrupt
	within(k, x.gone, "end of the stream")
	k.sees("\n> ")
	k.types("/quit")
	k.ended(nil)
}

func question(id string) string {
	return `{"type":"message.notice","run":"run_1","delivery":"dlv_` + id + `","text":"May I?","buttons":[{"label":"Allow","value":"/approve ` + id + ` allow"},{"label":"Deny","value":"/approve ` + id + ` deny"}]}`
}

func TestAQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typed, verb string }{{"y", "allow"}, {"  YES ", "allow"}, {"n", "deny"}, {"no", "deny"}} {
		for _, terminalInput := range []bool{true, false} {
			t.Run(c.typed+" "+strconv.FormatBool(terminalInput), func(t *testing.T) {
				t.Parallel()
				typed, verb := c.typed, c.verb
				k := newTalk(t, terminalInput)
				x := k.working("do it")
				x.send("%s", question("apr_1"))
				x.send("%s", question("apr_1")) // it is in two streams, and shown once
				k.sees("Type y to allow it, n to deny it.\n")
				k.types(typed)
				k.called("GET /v1/approvals")
				k.called("POST /v1/approvals/apr_1/" + verb)
				k.sees(map[string]string{"allow": "[allowed]\n", "deny": "[denied]\n"}[verb])
				x.ends(done)
				out, all := k.ended(nil)
				require.Equal(t, "May I?\n", out)
				require.Contains(t, all, "[Allow: /approve apr_1 allow]\n[Deny: /approve apr_1 deny]\n")
			})
		}
	}
}

// A y for two questions answers neither. When one was answered elsewhere, it answers the other.
func TestTwoQuestions(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true)
	x := k.working("do it")
	k.waiting.Store(`{"approvals":[{"id":"apr_1"},{"id":"apr_2"}]}`)
	x.send("%s", question("apr_1"))
	x.send("%s", question("apr_2"))
	k.sees("2 questions are open. Answer one: /approve ID allow, or /approve ID deny.\n")
	k.types("y")
	k.called("GET /v1/approvals")
	k.sees("  apr_1\n  apr_2\n")
	k.types("/approve apr_1 allow")
	k.hears("/approve apr_1 allow").ends(`{"type":"message.notice","text":"Allowed: I will run exec."}`)
	k.sees("I will run exec.\n")
	k.waiting.Store(`{"approvals":[{"id":"apr_2"}]}`)
	k.types("n")
	k.called("GET /v1/approvals")
	k.called("POST /v1/approvals/apr_2/deny")
	k.sees("[denied]\n")
	x.ends(done)
	k.ended(nil)
}

func TestAQuestionThatIsClosed(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true)
	x := k.working("do it")
	k.waiting.Store(`{"approvals":[]}`)
	x.send("%s", question("apr_1"))
	k.sees("Type y")
	k.types("y")
	k.called("GET /v1/approvals")
	k.sees("[no question is open]\n")
	x.ends(done)
	k.ended(nil)
}

func TestADecisionThatFails(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true)
	k.refuse.Store(http.StatusForbidden)
	x := k.working("do it")
	x.send("%s", question("apr_1"))
	k.sees("Type y")
	k.types("y")
	k.sees("sluice: not now\n")
	x.ends(done)
	k.ended(nil)
}

// The question is still open, but the decision itself is refused: the person can try again.
func TestADecisionThatIsRefusedCanBeRepeated(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true)
	k.refusePosts.Store(http.StatusConflict)
	k.waiting.Store(`{"approvals":[{"id":"apr_1"}]}`)
	x := k.working("do it")
	x.send("%s", question("apr_1"))
	k.sees("Type y")
	k.types("y")
	k.called("GET /v1/approvals")
	k.sees("sluice: not now\n")
	k.refusePosts.Store(0)
	k.types("n")
	k.called("GET /v1/approvals")
	k.called("POST /v1/approvals/apr_1/deny")
	k.sees("[denied]\n")
	x.ends(done)
	k.ended(nil)
}

// From a pipe, lines are read while an answer arrives only after a question: they may be meant for later.
func TestAScriptAnswersAQuestion(t *testing.T) {
	t.Parallel()
	k := newTalk(t, false)
	k.chat.Input = strings.NewReader("do it\ny\nthanks\n")
	k.starts()
	x := k.hears("do it")
	x.send("%s", question("apr_1"))
	k.called("GET /v1/approvals")
	k.called("POST /v1/approvals/apr_1/allow")
	x.ends(answer("done"))
	k.hears("thanks").ends(answer("welcome"))
	out, _ := k.ended(nil)
	require.Equal(t, "May I?\ndone\nwelcome\n", out)
}

func TestTheInputEndsWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	k := newTalk(t, false)
	x := k.working("do it")
	x.send("%s", question("apr_1"))
	k.sees("Type y")
	k.closesInput()
	k.sees("The input ended and a question is open. Answer it with: sluice approvals allow apr_1, or sluice approvals deny apr_1\n")
	x.ends(done)
	k.ended(nil)
}

// What is typed while an answer arrives is sent after it, up to a bound.
func TestLinesWaitForTheAnswer(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true)
	k.starts()
	k.types("first")
	x := k.hears("first")
	k.types("", "second")
	x.send("%s", question("apr_1"))
	k.sees("Type y")
	k.types("third")
	k.sees("[will be sent after the reply; first answer the question with y or n]\n")
	for n := range keptMax - 2 {
		k.types(strconv.Itoa(n))
	}
	k.types("too many")
	k.sees("[ignored: 100 lines are waiting already]\n")
	x.ends(answer("1"))
	k.hears("second").ends(answer("2"))
	third := k.hears("third")
	k.types("/quit")
	within(k, third.gone, "end of the stream")
	for n := range keptMax - 2 {
		k.hears(strconv.Itoa(n)).ends(done)
	}
	k.ended(nil)
}

// A command that is typed while an answer arrives is answered at once; one that is answered later is waited for.
func TestCommandsBesideAnAnswer(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true)
	x := k.working("work")
	k.types("/status")
	k.hears("/status").ends(`{"type":"message.notice","delivery":"dlv_1","text":"working"}`)
	x.send(`{"type":"message.notice","run":"run_1","delivery":"dlv_1","text":"working"}`) // the same in the run's stream
	k.sees("working\n")
	k.types("/late")
	late := k.hears("/late")
	x.ends(answer("all"))
	k.sees("all\n")
	late.ends(`{"type":"message.notice","text":"late"}`)
	out, _ := k.ended(nil)
	require.Equal(t, "working\nall\nlate\n", out)
}

func TestAnInterruptDoesNotWaitForACommand(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true)
	x := k.working("work")
	k.types("/late")
	late := k.hears("/late")
	x.ends(answer("all"))
	k.sees("all\n")
	k.signals <- os.Interrupt
	within(k, late.gone, "end of the stream")
	k.ended(nil)
}

// A line that looks like a command may be a message of its own: its answer is not this one.
func TestALineThatIsNotACommand(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true)
	x := k.working("work")
	k.types("/etc/hosts is a file")
	k.hears("/etc/hosts is a file").send(`{"type":"run.started","run":"run_2"}`)
	k.sees("sluice: " + errNotCommand.Error() + "\n")
	x.ends(done)
	k.ended(nil)
}
