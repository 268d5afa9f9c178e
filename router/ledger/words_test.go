package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

func TestParseAuditHead(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0f", auditHashLength/2)
	for text, ok := range map[string]bool{
		"0:1:" + hash: true, "3:12:" + hash: true, "-1:1:" + hash: false, "0:0:" + hash: false, "x:1:" + hash: false, "1:x:" + hash: false,
		"1:1": false, "1:1:" + hash[1:]: false, "1:1:" + hash + "0": false, "1:1:G" + hash[1:]: false, "1:1:" + hash + ":": false, "": false,
	} {
		head, err := ParseAuditHead(text)
		if ok {
			require.NoError(t, err, text)
			require.Equal(t, text, head.String())
		} else {
			require.ErrorContains(t, err, "want CHAIN:SEQ:HASH", text)
		}
	}
}

// A question that is decided says how, without the reason.
func TestOutcomeOfAQuestion(t *testing.T) {
	t.Parallel()
	person, gateway := "test:owner", ByGateway
	for want, p := range map[string]Approval{
		"":         {Status: ApprovalPending, By: gateway},
		"Allowed.": {Status: ApprovalUsed, By: person},
		"No answer came in time, which counts as a yes.": {Status: ApprovalAllowed, By: gateway},
		"No answer came in time, which counts as a no.":  {Status: ApprovalDenied, By: gateway, Reason: GatewaySays(TooLate)},
		"This question has expired.":                     {Status: ApprovalDenied, By: gateway, Reason: GatewaySays("the run has ended")},
		"Denied.":                                        {Status: ApprovalDenied, By: person, Reason: GatewaySays(TooLate)},
	} {
		require.Equal(t, want, p.Outcome())
	}
	now := time.Unix(1_800_000_000, 0)
	for want, p := range map[string]Pairing{
		"Admitted.":             {Status: PairingApproved, Code: "AB"},
		"Not admitted.":         {Status: PairingDenied},
		"":                      {Status: PairingPending, Code: "AB", Expires: now.Add(1)},
		"The code has expired.": {Status: PairingPending, Code: "AB", Expires: now},
	} {
		require.Equal(t, want, p.Outcome("AB", now))
	}
	require.NotEmpty(t, Pairing{Status: PairingPending, Code: "CD", Expires: now.Add(1)}.Outcome("AB", now), "a newer code")
	require.NotEmpty(t, Pairing{Status: PairingRevoked, Code: "AB", Expires: now.Add(1)}.Outcome("AB", now))

	about := Pairing{Code: "AB", Channel: "matrix", Account: "default", User: sessions.Peer{ID: "@ann:home/1"}}
	got, ok := about.Question().Pairing()
	require.True(t, ok)
	require.Equal(t, about, got)
	for _, q := range []Question{"", "apr_1", "a/b/c/d/e", "pair/a/b/c"} {
		_, ok := q.Pairing()
		require.False(t, ok, q)
	}
}

// A message that was sent is known by its last receipt, as far as there is one.
func TestLastText(t *testing.T) {
	t.Parallel()
	receipts := []adapters.Receipt{{MessageID: "1"}, {MessageID: "2"}}
	for name, c := range map[string]struct {
		d    Delivery
		id   sessions.PlatformMessageID
		text string
	}{
		"one message":          {Delivery{Text: "a", Receipts: receipts[:1]}, "1", "a"},
		"with a file after it": {Delivery{Text: "a", Receipts: receipts}, "1", "a"},
		"two pieces":           {Delivery{Text: "ab", Parts: []string{"a", "b"}, Receipts: receipts}, "2", "b"},
		"one of two pieces":    {Delivery{Text: "ab", Parts: []string{"a", "b"}, Receipts: receipts[:1]}, "", ""},
		"nothing":              {Delivery{Text: "a"}, "", ""},
	} {
		id, text, ok := c.d.LastText()
		require.Equal(t, c.id, id, name)
		require.Equal(t, c.text, text, name)
		require.Equal(t, c.id != "", ok, name)
	}
}

func TestNameOfAFile(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a.txt", Media{Name: "a.txt", MIME: "image/png"}.FileName())
	require.Equal(t, "file.png", Media{MIME: "image/png"}.FileName())
	require.Equal(t, "file", Media{MIME: "no type"}.FileName())
	require.Equal(t, "file", Media{MIME: "application/x-nobody-knows"}.FileName())
	require.Equal(t, "a.txt", Delivery{}.FileName(Media{Name: "a.txt"}))
}

// A message is known to be a delivery's by its receipts and its preview. While a receipt may be missing, any message may be.
func TestShows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		d    Delivery
		want bool
	}{
		"by its receipt":      {Delivery{Status: DeliverySent, Receipts: []adapters.Receipt{{MessageID: "1"}, {MessageID: "2"}}}, true},
		"by its preview":      {Delivery{Status: DeliveryQueued, PreviewID: "2"}, true},
		"another message":     {Delivery{Status: DeliverySent, PreviewID: "1", Receipts: []adapters.Receipt{{MessageID: "1"}}}, false},
		"while it is sent":    {Delivery{Status: DeliverySending}, true},
		"when nobody knows":   {Delivery{Status: DeliveryUnknown}, true},
		"when it is repeated": {Delivery{Status: DeliverySent, ResendOf: "dlv_1"}, true},
		"nothing":             {Delivery{Status: DeliveryQueued}, false},
	} {
		require.Equal(t, c.want, c.d.Shows("2"), name)
	}
	for name, want := range map[string]bool{"dlv_1/0": true, "dlv_1/12": true, "dlv_1/x": false, "dlv_1/-1": false, "dlv_1": false, "dlv_1/": false, "": false} {
		id, _, ok := ParsePress(name)
		require.Equal(t, want, ok, name)
		if ok {
			require.Equal(t, DeliveryID("dlv_1"), id)
		}
	}
}
