package storetest

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func access(c ledger.AccessChange) ledger.Change { return ledger.Change{AccessChange: c} }

func testAPITokens(t *testing.T, b *bundle) {
	tok := ledger.APIToken{ID: "tok_1", Name: "night", Sum: "sum-1", Role: "viewer", Level: flow.Internal, By: "operator", Created: at(1), Expires: at(9)}
	b.commit(access(ledger.AccessChange{Tokens: []ledger.APIToken{tok}}))
	got, err := b.TokenBySum(b.ctx, "sum-1")
	require.NoError(t, err)
	require.Equal(t, tok, got)
	got, err = b.TokenNamed(b.ctx, "night")
	require.NoError(t, err)
	require.Equal(t, tok, got)
	same := tok
	same.ID, same.Sum = "tok_2", "sum-2"
	b.refuse(sessions.ErrDuplicate, access(ledger.AccessChange{Tokens: []ledger.APIToken{same}}))

	b.commit(access(ledger.AccessChange{SignIns: []ledger.SignIn{{ID: "s1", Token: "night", Cookie: "c1", Created: at(2), Expires: at(9)}}}))
	require.NoError(t, b.NoteUses(b.ctx, []ledger.Use{{Subject: "token:night", At: at(3)}, {Subject: "sign-in:s1", At: at(3)}, {Subject: "token:", At: at(4)}}))
	require.NoError(t, b.NoteUses(b.ctx, []ledger.Use{{Subject: "token:", At: at(5)}}))
	b.commit(access(ledger.AccessChange{RevokeTokens: []string{"night"}}))
	b.refuse(sessions.ErrNotFound, access(ledger.AccessChange{RevokeTokens: []string{"night"}}))
	_, err = b.SignIn(b.ctx, "s1")
	require.ErrorIs(t, err, sessions.ErrNotFound, "a sign-in ends with its token")
	uses, err := b.Uses(b.ctx)
	require.NoError(t, err)
	require.Equal(t, []ledger.Use{{Subject: "token:", At: at(5)}}, uses)
	all, err := b.ListTokens(b.ctx)
	require.NoError(t, err)
	require.Empty(t, all)
}

func testSignIns(t *testing.T, b *bundle) {
	link := ledger.SignIn{ID: "s1", Print: "p", Link: "link", Created: at(1), Expires: at(60)}
	b.commit(access(ledger.AccessChange{SignIns: []ledger.SignIn{link}}))
	got, err := b.SignInByLink(b.ctx, "link")
	require.NoError(t, err)
	require.Equal(t, link, got)
	used := ledger.SignIn{ID: "s1", Print: "p", Link: "link", Cookie: "cookie", Key: "key", Address: "::1", Agent: "x\x00", Created: at(59), Expires: at(100)}
	late := used
	late.Created = at(60)
	b.refuse(sessions.ErrNotFound, access(ledger.AccessChange{UseLinks: []ledger.SignIn{late}}))
	b.commit(access(ledger.AccessChange{UseLinks: []ledger.SignIn{used}}))
	b.refuse(sessions.ErrNotFound, access(ledger.AccessChange{UseLinks: []ledger.SignIn{used}}))
	got, err = b.SignInByCookie(b.ctx, "cookie")
	require.NoError(t, err)
	used.Link, used.Agent = "", got.Agent
	require.Equal(t, used, got)
	_, err = b.SignInByCookie(b.ctx, "")
	require.ErrorIs(t, err, sessions.ErrNotFound)

	for i := range ledger.SignInsMax + 1 {
		b.commit(access(ledger.AccessChange{SignIns: []ledger.SignIn{{ID: fmt.Sprintf("n%02d", i), Token: "other", Cookie: strconv.Itoa(i), Created: at(61).Add(time.Duration(i) * time.Millisecond), Expires: at(100)}}}))
	}
	_, err = b.SignIn(b.ctx, "n00")
	require.ErrorIs(t, err, sessions.ErrNotFound, "the oldest made room")
	list, err := b.ListSignIns(b.ctx, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"n50", "n49"}, []string{list[0].ID, list[1].ID})
	b.commit(access(ledger.AccessChange{EndSignIns: []string{"n50"}}))
	b.refuse(sessions.ErrNotFound, access(ledger.AccessChange{EndSignIns: []string{"n50"}}))
	b.commit(access(ledger.AccessChange{SignIns: []ledger.SignIn{{ID: "later", Cookie: "later", Created: at(100), Expires: at(200)}}}))
	list, err = b.ListSignIns(b.ctx, 100)
	require.NoError(t, err)
	require.Len(t, list, 1, "what has expired is removed")
}
