package config

import (
	"slices"
)

// resets checks when sessions start over.
func (k checker) resets() {
	s := k.c.Session
	k.reset("session.reset", s.Reset)
	types := []string{"direct", "group", "thread"}
	for name, r := range s.ResetByType {
		path := join("session.resetByType", name)
		k.must(slices.Contains(types, name), path, "no type %q: %s", name, hint(name, types))
		k.reset(path, r)
	}
	for name, r := range s.ResetByChannel {
		path := join("session.resetByChannel", name)
		k.channel(path, name)
		k.reset(path, r)
	}
}

func (k checker) reset(path string, r Reset) {
	k.must(r.Mode != "idle" || r.IdleMinutes > 0, path+".idleMinutes", "is missing: mode idle needs a number of minutes")
}
