package slacktest

import "context"

// TB is the part of testing.TB that [Start] needs.
type TB interface {
	Helper()
	Cleanup(func())
	Context() context.Context
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Start makes a server for one test. At the test's end it closes the server and
// fails the test for each violation.
func Start(t TB, opts Options) *Server {
	t.Helper()
	s, err := NewServer(opts)
	if err != nil {
		t.Fatalf("start slack fake: %v", err)
	}
	if s.specs == nil {
		t.Logf("SLUICE_API_SPECS is not set: requests are not checked against the published Web API")
	}
	t.Cleanup(func() {
		s.Close()
		for _, v := range s.Violations() {
			t.Errorf("request breaks the Web API: %s", v)
		}
	})
	return s
}
