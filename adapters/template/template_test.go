package template_test

import (
	"testing"

	"go.uber.org/goleak"

	"sluice/adapters/adaptertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, newPlatform)
}
