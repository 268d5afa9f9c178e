package app_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page and the API show the branches of the last turn, and the page leads from one to another.
func TestConsoleBranchesOfTheLastTurn(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	b := g.page()
	b.says("one")
	b.shows("echo: one")
	b.says("/edit two")
	b.shows("echo: two")
	b.shows("Branch 2 of 2")

	type history struct {
		Head     string
		Branches []struct {
			Message  string
			Selected bool
		}
		Messages []struct{ ID, Parent, Role string }
	}
	read := func() (h history) {
		answer := g.call("GET", "/v1/sessions/main/history", "")
		defer func() { require.NoError(t, answer.Body.Close()) }()
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&h))
		return h
	}
	h := read()
	require.Len(t, h.Branches, 2)
	require.True(t, h.Branches[1].Selected)
	require.False(t, h.Branches[0].Selected)
	said := map[string]string{} // by role
	for _, m := range h.Messages {
		if m.Role != "notice" {
			said[m.Role] = m.ID
		}
		if m.Role == "assistant" {
			require.Equal(t, said["user"], m.Parent)
		}
	}
	require.Equal(t, said["assistant"], h.Head)
	require.Equal(t, h.Branches[1].Message, h.Head)

	b.click(`.branches button[aria-label="Previous branch"]`)
	b.shows("Branch 1 of 2")
	b.shows("echo: one")
	require.Equal(t, read().Branches[0].Message, read().Head)
}
