// Package storetest is the conformance suite of the stores, and a PostgreSQL
// server for tests.
package storetest

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
)

// Run checks a store against the contracts of the router and of the sessions. open returns an empty store for one
// test, and closes it when the test ends.
func Run(t *testing.T, open func(t *testing.T) *store.DB) {
	t.Helper()
	cases := map[string]func(*testing.T, *bundle){}
	for _, group := range []map[string]func(*testing.T, *bundle){conversationCases(), deliveryCases(), peopleCases(), operatorCases(), memoryCases(), spendingCases()} {
		maps.Copy(cases, group)
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &bundle{DB: open(t), t: t, ctx: t.Context()})
		})
	}
}

// bundle is a store with helpers for tests.
type bundle struct {
	*store.DB
	t   *testing.T
	ctx context.Context //nolint:containedctx // lives as long as the test
}

// start is the time at which the tests begin.
var start = time.UnixMicro(1_700_000_000_123_456).UTC()

func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

var secret = flow.NewLabel(flow.Confidential, flow.Untrusted)

var route = sessions.Route{
	Channel: "telegram", Account: "default", ChatType: sessions.Group, Conversation: "-100", Thread: "7", ReplyTo: "42", Title: "Team ünï",
}

func newSession(key string) sessions.Record {
	return sessions.Record{
		ID: sessions.NewID(), Key: sessions.Key(key), Agent: "main", Partition: 3, Taint: flow.Bottom(), Clearance: flow.Confidential,
		Persistent: true, Created: start, LastActivity: start,
	}
}

func newRun(session sessions.ID) sessions.Run {
	id := sessions.NewRunID()
	return sessions.Run{
		ID: id, Session: session, Partition: 3, Kind: sessions.KindMessage, Status: sessions.RunQueued,
		Input: sessions.Input{Text: "hello", Sender: sessions.Peer{ID: "5"}}, Route: route, Label: secret,
		EventKey: "telegram/default/" + string(id), Accepted: start,
	}
}

func newDelivery(lane sessions.Lane) ledger.Delivery {
	return ledger.Delivery{
		ID: ledger.NewDeliveryID(), Lane: lane, Partition: 3, Kind: ledger.KindReply, Route: route, Text: "answer", Label: secret,
		Status: ledger.DeliveryQueued, NextTry: start, Expires: at(60), Created: start,
	}
}

func newMessage(parent sessions.MessageID, text string) sessions.Message {
	return sessions.Message{
		ID: sessions.NewMessageID(), Parent: parent, Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart(text, secret)},
		Label: secret, Created: start, Sender: sessions.Peer{ID: "5", Name: "Eve"},
	}
}

func (b *bundle) commit(c ledger.Change) {
	b.t.Helper()
	require.NoError(b.t, b.Commit(b.ctx, c))
}

func (b *bundle) refuse(want error, c ledger.Change) {
	b.t.Helper()
	require.ErrorIs(b.t, b.Commit(b.ctx, c), want)
}

func (b *bundle) create(r sessions.Record) sessions.Record {
	b.t.Helper()
	b.commit(ledger.Change{Change: sessions.Change{Create: []sessions.Record{r}}})
	return r
}

func (b *bundle) session(id sessions.ID) sessions.Record {
	b.t.Helper()
	r, err := b.Session(b.ctx, id)
	require.NoError(b.t, err)
	return r
}

func (b *bundle) enqueue(runs ...sessions.Run) {
	b.t.Helper()
	b.commit(ledger.Change{Change: sessions.Change{Enqueue: runs}})
}

func (b *bundle) run(id sessions.RunID) sessions.Run {
	b.t.Helper()
	r, err := b.Run(b.ctx, id)
	require.NoError(b.t, err)
	return r
}

func (b *bundle) delivery(id ledger.DeliveryID) ledger.Delivery {
	b.t.Helper()
	d, err := b.Delivery(b.ctx, id)
	require.NoError(b.t, err)
	return d
}

func (b *bundle) take(partition int, owner string) int64 {
	b.t.Helper()
	return Take(b.t, b.DB, partition, owner)
}

// Take makes a replica the owner of a partition, whoever has it, and returns the new epoch.
func Take(t testing.TB, db ledger.Partitions, partition int, owner string) int64 {
	t.Helper()
	before, err := db.PartitionEpoch(t.Context(), partition)
	require.NoError(t, err)
	epoch, err := db.TakePartition(t.Context(), partition, owner, before)
	require.NoError(t, err)
	return epoch
}

