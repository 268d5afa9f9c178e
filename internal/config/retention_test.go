package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
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
