package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every delivery and run of every status is explained, each step with a text, and hidden ones look missing.
func TestWhyExplainsEveryStatus(t *testing.T) {
	t.Parallel()
	h := busyDay(t)
	for i := range 28 {
		for _, kind := range []string{"dlv", "run"} {
			path := fmt.Sprintf("/v1/why/%s_%d", kind, i)
			w := call(h, "GET", path, "")
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
			var got struct {
				Kind, Status, Answer string
				Steps                []struct{ Step, State, Text string }
				Links                map[string]string
			}
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			require.NotEmpty(t, got.Answer)
			require.Equal(t, "sluice why "+fmt.Sprintf("%s_%d", kind, i), got.Links["cli"])
			var names []string
			for _, s := range got.Steps {
				require.NotEmpty(t, s.Text)
				names = append(names, s.Step)
			}
			require.Subset(t, names, []string{"heard", "session", "waited", "run", "gate", "sent"}, path)
			want := map[bool]int{true: http.StatusNotFound, false: http.StatusOK}[i%2 == 1]
			require.Equal(t, want, call(h, "GET", path, "", "Authorization: Bearer low").Code, path)
		}
	}
	require.Equal(t, http.StatusNotFound, call(h, "GET", "/v1/why/dlv_99", "").Code)
	require.Equal(t, http.StatusNotFound, call(h, "GET", "/v1/why/anything", "").Code)
	require.Equal(t, http.StatusForbidden, call(h, "GET", "/v1/refused", "", "Authorization: Bearer low").Code)
	require.JSONEq(t, `{"refused":[]}`, call(h, "GET", "/v1/refused", "").Body.String())
}