func moveRun(from sessions.RunStatus, r sessions.Run) ledger.Change {
	return ledger.Change{Change: sessions.Change{Runs: []sessions.RunMove{{From: from, Run: r}}}}
}

func moveDelivery(from ledger.DeliveryStatus, d ledger.Delivery) ledger.Change {
	return ledger.Change{Deliveries: []ledger.DeliveryMove{{From: from, Delivery: d}}}
}

// conversationCases are about sessions, their messages and their runs.
func conversationCases() map[string]func(*testing.T, *bundle) {
	return map[string]func(*testing.T, *bundle){
		"session is kept as it was":         testSessionRoundTrip,
		"session key is taken once":         testSessionKey,
		"senders below a conversation":      testSendersBelow,
		"save expects the revision":         testSaveRevision,
		"save leaves settings alone":        testSaveFields,
		"a session is read as it is stored": testReadAgain,
		"patch and end":                     testPatchEnd,
		"thread follows parents":            testThread,
		"thread begins at the summary":      testCompactedThread,
		"message is edited by revision":     testMessageEdit,
		"message of the tree":               testTreeMessage,
		"branches of a message":             testChildren,
		"newest leaf":                       testNewestLeaf,
		"summary of a way":                  testSummary,
		"thread above a summary":            testThreadAboveSummary,
		"run is kept as it was":             testRunRoundTrip,
		"waiting runs are in order":         testWaitingRuns,
		"a run starts when it is stored":    testStartedRun,
		"run move expects status and epoch": testRunMove,
		"runs that were worked together":    testRunBatch,
		"run move is fenced":                testRunFence,
		"sending begins with its delivery":  testDeliveryBegins,
		"abort":                             testAbort,
		"abort of a step":                   testAbortOfStep,
		"abort of a note":                   testAbortOfNote,
		"interrupt":                         testInterrupt,
		"last heard":                        testLastHeard,
		"change is all or nothing":          testAtomic,
		"group of writes fails one by one":  testGroup,
	}
}

// deliveryCases are about events, deliveries, files and what retention removes.
func deliveryCases() map[string]func(*testing.T, *bundle) {
	return map[string]func(*testing.T, *bundle){
		"event is known for ever":         testEvent,
		"delivery is kept as it was":      testDeliveryRoundTrip,
		"delivery is inserted once":       testDeliveryDuplicate,
		"delivery moves":                  testDeliveryMove,
		"deliveries that are held":        testHeld,
		"questions that are decided":      testDecidedQuestions,
		"answers that are withheld":       testWithheldAnswer,
		"deliveries of the past":          testPastDeliveries,
		"delivery read before a try":      testDeliveryStale,
		"lane is in order":                testLane,
		"waiting lanes":                   testWaitingLanes,
		"media are kept as they were":     testMedia,
		"files of a session count":        testMediaHeld,
		"old rows are pruned":             testPrune,
		"old rows go while messages come": testPruneIntake,
		"old events are emptied":          testPruneEvents,
		"sessions are archived":           testArchive,
		"archived sessions are removed":   testPruneArchived,
		"ended sessions are removed":      testPruneSessions,
		"old media are removed":           testPruneMedia,
		"trigger is kept as it was":       testTriggerRoundTrip,
		"trigger hears of its run":        testTriggerOfRun,
		"trigger is stored once":          testTriggerOnce,
		"trigger of a lost partition":     testTriggerFence,
		"old triggers are pruned":         testPruneTriggers,
		"job is kept as it was":           testJobRoundTrip,
		"jobs are listed and counted":     testJobList,
		"triggers of a job are listed":    testTriggerList,
		"jobs that have failed":           testFailedJobs,
		"hook request is kept as it was":  testHookRoundTrip,
		"hook request is stored once":     testHookOnce,
		"hook requests are listed":        testHookList,
		"old hook requests are pruned":    testPruneHooks,
		"alerts are read as stored":       testAlertRoundTrip,
		"whatever senders of alerts say":  testAlertForeignValues,
		"alerts are changed once":         testAlertOnce,
		"alerts are listed by level":      testAlertList,
		"groups of alerts become due":     testAlertGroups,
		"alerts of a group":               testAlertsOfAGroup,
		"list of groups of alerts":        testAlertGroupList,
		"groups of alerts are fenced":     testAlertFence,
		"notifications are unique":        testAlertNotes,
		"what targets were told counts":   testAlertBudgets,
		"alerts are found by short names": testAlertNames,
		"silences are read as stored":     testSilences,
		"old alerts are pruned":           testPruneAlerts,
		"check is kept as it was":         testCheckRoundTrip,
		"check is replaced in order":      testCheckConflict,
		"old checks are pruned":           testPruneChecks,
		"tokens of the API":               testAPITokens,
		"calls are always allowed":        testAllowRules,
		"tool calls of the past are read": testToolCalls,
		"refusals are counted":            testRefusals,
		"limits agree with a model":       testLimits,
		"limits hold for many at once":    testLimitsTogether,
		"old windows are pruned":          testPruneLimits,
		"who has spoken where":            testSpeakers,
		"browsers sign in and out":        testSignIns,
		"node is kept as it was":          testNodeRoundTrip,
		"node is replaced in order":       testNodeConflict,
		"nodes are listed":                testNodeList,
		"old nodes are pruned":            testPruneNodes,
	}
}

