package app

import (
	"time"

	"sluice/internal/config"
	"sluice/router"
)

// resetSettings is what the configuration says of sessions that begin anew by themselves.
func resetSettings(c config.Session) router.ResetSettings {
	s := router.ResetSettings{
		Default: resetPolicy(c.Reset),
		ByType:  map[router.ConversationType]router.ResetPolicy{}, ByChannel: map[string]router.ResetPolicy{},
	}
	for name, r := range c.ResetByType {
		s.ByType[router.ConversationType(name)] = resetPolicy(r)
	}
	for name, r := range c.ResetByChannel {
		s.ByChannel[name] = resetPolicy(r)
	}
	return s
}

func resetPolicy(r config.Reset) router.ResetPolicy {
	return router.ResetPolicy{Mode: router.ResetMode(r.Mode), AtHour: r.AtHour, Idle: time.Duration(r.IdleMinutes) * time.Minute}
}
