//go:build mutants

package attacks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
)

// leakRow is a check that was taken away, and by which programs two runs show it; or why they can't.
type leakRow struct{ Leak, Found, Why string }

// beyondTwoRuns are the checkpoints that a comparison of what low sessions and their people are told can't miss, and why.
func beyondTwoRuns() map[policy.Checkpoint]string {
	return map[policy.Checkpoint]string{
		policy.CheckSink:       "it guards a server outside, which both runs tell something; the attacks listen there",
		policy.CheckModel:      "it guards a model outside; the attacks listen there",
		policy.CheckSecret:     "it guards a server outside, and the vault is the same in both runs",
		policy.CheckClearance:  "without it a server is asked in vain: what it gives is withheld by `tool.response`",
		policy.CheckEscalation: "what it forbids makes a session rise, which then no longer counts as low",
		policy.CheckReport:     "what it forbids makes a session rise by a sub-agent's report, which then no longer counts as low",
		policy.CheckBeyond:     "it is about who has influenced a call, not about what is told",
		policy.CheckPress:      "it is about who commands, not about what is told",
		policy.CheckForward:    "it is about who commands, not about what is told",
		policy.CheckApprover:   "it is about who decides, not about what is told",
		policy.CheckUnread:     "it is about who commands, not about what is told",
		policy.CheckThread:     "it is about who has influenced a call, not about what is told",
		policy.CheckSpeaker:    "it is about who seems to speak, not about what is told",
		policy.CheckVisible:    "it is about how a question looks, not about what is told",
		policy.CheckStranger:   "it guards HTTP, which the programs do not use; the attacks look there",
		policy.CheckSearch:     "it is about work, not about what is told",
		policy.CheckSpace:      "it is about room, not about what is told; internal/workspace shows what the bound tells of others",
		policy.CheckSize:       "it is about room, not about what is told",
		policy.CheckToken:      "it guards a start, and a program begins after it",
		policy.CheckBelow:      "the send policy is the owner's, and the same in both runs",
		policy.CheckSend:       "the send policy is the owner's, and the same in both runs",
		policy.CheckOutput:     "rules are the owner's, and the same in both runs",
		policy.CheckRules:      "rules are the owner's, and the same in both runs",
		policy.CheckReset:      "rules are the owner's; the programs have none",
		policy.CheckInvocation: "rules are the owner's; the programs have none",
		policy.CheckInput:      "it is behind `sessions.send` and `exchange.step`, which let nothing through that it would stop",
	}
}

// leakPrograms is after how many programs of a kind a leak counts as not found.
const leakPrograms = 3

// The comparison of two runs finds the leak that each checkpoint is there for, but for those outside of what it looks at; and it finds
// none where none is planted, as the tests without mutants show.
func TestTwoRunsFindLeaks(t *testing.T) {
	beyond := beyondTwoRuns()
	rows := []leakRow{}
	found := func(leak string, planted func(*twoRun)) {
		row := leakRow{Leak: leak, Found: foundBy(t, shownBy()[leak], planted)}
		t.Logf("%s: %s", leak, row.Found)
		if row.Found == "" {
			t.Errorf("two runs do not find the leak without %s", leak)
		}
		rows = append(rows, row)
	}
	for _, at := range checkpoints(t) {
		if why := beyond[at]; why != "" {
			rows = append(rows, leakRow{Leak: string(at), Why: why})
			continue
		}
		func() {
			defer policy.Without(at)() // also if a program fails
			found(string(at), soundly)
		}()
	}
	found("the level of a question to memory", func(w *twoRun) { w.store.leveling = true })
	require.Greater(t, len(rows), len(beyond))
	keep(t, "leaks.json", rows)
}

// way is a kind of programs that are compared in two runs.
type way struct {
	name    string
	compare func(t testing.TB, seed uint64, planted func(*twoRun)) (found string, calls int)
}

// The ways in which low sessions and their people can be told something.
var (
	byCalls    = way{"calls of tools", difference}
	byTalk     = way{"talk between agents and with people", talkDifference}
	byCommands = way{"commands and decisions", covertDifference}
)

// first is the program that is tried first for a leak.
type first struct {
	way  way
	seed uint64
}

// shownBy are the programs that show a leak, where that is not the program of calls with the seed 0. To try them first spares
// whole programs that show nothing; if one no longer shows its leak, all programs are tried.
func shownBy() map[string]first {
	return map[string]first{
		string(policy.CheckSessionsHidden): {byCalls, 1},
		string(policy.CheckSessionsReply):  {byTalk, 0},
		string(policy.CheckExchangeStep):   {byTalk, 0},
		string(policy.CheckRate):           {byCalls, 1},
		string(policy.CheckQuote):          {byCommands, 0},
		string(policy.CheckGate):           {byTalk, 0},
	}
}

// foundBy says by which programs a leak is found, trying one of them before the others; empty: by none.
func foundBy(t *testing.T, try first, planted func(*twoRun)) string {
	t.Helper()
	ways := []way{byCalls, byTalk, byCommands}
	shows := func(by way, seed uint64) bool {
		what, _ := by.compare(t, seed, planted)
		if what != "" {
			t.Logf("%s: %.300s", by.name, what)
		}
		return what != ""
	}
	if try.way.compare != nil && shows(try.way, try.seed) {
		return try.way.name
	}
	for seed := range uint64(leakPrograms) {
		for _, by := range ways {
			if shows(by, seed) {
				return by.name
			}
		}
	}
	return ""
}
