package storetest

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store"
)

// Earlier reads rows of an earlier version, which had no labels for settings: each text is as secret as its row, and
// an unreadable label counts as lost. Waiting messages had one quotation, as a text. raw is a direct connection to
// the database.
func Earlier(t *testing.T, db *store.DB, raw *sql.DB) {
	t.Helper()
	b := &bundle{DB: db, t: t, ctx: t.Context()}
	exec := func(text string) {
		t.Helper()
		_, err := raw.ExecContext(t.Context(), text)
		require.NoError(t, err)
	}
	r := newSession("agent:main:main")
	r.Taint = secret
	b.create(r)
	other := b.create(newSession("agent:main:other"))
	exec(`UPDATE sessions SET model = 'p/m', title = 'a title', model_said = '', title_said = '', label_said = ''`)
	exec(`UPDATE sessions SET model_said = 'nonsense' WHERE id = '` + string(other.ID) + `'`)
	got := b.session(r.ID)
	require.Equal(t, flow.NewText("p/m", secret), got.Model)
	require.Equal(t, flow.NewText("a title", secret), got.Title)
	require.Equal(t, flow.Text{}, got.Label)
	require.Equal(t, flow.NewText("p/m", flow.Top()), b.session(other.ID).Model)

	set := flow.NewText("p/other", flow.Bottom())
	require.NoError(t, db.CommitSession(t.Context(), sessions.Change{Patch: []sessions.Patch{{ID: r.ID, Model: &set}}}))
	got = b.session(r.ID)
	require.Equal(t, []flow.Text{set, flow.NewText("a title", secret)}, []flow.Text{got.Model, got.Title})

	waits := newRun(r.ID)
	b.enqueue(waits)
	exec(`UPDATE runs SET input = '{"text": "do that", "sender": {"id": "u1"}, "quoted": "mow the lawn"}'`)
	run, err := db.Run(t.Context(), waits.ID)
	require.NoError(t, err)
	require.Equal(t, []sessions.Quotation{{Kind: sessions.QuoteReply, Text: "mow the lawn"}}, run.Input.Quotations, "what a waiting message answers")
}
