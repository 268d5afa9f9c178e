// Package senders serves programs that send alerts and notes and that were made for other services: clients of
// Alertmanager, senders of events for PagerDuty, and curl with ntfy's headers.
//
// Nothing of a sender is trusted. What it sends has at least the level of its token, and each token may send only so much.
package senders

import (
	"net/http"
	"strings"

	"sluice/internal/alert/intake"
)

// The paths. Their names are those of the services.
const (
	alertmanagerPath = "/api/v2/"
	notifyPath       = "/notify"
	enqueuePath      = "/v2/enqueue"
)

// The largest bodies, in bytes. PagerDuty takes events of the same size.
const (
	alertmanagerMax = intake.BodyMax
	enqueueMax      = 512 << 10
)

// Serves reports whether a path is for senders, who may give their token in the basic scheme as well.
func Serves(path string) bool {
	return strings.HasPrefix(path, alertmanagerPath) || path == notifyPath || strings.HasPrefix(path, notifyPath+"/")
}

// Takes reports whether a request sends an alert or a note, which is all that a token with the role sender may do.
func Takes(method, path string) bool {
	return method == http.MethodPost && Serves(path) && (path == alertmanagerPath+"alerts" || !strings.HasPrefix(path, alertmanagerPath))
}

// BodyMax is the largest body that a path takes; 0: the path is not for senders.
func BodyMax(path string) int64 {
	switch {
	case strings.HasPrefix(path, alertmanagerPath):
		return alertmanagerMax
	case path == enqueuePath:
		return enqueueMax
	case Serves(path):
		return noteMax
	}
	return 0
}
