package app

import (
	"time"

	"sluice/internal/config"
	"sluice/router/place"
)

// resetSettings is what the configuration says of sessions that restart automatically.
func resetSettings(c config.Session) place.ResetSettings {
	s := place.ResetSettings{
		Default: resetPolicy(c.Reset),
		ByType:  map[place.ConversationType]place.ResetPolicy{}, ByChannel: map[string]place.ResetPolicy{},
	}
	for name, r := range c.ResetByType {
		s.ByType[place.ConversationType(name)] = resetPolicy(r)
	}
	for name, r := range c.ResetByChannel {
		s.ByChannel[name] = resetPolicy(r)
	}
	return s
}

func resetPolicy(r config.Reset) place.ResetPolicy {
	return place.ResetPolicy{Mode: place.ResetMode(r.Mode), AtHour: r.AtHour, Idle: time.Duration(r.IdleMinutes) * time.Minute}
}
