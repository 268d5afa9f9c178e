package cli_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
)

func TestShellsCompleteValues(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"/v1/sessions":   `[{"key":"agent:main:main","title":"Plan\u001b[31m"},{"key":"agent:main:other"},{"key":"agent:ma\u202ein:x"},{"title":"without a key"}]`,
		"/v1/agents":     `{"agents":[{"id":"main","name":"Main"},{"id":"night","name":""}]}`,
		"/v1/status":     `{"accounts":[{"channel":"telegram","account":"a"},{"channel":"telegram","account":"b"}],"parts":[{"name":"store"}]}`,
		"/v1/providers":  `{"models":[{"name":"openai/gpt"}],"providers":[{"name":"openai","classification":"INTERNAL"}]}`,
		"/v1/deliveries": `<html>`,
		"/v1/memory":     `{"memories":[{"id":"m1","key":"$(reboot)a"},{"id":"m2","key":"$(reboot)b"},{"id":"--all","key":"plan"}]}`,
		"/v1/nodes":      `{"nodes":[{"id":"laptop","code":"ABCD2345","status":"pending","platform":"linux"}]}`,
	}
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(answers[r.URL.Path]))
	}))
	t.Cleanup(gateway.Close)
	const noFiles = ":4\n"
	for line, want := range map[string]string{
		"sessions show ''":                        "agent:main:main\tPlan\\u001b[31m\nagent:main:other\n" + noFiles,
		"sessions show AGENT:MAIN:o":              "agent:main:other\n" + noFiles,
		"sessions show main ''":                   noFiles,
		"sessions spawn main ''":                  ":0\n", // a text
		"sessions patch main --model ''":          "openai/gpt\n" + noFiles,
		"chat --session agent:main:m":             "agent:main:main\tPlan\\u001b[31m\n" + noFiles,
		"agents show n":                           "night\n" + noFiles,
		"send --channel ''":                       "telegram\n" + noFiles,
		"send --channel telegram --account ''":    "a\ttelegram\nb\ttelegram\n" + noFiles,
		"models check ''":                         "openai\tINTERNAL\n" + noFiles,
		"memory versions ''":                      "plan\n" + noFiles, // nothing that a shell would run
		"memory delete ''":                        "m1\t$(reboot)a\nm2\t$(reboot)b\n" + noFiles,
		"nodes approve ''":                        "ABCD2345\tlinux\n" + noFiles,
		"nodes level laptop ''":                   "PUBLIC\nINTERNAL\nCONFIDENTIAL\nRESTRICTED\n" + noFiles,
		"policy check --chat-type g":              "group\n" + noFiles,
		"deliveries show ''":                      noFiles, // the answer can't be read
		"audit list --session agent:main:missing": noFiles,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			d, _ := deps(t, map[string]string{cli.EnvURL: gateway.URL, cli.EnvToken: fakeToken}, append([]string{"__complete"}, words(line)...)...)
			d.Stdout = &out
			require.Equal(t, cli.ExitDone, cli.Execute(t.Context(), d))
			require.Equal(t, want, out.String())
		})
	}
	t.Run("no gateway", func(t *testing.T) {
		t.Parallel()
		got := execute(t, map[string]string{cli.EnvURL: "http://127.0.0.1:1", cli.EnvToken: fakeToken}, "__complete", "sessions", "show", "")
		require.Equal(t, cli.ExitDone, got.code)
		require.Equal(t, noFiles, got.out)
	})
}
