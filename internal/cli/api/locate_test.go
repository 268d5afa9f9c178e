package api

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli/terminal"
	"sluice/internal/config"
)

// locate finds a gateway with environment variables and files of the state folder and the working folder.
func locate(t *testing.T, env, files map[string]string) *Locator {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return &Locator{HTTP: http.DefaultClient, Loader: config.Loader{Home: t.TempDir(), Dir: dir, Getenv: func(name string) (string, bool) {
		if name == "SLUICE_STATE" {
			return filepath.Join(dir, "state"), true
		}
		v, ok := env[name]
		return v, ok
	}}}
}

func TestConnectFindsTheGatewayAndItsToken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env, files  map[string]string
		base, token string
	}{
		"the environment": {
			map[string]string{EnvURL: "https://gateway.example/", EnvToken: "e"},
			map[string]string{"sluice.yaml": "not even: [YAML"},
			"https://gateway.example", "e",
		},
		"the configuration": {
			nil,
			map[string]string{"sluice.yaml": "gateway: { listen: 127.0.0.1:9999, token: configured-token }"},
			"http://127.0.0.1:9999", "configured-token",
		},
		"every interface":  {nil, map[string]string{"sluice.yaml": "gateway: { listen: \"0.0.0.0:9999\", token: configured-token-of-the-gateway-32 }"}, "http://127.0.0.1:9999", "configured-token-of-the-gateway-32"},
		"the state folder": {nil, map[string]string{"state/token": "generated\n"}, "http://127.0.0.1:8484", "generated"},
		"a token from the environment": {
			map[string]string{EnvToken: "e"},
			map[string]string{"sluice.yaml": "gateway: { listen: 127.0.0.1:9999 }"},
			"http://127.0.0.1:9999", "e",
		},
		"an address from the environment": {map[string]string{EnvURL: "http://other:1"}, map[string]string{"state/token": "generated"}, "http://other:1", "generated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := locate(t, test.env, test.files).Connect()
			require.NoError(t, err)
			require.Equal(t, test.base, c.base)
			require.Equal(t, test.token, c.token)
		})
	}
}

func TestConnectSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	l := locate(t, nil, nil)
	_, err := l.Connect()
	require.EqualError(t, err, "no access token: "+filepath.Join(l.Loader.Dir, "state", "token")+" does not exist. Start the gateway with `sluice serve`, or set SLUICE_TOKEN")

	_, err = locate(t, nil, map[string]string{"state/token/folder": ""}).Connect()
	require.ErrorContains(t, err, "read the access token: ")

	for _, address := range []string{"nonsense", "ftp://host", "http://", "http://a b"} {
		_, err = locate(t, map[string]string{EnvURL: address, EnvToken: "e"}, nil).Connect()
		var usage terminal.UsageError
		require.ErrorAs(t, err, &usage)
		require.EqualError(t, err, `SLUICE_URL is "`+address+`": set it to an address such as http://127.0.0.1:8484`)
	}

	_, err = locate(t, nil, map[string]string{"sluice.yaml": "sate: x"}).Connect()
	var faults config.Faults
	require.ErrorAs(t, err, &faults)
	require.ErrorContains(t, err, "\nTo reach the gateway without this file, set SLUICE_URL and SLUICE_TOKEN")

	l = locate(t, nil, nil)
	l.Config = "none.yaml"
	_, err = l.Connect()
	var usage terminal.UsageError
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "none.yaml")
}
