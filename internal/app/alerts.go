package app

import (
	"sluice/internal/agent/tools/alerting"
	"sluice/router/alert"
)

// alertTools are alerts as the agents' tools need them; nil if the configuration says nothing about alerts.
func alertTools(a *alert.Alerts) alerting.Alerts {
	if a.Plan() == nil {
		return nil
	}
	return a
}
