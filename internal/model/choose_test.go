package model_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/model"
	"sluice/policy/flow"
)

// A session may be given the models that a provider lists and those that the configuration uses, and no other: a name is a text like any.
func TestChoose(t *testing.T) {
	t.Parallel()
	r, err := model.New(map[string]model.ProviderConfig{
		"far":   {Kind: model.KindAnthropic, Keys: []string{"x"}, Classification: flow.Public, Models: []string{"small", "large"}},
		"local": {Kind: model.KindOpenAI, BaseURL: "http://127.0.0.1:1/v1", Classification: flow.Confidential},
		"any":   {Kind: model.KindOpenAI, BaseURL: "http://127.0.0.1:1/v1", Classification: flow.Confidential, Models: []string{model.AnyModel}},
	}, model.Options{}, "local/llama/3.3, far/large", "offline/slow-2s")
	require.NoError(t, err)
	for name, may := range map[string]bool{
		"far/small": true, "far/large": true, "local/llama/3.3": true, "any/thing": true, "offline/guide": true, "offline/echo": true, "offline/slow-2s": true,
		"far/small, any/x, auto": true, "far/small,offline/guide": true,
		"auto": false, "far/small, auto, any/x": false, "far/small, far/the-secret": false, "a/a,a/a,a/a,a/a,a/a,a/a,a/a,a/a,a/a": false, ",": false,
		"far/the-secret": false, "local/the-secret": false, "offline/slow-31337s": false, "nobody/knows": false, "far/": false, "far": false, "any/": false, "": false,
	} {
		require.Equal(t, may, r.Choose(name, flow.Public) == nil, name)
	}
	_, err = r.Model("local/the-secret")
	require.NoError(t, err, "one that was set before works on")
	require.EqualError(t, r.Choose("far/x", flow.Public),
		`the model "far/x" can't be chosen: want one of offline/echo, offline/guide, offline/slow-2s, any/<any name>, far/large, far/small, local/llama/3.3 (see models.providers.<provider>.models in the configuration)`)
	require.ErrorContains(t, r.Choose("far/x", flow.Confidential), "want one of offline/echo, offline/guide, offline/slow-2s, any/<any name>, local/llama/3.3 (")
}

// However many models a provider lists, an error names a few.
func TestChooseNamesAFew(t *testing.T) {
	t.Parallel()
	many := model.ProviderConfig{Kind: model.KindAnthropic, Keys: []string{"x"}, Classification: flow.Public}
	for n := range 100 {
		many.Models = append(many.Models, fmt.Sprintf("m%03d", n))
	}
	r, err := model.New(map[string]model.ProviderConfig{"p": many}, model.Options{})
	require.NoError(t, err)
	require.ErrorContains(t, r.Choose("p/x", flow.Public), "p/m017 and 82 others (")
}
