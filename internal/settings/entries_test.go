package settings

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

type anAgent struct {
	ID    string `yaml:"id"`
	Model string `yaml:"model"`
}

type anAccount struct {
	Token string `yaml:"token"`
}

type aBinding struct {
	Agent string `yaml:"agent"`
	Peer  string `yaml:"peer"`
}

type configWithEntries struct {
	Accounts map[string]anAccount `yaml:"accounts"`
	Agents   []anAgent            `yaml:"agents"`
	Bindings []aBinding           `yaml:"bindings"`
}

// A removed entry of a list is one removal: the entries behind it are the same as before. What can't be found again for
// certain is compared by its index.
func TestEntriesAreFoundAgain(t *testing.T) {
	t.Parallel()
	agents := func(ids ...string) (c configWithEntries) {
		for _, id := range ids {
			c.Agents = append(c.Agents, anAgent{id, "model of " + id})
		}
		return c
	}
	bindings := func(peers ...string) (c configWithEntries) {
		for _, p := range peers {
			c.Bindings = append(c.Bindings, aBinding{"main", p})
		}
		return c
	}
	other := agents("a", "c")
	other.Agents[1].Model = "another"
	for name, c := range map[string]struct {
		before, after configWithEntries
		entries       []EntryChange
		changes       []string
	}{
		"removed":               {agents("a", "b", "c"), agents("a", "c"), []EntryChange{{"agents[1]", "b", "removed"}}, []string{"agents[1].id", "agents[1].model"}},
		"two removed":           {agents("a", "b", "c"), agents("b"), []EntryChange{{"agents[0]", "a", "removed"}, {"agents[2]", "c", "removed"}}, []string{"agents[0].id", "agents[0].model", "agents[2].id", "agents[2].model"}},
		"removed and changed":   {agents("a", "b", "c"), other, []EntryChange{{"agents[1]", "b", "removed"}}, []string{"agents[1].model", "agents[1].id", "agents[1].model"}},
		"added":                 {agents("a"), agents("a", "b"), []EntryChange{{"agents[1]", "b", "added"}}, []string{"agents[1].id", "agents[1].model"}},
		"renamed":               {agents("a", "b"), agents("a", "c"), []EntryChange{{"agents[1]", "b", "removed"}, {"agents[1]", "c", "added"}}, []string{"agents[1].id", "agents[1].model", "agents[1].id", "agents[1].model"}},
		"another order":         {agents("a", "b"), agents("b", "a"), nil, []string{"agents[0].id", "agents[0].model", "agents[1].id", "agents[1].model"}},
		"one of the same name":  {agents("a", "a"), agents("a"), nil, []string{"agents[1].id", "agents[1].model"}},
		"without a name":        {bindings("x", "y", "z"), bindings("x", "z"), []EntryChange{{"bindings[1]", "", "removed"}}, []string{"bindings[1].agent", "bindings[1].peer"}},
		"changed without names": {bindings("x", "y"), bindings("x", "z"), nil, []string{"bindings[1].peer"}},
		"an account": {
			configWithEntries{Accounts: map[string]anAccount{"a": {"1"}, "b": {"2"}}},
			configWithEntries{Accounts: map[string]anAccount{"b": {"2"}, "c": {"3"}}},
			[]EntryChange{{"accounts.a", "a", "removed"}, {"accounts.c", "c", "added"}},
			[]string{"accounts.c.token", "accounts.a.token"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := KeysOf(&c.before), KeysOf(&c.after)
			entries, m := compare(EntriesOf(&c.before), EntriesOf(&c.after), before, after)
			require.Equal(t, c.entries, entries)
			var paths []string
			for _, change := range m.diff(before, after) {
				paths = append(paths, change.Path)
			}
			require.Equal(t, c.changes, paths)
		})
	}
}

// All paths of a change name entries as they are before it, whatever it removes.
func TestRemovalsOfEntries(t *testing.T) {
	t.Parallel()
	const list = "agents:\n  list:\n    - id: a\n    - id: b # second\n      model: x\n    - id: c\n      model: y\n"
	gone := func(path string) Edit { return Edit{Path: path, Remove: true} }
	for want, edits := range map[string][]Edit{
		"agents:\n  list:\n    - id: b # second\n      model: x\n": {gone("agents.list[0]"), gone("agents.list[2]")},
		"agents:\n  list:\n    - id: b # second\n      model: z\n    - id: d\n": {
			gone("agents.list[0]"), {Path: "agents.list[1].model", Value: json.RawMessage(`"z"`)}, gone("agents.list[2]"), {Path: "agents.list[3]", Value: json.RawMessage(`{"id":"d"}`)},
		},
		"agents:\n  list:\n    - id: a\n    - id: c\n      model: y\n": {gone("agents.list[1]"), gone(`agents["list"][1]`), gone("agents.list[1]")},
		"agents:\n  list: []\n": {gone("agents.list[0]"), gone("agents.list[1]"), gone("agents.list[2]")},
	} {
		got, err := edited([]byte(list), ordered(flat(edits)))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	got, err := edited([]byte(before), ordered([]Edit{gone("channels.telegram.accounts.default")}))
	require.NoError(t, err)
	require.NotContains(t, string(got), "accounts:")
	require.Contains(t, string(got), "dmPolicy: pairing # people ask")
}

type configFromOutside struct {
	Agents []anAgent `yaml:"agents"`
}

func (*configFromOutside) Written() map[string]string {
	return map[string]string{"agents[0].id": "${AGENT}"}
}

// A name that comes from the environment is shown as it is written, as every other value.
func TestNamesFromOutsideStayHidden(t *testing.T) {
	t.Parallel()
	c := &configFromOutside{}
	c.Agents = []anAgent{{ID: "of the environment"}, {ID: "b"}}
	var names []string
	for _, e := range EntriesOf(c) {
		names = append(names, e.Name)
	}
	require.Equal(t, []string{"${AGENT}", "b"}, names)
}
