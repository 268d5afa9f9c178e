package slack_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/slack"
)

func TestNewNamesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := slack.New(slack.Config{Account: "sales", BotToken: "xapp-mixed-up", APIBase: "slack.com/api"})
	for _, fault := range []string{"account sales", "botToken", "apiBase", "appToken"} {
		require.ErrorContains(t, err, fault)
	}
	_, err = slack.New(slack.Config{BotToken: "xoxb-1", Mode: slack.HTTP})
	require.ErrorContains(t, err, "signingSecret")
	require.NotContains(t, err.Error(), "appToken", "not needed in mode http")
	_, err = slack.New(slack.Config{BotToken: "xoxb-1", Mode: "rtm"})
	require.ErrorContains(t, err, `mode "rtm"`)
}

func TestFaultsDoNotTellTheToken(t *testing.T) {
	t.Parallel()
	_, err := slack.New(slack.Config{BotToken: "a-secret", AppToken: "a-secret", Mode: "a"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "a-secret")
}

func TestSecretsPrintAsSecrets(t *testing.T) {
	t.Parallel()
	secret := adapters.Secret("xoxb-1")
	written, err := json.Marshal(map[string]any{"t": secret})
	require.NoError(t, err)
	for _, shown := range []string{fmt.Sprint(secret), fmt.Sprintf("%v %+v %#v %s %q", secret, secret, secret, secret, secret), secret.LogValue().String(), string(written)} {
		require.NotContains(t, shown, "xoxb")
		require.Contains(t, shown, "secret")
	}
	require.Empty(t, adapters.Secret("").String())
}

func TestAccountsShareTheMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	for _, account := range []string{"a", "b"} {
		_, err := slack.New(slack.Config{Account: account, BotToken: "xoxb-1", AppToken: "xapp-1", Registerer: registry})
		require.NoError(t, err)
	}
}
