package config_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/internal/config/tags"
)

func TestAge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"": 0, "1d": 24 * time.Hour, "90d": 90 * 24 * time.Hour} {
		got, err := config.Age(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"90", "d", "0d", "-1d", "1.5d", "12h", "99999d"} {
		_, err := config.Age(text)
		require.ErrorContains(t, err, "want days such as 90d", text)
	}
}

func TestRetentionTakesAges(t *testing.T) {
	t.Parallel()
	for _, key := range tags.Of(reflect.TypeFor[config.Retention]()).Names() {
		if key == "audit" { // it takes none
			continue
		}
		_, err := loader(t).Parse("sluice.yaml", []byte("retention: { "+key+": 400d }"))
		require.NoError(t, err)
		wrong := faults(t, "retention: { "+key+": 12h }")
		require.Len(t, wrong, 1)
		require.Contains(t, wrong[0], "retention."+key+": want days such as 90d, or nothing to keep it forever")
	}
	require.Empty(t, parsed(t, "").Retention.Sessions, "people's conversations are kept for ever by default")
}
