package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/sessions"
)

// What a side says after it has learnt more than the other may be told reaches the other
// by no later step: no turn brings it, and nothing is announced of it.
func TestSecretOfATurnIsNotAnnounced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob := k.session("ann"), k.session("bob")
		k.agent.begin = func(s *sessions.Session) {
			if s.Record().ID == ann.ID { // it learns something on the way
				s.Append(sessions.Message{Role: sessions.RoleAgent, Parts: []sessions.Part{sessions.TextPart("secret", flow.NewLabel(flow.Confidential, flow.Trusted))}})
			}
		}
		k.reply = func(key sessions.Key, _ string) (string, error) {
			if key == ann.Key {
				return "the secret", nil
			}
			return "seven", nil
		}
		x := k.over(k.ask(ann, bob, "how many?").ID)
		require.Equal(t, announce.Silent, x.Outcome)
		require.Contains(t, x.Detail, "above the other's clearance")
		require.Equal(t, []string{"direct:bob: how many?", "direct:ann: secret"}, k.heard())
		record, err := k.store.Session(t.Context(), bob.ID)
		require.NoError(t, err)
		require.Equal(t, bob.Taint.Level(), record.Taint.Level(), "it has learned nothing more")
	})
}

// A session that was started over while its turn was worked has forgotten what it said; its people hear nothing of the old one's.
func TestSecretOfAnOldSessionIsNotAnnounced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob := k.session("ann"), k.session("bob")
		secret := flow.NewLabel(flow.Confidential, flow.Trusted)
		k.agent.begin = func(s *sessions.Session) {
			if id := s.Record().ID; id == ann.ID || id == bob.ID {
				s.Append(sessions.Message{Role: sessions.RoleAgent, Parts: []sessions.Part{sessions.TextPart("secret", secret)}})
			}
		}
		k.hear(in("ann", "2", "learn"))
		k.hear(in("bob", "2", "learn"))
		synctest.Wait()
		ann, bob = k.stored(ann.ID), k.stored(bob.ID)
		require.Equal(t, flow.Confidential, bob.Taint.Level())
		k.reply = func(key sessions.Key, text string) (string, error) {
			if key == ann.Key {
				_, err := k.ResetSession(t.Context(), bob.ID, "operator")
				return "REPLY_SKIP", err
			}
			return "the secret", nil
		}
		x := k.over(k.ask(ann, bob, "how many?").ID)
		require.Equal(t, announce.Silent, x.Outcome)
		require.Zero(t, countPrefix(k.heard(), "direct:bob: Now write"))
		for _, text := range k.chat.texts("bob") {
			require.NotContains(t, text, "the secret")
		}
	})
}

func (k *talk) stored(id sessions.ID) sessions.Record {
	k.t.Helper()
	record, err := k.store.Session(k.t.Context(), id)
	require.NoError(k.t, err)
	return record
}
