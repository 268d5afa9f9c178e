package model_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/model"
	"sluice/internal/model/chain"
	"sluice/internal/model/cooldown"
	"sluice/internal/model/modeltest"
	"sluice/policy/flow"
	"sluice/sessions"
)

// before is a model that does something before it is asked.
type before struct {
	sessions.Model
	do func()
}

func (b before) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	b.do()
	return b.Model.Complete(ctx, req, on)
}

// A model in use makes each call with the keys and levels of the configuration that is then in effect. A call that is refused
// because its key was replaced meanwhile is made again, and does not count as a failure of the key.
func TestAKeyChangesUnderAModelInUse(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]string{"one key": nil, "two keys": {"old"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, err := modeltest.NewServer(modeltest.Options{Key: "one"})
			require.NoError(t, err)
			t.Cleanup(srv.Close)
			board, meanwhile := cooldown.New(cooldown.Config{}), func() {}
			registry := func(level flow.Level, provider, key string) *model.Registry {
				r, err := model.New(map[string]model.ProviderConfig{
					provider: {Kind: model.KindOpenAI, Keys: append([]string{key}, more...), BaseURL: srv.OpenAIURL(), Classification: level},
				}, model.Options{Board: board, Wrap: func(l chain.Link) sessions.Model { return before{l.Ask, func() { meanwhile() }} }})
				require.NoError(t, err)
				return r
			}
			first, second, third := registry(flow.Restricted, "p", "one"), registry(flow.Restricted, "p", "two"), registry(flow.Internal, "p", "three")
			m, err := first.Model("p/m")
			require.NoError(t, err)
			asked := func(level flow.Level) error {
				_, _, err := ask(t.Context(), m, flow.NewLabel(level, flow.Trusted))
				return err
			}
			require.NoError(t, asked(flow.Public))
			first.ReplacedBy(second)
			srv.Accept("two")
			require.NoError(t, asked(flow.Restricted))

			meanwhile = func() {
				second.ReplacedBy(third)
				srv.Accept("three")
			}
			require.NoError(t, asked(flow.Public), "the key changed during the call")
			meanwhile = func() {}
			require.ErrorIs(t, asked(flow.Restricted), sessions.ErrModelLevel, "so did the level")
			require.Empty(t, board.List())

			third.ReplacedBy(registry(flow.Restricted, "q", "four"))
			require.NoError(t, asked(flow.Public), "a model that was removed answers until the run ends")
		})
	}
}
