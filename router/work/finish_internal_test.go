package work

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// How a run failed is told only where what its session knows may be said.
func TestExcuse(t *testing.T) {
	t.Parallel()
	broken := &sessions.WorkError{Public: "The disk is full.", Err: errors.New("disk full")}
	blind := &sessions.WorkError{Public: "I know too much for my model.", Err: sessions.ErrModelLevel}
	for name, c := range map[string]struct {
		knows, carried flow.Level
		why            *sessions.WorkError
		want           string
	}{
		"the session knows no more than may be said": {flow.Public, flow.Internal, broken, "The disk is full."},
		"just as much":                          {flow.Internal, flow.Internal, broken, "The disk is full."},
		"more than may be said":                 {flow.Confidential, flow.Internal, broken, noReasonText},
		"only an owner can help with the model": {flow.Confidential, flow.Internal, blind, "I know too much for my model."},
	} {
		f := &finisher{sinkLevel: func(sessions.Route) flow.Level { return c.carried }}
		require.Equal(t, c.want, f.failureText(flow.NewLabel(c.knows, flow.Trusted), sessions.Route{}, c.why), name)
	}
}

// A command's answer is as secret as what it quotes, and no more.
func TestLabelOfACommandsAnswer(t *testing.T) {
	t.Parallel()
	require.Equal(t, ledger.NoticeLabel(), quoted(Answer{Text: "Done."}))
	label := flow.NewLabel(flow.Confidential, flow.Untrusted)
	require.Equal(t, label, quoted(Answer{Text: "x", Quotes: label}))
}

// The answer is a delivery of its own, or the end of the preview that shows already.
func TestAnswerTakesThePreviewsPlace(t *testing.T) {
	t.Parallel()
	f := &finisher{}
	answer := ledger.Delivery{ID: "dlv_2", Kind: ledger.KindReply, Text: "all of it", Label: flow.NewLabel(flow.Internal, flow.Trusted), NextTry: time.Unix(1, 0), Expires: time.Unix(9, 0)}
	var change ledger.Change
	f.deliver(&change, answer, nil)
	require.Equal(t, ledger.Change{Deliver: []ledger.Delivery{answer}}, change)
	shown := ledger.Delivery{ID: "dlv_1", PreviewID: "7", Status: ledger.DeliveryPreview, Text: "all"}
	change = ledger.Change{}
	f.deliver(&change, answer, []ledger.DeliveryMove{{From: ledger.DeliveryPreview, Delivery: shown}})
	whole := answer
	whole.ID, whole.PreviewID, whole.Status = "dlv_1", "7", ledger.DeliveryQueued
	require.Equal(t, ledger.Change{Deliveries: []ledger.DeliveryMove{{From: ledger.DeliveryPreview, Delivery: whole}}}, change)
}
