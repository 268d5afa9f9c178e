package cli_test

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
)

const shownAgent = `{"id":"research","name":"Research","default":true,"kind":"nats","classification":"INTERNAL","instances":[` +
	`{"id":"i1","version":"1.2.3","started":"2026-04-26T17:03:16Z","turns":7}],` +
	`"tools":[{"name":"sessions_list","permission":"allow"},{"name":"web_fetch","permission":"ask","source":"INTERNAL/untrusted","sink":"PUBLIC"}]}`

func TestAgentsAreListed(t *testing.T) {
	t.Parallel()
	env := answering(t, map[string]string{
		"/v1/agents": `{"agents":[{"id":"main","name":"Main","kind":"loop","model":"p/m"},` + shownAgent + `]}`, "/v1/agents/research?tools=true": shownAgent,
	})
	require.Equal(t, result{cli.ExitDone, "ID        NAME      KIND  MODEL  LEVEL     CONNECTED\nmain      Main      loop  p/m    -         -\nresearch  Research  nats  -      INTERNAL  1\n", ""}, execute(t, env, "agents", "list"))
	require.Equal(t, result{cli.ExitDone, "id         research\nname       Research\ndefault    yes\nkind       nats\nlevel      INTERNAL\nconnected  1\n\nTOOL           WHEN CALLED  RESULTS             GETS AT MOST\nsessions_list  allow        -                   -\nweb_fetch      ask          INTERNAL/untrusted  PUBLIC\n\nINSTANCE  VERSION  STARTED  TURNS\ni1        1.2.3    1h ago   7\n", ""}, execute(t, env, "agents", "show", "research"))
}

func TestAgentsKey(t *testing.T) {
	t.Parallel()
	var key struct{ Nkey, Seed string }
	got := execute(t, answering(t, nil), "agents", "key", "--json")
	require.Equal(t, cli.ExitDone, got.code, got.err)
	require.NoError(t, json.Unmarshal([]byte(got.out), &key))
	pair, err := nkeys.FromSeed([]byte(key.Seed))
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	require.Equal(t, key.Nkey, public)
	require.Regexp(t, "nkey: U[A-Z0-9]{55}\n.*SU[A-Z0-9]+\n$", execute(t, answering(t, nil), "agents", "key").out)
}
