package commands

import (
	"context"
	"strings"

	"sluice/router/ledger"
	"sluice/sessions"
)

// voice shows or sets whether people also get the replies as recordings.
func voice(_ context.Context, k *Commands, c Call) (ledger.Change, string, error) {
	configured := k.Speaks != nil && k.Speaks()
	missing := " I can't speak yet: the owner of this gateway can set `media.speech`."
	if configured {
		missing = ""
	}
	on := false
	switch strings.ToLower(c.Args) {
	case "":
		if c.Session.Voice {
			return ledger.Change{}, "You get my replies as text and as voice messages." + missing, nil
		}
		return ledger.Change{}, "You get my replies as text. `/voice on` adds voice messages." + missing, nil
	case "on":
		if !configured {
			return ledger.Change{}, strings.TrimSpace(missing), nil
		}
		on = true
	case "off":
	default:
		return ledger.Change{}, "Usage: `/voice on` or `/voice off`.", nil
	}
	change := k.override(c, sessions.Patch{Voice: &on}, "voice", strings.ToLower(c.Args))
	if on {
		return change, "From your next message on, I also speak my replies.", nil
	}
	return change, "I no longer speak my replies.", nil
}
