package telegramtest

import "context"

// TB is the part of testing.TB that [Start] needs; the package itself does not import testing.
type TB interface {
	Helper()
	Cleanup(func())
	Context() context.Context
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Start makes a server for one test. At the test's end it closes the server and
// fails the test for each violation of the Bot API.
func Start(t TB, opts Options) *Server {
	t.Helper()
	s, err := NewServer(opts)
	if err != nil {
		t.Fatalf("start telegram fake: %v", err)
	}
	if s.specs == nil {
		t.Logf("SLUICE_API_SPECS is not set: requests are not checked against the published Bot API")
	}
	t.Cleanup(func() {
		s.Close()
		for _, v := range s.Violations() {
			t.Errorf("request breaks the Bot API: %s", v)
		}
	})
	return s
}
