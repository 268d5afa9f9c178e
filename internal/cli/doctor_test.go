package cli

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadinessBecomesFindings(t *testing.T) {
	t.Parallel()
	body := `{"ready":false,"parts":[{"name":"store","ok":true},{"name":"telegram/default","ok":false,"detail":"Unauthorized"}]}`
	require.Equal(t, []finding{
		sound("store", "works"),
		wrong("telegram/default", "Unauthorized", "sluice status (what the platform says of the account)"),
	}, ready(http.StatusServiceUnavailable, []byte(body)))
	require.NotEmpty(t, ready(http.StatusBadGateway, []byte("<html>"))[0].mend)
	require.NotEmpty(t, ready(http.StatusServiceUnavailable, []byte("{}"))[0].mend)
}

func TestOnePartHasOneFinding(t *testing.T) {
	t.Parallel()
	well, ill, worse := sound("p", "well"), wrong("p", "ill", "x"), wrong("p", "worse", "y")
	for _, test := range []struct{ theirs, ours, want finding }{
		{well, ill, ill}, {ill, well, ill}, {ill, worse, worse}, {well, sound("p", "very well"), sound("p", "very well")},
	} {
		d := doctor{findings: []finding{test.theirs}}
		d.merge(test.ours)
		require.Equal(t, []finding{test.want}, d.findings)
	}
}
