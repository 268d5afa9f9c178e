package selfcheck_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/selfcheck"
)

func TestTheOwnerIsToldOnAChannelThatWorks(t *testing.T) {
	t.Parallel()
	state := func(channel, account string, status adapters.Status) adapters.State {
		return adapters.State{Channel: channel, Account: account, Status: status}
	}
	all := []adapters.State{
		state("webchat", "default", adapters.Connected), state("telegram", "old", adapters.Retrying), state("telegram", "main", adapters.Standby),
		state("slack", "work", adapters.Connected), state("discord", "x", adapters.Deaf),
	}
	place := func(owners []string, avoid string) string {
		p, _ := selfcheck.WorkingPlace(owners, all, avoid, "webchat")
		return p.Channel + "/" + p.Account
	}
	owners := []string{"webchat:local", "discord:7", "telegram:1001", "slack:U1"}
	require.Equal(t, "telegram/main", place(owners, ""))
	require.Equal(t, "slack/work", place(owners, "telegram"))
	require.Equal(t, "webchat/default", place(owners[:3], "telegram"))
	require.Equal(t, "/", place(owners[1:3], "telegram"))
}
