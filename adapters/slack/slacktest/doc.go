// Package slacktest is a fake of Slack: one workspace with one app in it, its Web API,
// Socket Mode and the Events API over HTTP, spoken over loopback as Slack speaks them.
//
// It gives events again until they are confirmed, misbehaves when it is told to, and
// holds each request against Slack's published description of the Web API, where
// SLUICE_API_SPECS names its folder, and against the published limits. What breaks
// them is collected in [Server.Violations].
//
// [Platform] drives it for the suite of all adapters.
package slacktest
