package audit_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions/audit"
)

func TestTrail(t *testing.T) {
	t.Parallel()
	var nobody *audit.Trail
	nobody.Add(audit.Entry{Action: "lost"}) // nobody wants it
	trail := &audit.Trail{}
	require.Empty(t, trail.Take())
	trail.Add(audit.Entry{Action: "one"})
	trail.Add(audit.Entry{Action: "two"})
	require.Equal(t, []audit.Entry{{Action: "one"}, {Action: "two"}}, trail.Take(), "in order")
	require.Empty(t, trail.Take(), "each entry is given once")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { trail.Add(audit.Entry{}) })
	}
	wg.Wait()
	require.Len(t, trail.Take(), 50)
}
