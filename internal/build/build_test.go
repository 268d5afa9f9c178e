package build

import (
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadTakesWhatTheCompilerRecorded(t *testing.T) {
	t.Parallel()
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-25T10:00:00Z"}, {Key: "vcs.modified", Value: "true"}}
	at := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		version, commit, stamp string
		recorded               debug.BuildInfo
		want                   Info
		short                  string
	}{
		"release":              {"v1.2.3", "0123456789abcdef", "2026-11-25T10:00:00Z", debug.BuildInfo{}, Info{Version: "v1.2.3", Commit: "0123456789abcdef", Time: &at}, "v1.2.3 (0123456789ab)"},
		"a commit after a tag": {"v1.2.3-4-g0123456-dirty", "0123456789abcdef", "", debug.BuildInfo{}, Info{Version: "v1.2.3-4-g0123456-dirty", Commit: "0123456789abcdef", Dirty: true}, "v1.2.3-4-g0123456-dirty"},
		"go install":           {"", "", "", debug.BuildInfo{Main: debug.Module{Path: "example.org/sluice", Version: "v1.2.3"}}, Info{Version: "v1.2.3", Module: "example.org/sluice"}, "v1.2.3"},
		"go build":             {"", "", "", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: settings}, Info{Version: "dev", Commit: "0123456789abcdef", Dirty: true, Time: &at}, "dev (0123456789ab)"},
		"go run":               {"", "", "no time", debug.BuildInfo{}, Info{Version: "dev"}, "dev"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(c.version, c.commit, c.stamp, &c.recorded)
			require.NotEmpty(t, got.Go)
			require.NotEmpty(t, got.OS)
			require.NotEmpty(t, got.Arch)
			got.Go, got.OS, got.Arch = "", "", ""
			require.Equal(t, c.want, got)
			require.Equal(t, c.short, got.Short())
		})
	}
}