// spendingCases are about what model calls cost.
func spendingCases() map[string]func(*testing.T, *bundle) {
	return map[string]func(*testing.T, *bundle){
		"calls are added up":          testSpendingSums,
		"sums of old calls stay":      testSpendingRetention,
		"budgets are never exceeded":  testSpendingBudgets,
		"reservations in parallel":    testSpendingRace,
		"reservations of the dead":    testSpendingLost,
		"a call touches some budgets": testSpendingBounds,
	}
}

// peopleCases are about who speaks in a conversation.
func peopleCases() map[string]func(*testing.T, *bundle) {
	return map[string]func(*testing.T, *bundle){
		"history keeps the newest":        testHistory,
		"history is taken back":           testUnsaid,
		"whose a direct chat is":          testPeers,
		"newest run of an edited message": testRevisions,
		"turns of bots":                   testBotTurns,
		"pairing requests in parallel":    testPairingRequests,
		"audit entries are counted":       testCountAudit,
		"delivery of a posted message":    testPosted,
		"idle session is taken once":      testIdle,
		"cursors":                         testCursors,
		"pairings":                        testPairings,
		"aliases":                         testAliases,
	}
}

// operatorCases are about partitions, lists, the audit trail and exchanges.
func operatorCases() map[string]func(*testing.T, *bundle) {
	return map[string]func(*testing.T, *bundle){
		"partitions":                    testPartitions,
		"partition takers in parallel":  testPartitionRace,
		"expired sessions":              testExpired,
		"sessions that nobody uses":     testExpiredIdle,
		"lists of sessions":             testListSessions,
		"kinds of sessions":             testListSessionKinds,
		"lists of runs and deliveries":  testLists,
		"lists bounded in bytes":        testBoundedLists,
		"audit":                         testAudit,
		"audit in pages":                testAuditPages,
		"audit is a chain":              testAuditChain,
		"audit of foreign texts":        testAuditForeign,
		"levels of lists":               testLevels,
		"foreign texts":                 testForeignText,
		"whatever platforms say":        testForeignValues,
		"exchange is kept as it was":    testExchangeRoundTrip,
		"exchange expects the revision": testExchangeRevision,
		"exchange by its key":           testExchangeByKey,
		"old exchanges go":              testPruneExchanges,
		"old chains go":                 testPruneChains,
		"revisions go with their run":   testPruneRevisions,
		"chain use adds up":             testChains,
		"lists of exchanges":            testListExchanges,
		"every list of exchanges":       testListExchangesProperty,
	}
}

// memoryCases are about todos, approvals, memories and the store itself.
func memoryCases() map[string]func(*testing.T, *bundle) {
	return map[string]func(*testing.T, *bundle){
		"todos":                          testTodos,
		"deliveries of a time":           testDeliveriesSince,
		"marks of shared files":          testMarks,
		"pins of skills":                 testSkillPins,
		"cooldowns of models":            testCooldowns,
		"approvals":                      testApprovals,
		"inbox":                          testInbox,
		"memory is kept as it was":       testMemoryRoundTrip,
		"versions of a memory":           testMemoryVersions,
		"a higher memory covers":         testMemoryShadows,
		"memories of several tags":       testMemoriesOfTags,
		"memories of a level":            testMemoriesOfALevel,
		"memories expire":                testMemoryExpiry,
		"audiences of memories":          testMemoryAudiences,
		"bounds of memory":               testMemoryQuota,
		"memories saved in parallel":     testMemoryRace,
		"where something was saved":      testRemembers,
		"memory search":                  testMemorySearch,
		"foreign texts in memory":        testForeignMemory,
		"every program of saves":         testMemoryProperty,
		"hidden memories change nothing": testMemoryTwoRuns,
		"ended callers":                  testCancelled,
		"closed store":                   testClosed,
		"readiness":                      testReady,
	}
}
