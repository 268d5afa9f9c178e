package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every setting is changed by its name and taken back by null, and the others stay as they are.
func TestPatchOfEachSetting(t *testing.T) {
	t.Parallel()
	for field, value := range map[string]string{
		"send_policy": "deny", "group_activation": "always", "queue_mode": "steer", "thinking_level": "high", "verbose_level": "full",
		"model": "offline/echo", "label": "Läbel", "title": "Title",
		"sendPolicy": "allow", "groupActivation": "mention", "queueMode": "interrupt", "thinkingLevel": "off", "verboseLevel": "on",
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			g := withMain()
			h := serve(t, g)
			show := func(body string) map[string]any {
				w := call(h, "PATCH", "/v1/sessions/main", body)
				require.Equal(t, http.StatusOK, w.Code, w.Body.String())
				var got map[string]any
				require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
				return got
			}
			name := strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(field, "P", "_p"), "A", "_a"), "L", "_l")
			name = strings.ReplaceAll(name, "M", "_m")
			before := show(`{"title":"before"}`)
			changed := show(`{"` + field + `":"` + value + `"}`)
			require.Equal(t, value, changed[name])
			require.Equal(t, before["key"], changed["key"])
			cleared := show(`{"` + field + `":null}`)
			require.NotEqual(t, value, cleared[name], "null takes it back")
		})
	}
}

func TestPatchOfMetadata(t *testing.T) {
	t.Parallel()
	h := serve(t, withMain())
	require.Contains(t, call(h, "PATCH", "/v1/sessions/main", `{"metadata":{"a":[1]}}`).Body.String(), `"metadata":{"a":[1]}`)
	require.Contains(t, call(h, "PATCH", "/v1/sessions/main", `{"metadata":null}`).Body.String(), `"metadata":{}`)
}

// What is wrong is said all at once, each with its field, and nothing is changed.
func TestPatchErrorsNameTheField(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"sendPolicy":"maybe"}`:                       `sendPolicy: "maybe" is not one of allow, deny or inherit`,
		`{"queue_mode":"fast"}`:                        `queue_mode: "fast" is not one of steer`,
		`{"thinking_level":3}`:                         `thinking_level: want a string or null, not 3`,
		`{"verbose_level":true}`:                       `verbose_level: want a string or null`,
		`{"temperature":2.1}`:                          `temperature: want a number from 0 to 2`,
		`{"temperature":true}`:                         `temperature: want a number from 0 to 2`,
		`{"temperature":""}`:                           `temperature: want a number from 0 to 2`,
		`{"maxOutputTokens":0}`:                        `maxOutputTokens: want a whole number from 1 to 1000000`,
		`{"max_output_tokens":1.5}`:                    `max_output_tokens: want a whole number`,
		`{"model":"cool/m","temperature":1.5}`:         `temperature: 1.5 is too high for cool/m: want a number from 0 to 1`,
		`{"model":"nobody/knows"}`:                     `model: no model nobody/knows`,
		`{"metadata":[]}`:                              `metadata: want a JSON object or null`,
		`{"owner":"me"}`:                               `owner: unknown setting`,
		`{"id":"sess_000000000002"}`:                   `id: unknown setting`,
		`{"send_policy":"deny","sendPolicy":"deny"}`:   `the same setting as sendPolicy`,
		`{"label":"` + strings.Repeat("x", 600) + `"}`: `label: 600 bytes, but the limit is 512`,
		`{}`:                           `nothing to change`,
		`{"queue_mode":"x","title":1}`: `queue_mode: "x" is not one of steer, followup, collect, interrupt or inherit; title: want`,
	} {
		t.Run(body[:min(len(body), 40)], func(t *testing.T) {
			t.Parallel()
			g := withMain()
			w := call(serve(t, g), "PATCH", "/v1/sessions/main", body)
			require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body.String())
			var got struct{ Error, Message string }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			require.Equal(t, "invalid_request", got.Error)
			require.Contains(t, got.Message, want)
			require.Empty(t, g.patched)
		})
	}
	require.Equal(t, http.StatusNotFound, call(serve(t, withMain()), "PATCH", "/v1/sessions/sess_0000000000ff", `{"title":"x"}`).Code)
}

// The description says what a patch takes.
func TestDocumentDescribesThePatch(t *testing.T) {
	t.Parallel()
	text := call(serve(t, newGateway()), "GET", "/openapi.json", "").Body.String()
	for _, field := range []string{"queue_mode", "thinking_level", "verbose_level", "label", "send_policy", "group_activation", "metadata"} {
		require.Contains(t, text, `"`+field+`"`)
	}
	require.Contains(t, text, `"interrupt","inherit",null`)
}

// Numbers may be written as such or as texts, and null or inherit takes them back.
func TestPatchOfNumbers(t *testing.T) {
	t.Parallel()
	h := serve(t, withMain())
	for _, c := range []struct{ body, has, lacks string }{
		{`{"temperature":0.7,"max_output_tokens":4096}`, `"temperature":0.7,"max_output_tokens":4096`, "none"},
		{`{"temperature":"0","maxOutputTokens":"12"}`, `"temperature":0,"max_output_tokens":12`, "none"},
		{`{"temperature":null}`, `"max_output_tokens":12`, `"temperature"`},
		{`{"maxOutputTokens":"inherit"}`, `"key"`, `"max_output_tokens"`},
	} {
		w := call(h, "PATCH", "/v1/sessions/main", c.body)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.Contains(t, w.Body.String(), c.has)
		require.NotContains(t, w.Body.String(), c.lacks)
	}
}
