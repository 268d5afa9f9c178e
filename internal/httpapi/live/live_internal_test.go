package live

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
)

// rows are the marks of lists.
type rows map[string]uint64

func (r rows) Marks(context.Context, flow.Level) (map[string]uint64, error) {
	marks := map[string]uint64{}
	for kind, n := range r {
		marks[kind] = n
	}
	return marks, nil
}

func TestAResumedStreamBeginsWithAllLists(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		resumed bool
		first   string
	}{
		"a new one":   {false, ""},
		"resumed one": {true, `{"kinds":["jobs","runs"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rows{"runs": 1, "jobs": 1}
			w := httptest.NewRecorder()
			stream, err := wire.NewStream(w)
			require.NoError(t, err)
			f := &feed{API: &API{Rows: r, Log: slog.New(slog.DiscardHandler)}, Stream: stream, resumed: c.resumed}
			require.NoError(t, f.look(t.Context()))
			if c.first == "" {
				require.NotContains(t, w.Body.String(), "changed")
			} else {
				require.Contains(t, w.Body.String(), c.first)
			}
			w.Body.Reset()
			require.NoError(t, f.look(t.Context()))
			require.NotContains(t, w.Body.String(), "changed", "nothing has changed since")
			r["runs"] = 2
			require.NoError(t, f.look(t.Context()))
			require.Contains(t, w.Body.String(), `{"kinds":["runs"]}`)
		})
	}
}

// lines is a log.
type lines uint64

func (l *lines) Mark() uint64 { return uint64(*l) }

// Who may read the log hears that it has changed. Others do not learn that something happens.
func TestTheLogHasChanged(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{true, false} {
		w, log := httptest.NewRecorder(), new(lines)
		stream, err := wire.NewStream(w)
		require.NoError(t, err)
		f := &feed{API: &API{Rows: rows{}, Lines: log, Log: slog.New(slog.DiscardHandler)}, Stream: stream, all: all}
		require.NoError(t, f.look(t.Context()))
		require.NoError(t, f.look(t.Context()))
		require.NotContains(t, w.Body.String(), "changed")
		*log++
		require.NoError(t, f.look(t.Context()))
		require.Equal(t, all, strings.Contains(w.Body.String(), `{"kinds":["logs"]}`))
	}
}
