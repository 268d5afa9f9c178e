package flow_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
)

// A labelled text is shown by no format, whatever prints it.
func TestTextDoesNotPrintItself(t *testing.T) {
	t.Parallel()
	text := flow.NewText("the secret", flow.NewLabel(flow.Confidential, flow.Untrusted))
	for _, format := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x"} {
		require.NotContains(t, fmt.Sprintf(format, text), "secret", format)
		require.NotContains(t, fmt.Sprintf(format, struct{ T flow.Text }{text}), "secret", format)
	}
	written, err := json.Marshal(map[string]any{"text": text})
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"<CONFIDENTIAL/untrusted text>"}`, string(written))
	require.Equal(t, "the secret", text.Raw())
}

func TestTextLabel(t *testing.T) {
	t.Parallel()
	secret := flow.NewLabel(flow.Confidential, flow.Trusted)
	require.Equal(t, flow.Bottom(), flow.Text{}.Label(), "nobody has written it")
	require.Equal(t, flow.Top(), flow.NewText("x", flow.Label{}).Label(), "a label that was lost")
	require.Equal(t, secret, flow.NewText("", secret).Label(), "emptied by somebody who knows")
	require.True(t, flow.NewText("", secret).Empty())
}
