package slack_test

import (
	"testing"

	"sluice/adapters/adaptertest"
	"sluice/adapters/slack/slacktest"
)

func TestSuiteOverSocketMode(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, func(t *testing.T) adaptertest.Platform {
		t.Helper()
		return slacktest.StartPlatform(t, slacktest.Options{})
	})
}

func TestSuiteOverHTTP(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, func(t *testing.T) adaptertest.Platform {
		t.Helper()
		return slacktest.StartPlatform(t, slacktest.Options{HTTP: true})
	})
}
