// Package slacktest is a fake of Slack: one workspace with one app, its Web API, Socket Mode
// and the Events API over HTTP, on the loopback interface.
//
// The fake repeats events until they are confirmed, and misbehaves on request. It checks each
// request against the published limits and, if SLUICE_API_SPECS names the folder, against
// Slack's published description of the Web API. [Server.Violations] lists what was wrong.
//
// [Platform] drives the fake for the test suite of all adapters.
package slacktest
