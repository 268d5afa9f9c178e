package hook

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	mapping "sluice/internal/hook"
	"sluice/internal/hook/signature"
)

func compiled(t *testing.T, s mapping.Spec) *Hook {
	t.Helper()
	s.Name = "ci"
	return &Hook{Mapping: mapping.Compile(s, func(setting, text string) { t.Errorf("%s: %s", setting, text) })}
}

// A recorded request keeps its id, whatever headers are added to it.
func TestManyHeadersCannotHideTheID(t *testing.T) {
	t.Parallel()
	h := compiled(t, mapping.Spec{Preset: "standard", Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}})
	headers := http.Header{"Webhook-Id": {"msg_1"}}
	for i := range valuesMax {
		headers.Set(fmt.Sprintf("A-%d", i), "x")
	}
	_, err := h.read(Arrival{Headers: headers, Body: []byte("{}")})
	var refused *Refusal
	require.ErrorAs(t, err, &refused)
	require.Equal(t, Malformed, refused.Reason)
	headers.Del("A-0")
	r, err := h.read(Arrival{Headers: headers, Body: []byte("{}")})
	require.NoError(t, err)
	require.Equal(t, "msg_1", r.ID)
	query := url.Values{}
	for i := range valuesMax + 1 {
		query.Set(fmt.Sprint(i), "x")
	}
	_, err = h.read(Arrival{Headers: headers, Query: query, Body: []byte("{}")})
	require.ErrorAs(t, err, &refused)
}

// A recorded request can't be sent again under another id that the signature does not cover.
func TestAnUnsignedIDDoesNotMakeANewRequest(t *testing.T) {
	t.Parallel()
	for scheme, header := range map[signature.Scheme]func(at string) http.Header{
		signature.Slack:  func(at string) http.Header { return http.Header{"X-Slack-Request-Timestamp": {at}} },
		signature.Stripe: func(at string) http.Header { return http.Header{"Stripe-Signature": {"v1=00,t=" + at}} },
		signature.GitHub: func(string) http.Header { return http.Header{} },
	} {
		h := compiled(t, mapping.Spec{Signature: scheme, Secrets: []string{"a secret of 24 characters"}})
		once := func(id, at string) string {
			in := header(at)
			in.Set("Idempotency-Key", id)
			r, err := h.read(Arrival{Headers: in, Body: []byte("{}")})
			require.NoError(t, err)
			require.Equal(t, id, r.ID)
			return r.Once
		}
		require.NotEmpty(t, once("a", "1"), scheme)
		require.Equal(t, once("a", "1"), once("b", "1"), scheme)
		require.Equal(t, scheme == signature.GitHub, once("a", "1") == once("a", "2"), "%s: another time is another request", scheme)
	}
}
