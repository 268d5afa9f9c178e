// Package alerts serves people and programs that work with alerts: /v1/alerts, /v1/alert-groups and /v1/silences.
//
// A caller knows of the alerts and silences up to the caller's level. What is above it looks like what does not exist.
package alerts
