// Package discordtest is a fake of Discord for tests: its REST API and its
// gateway on the loopback interface, with one bot, one guild and any number of people. It
// misbehaves on request. If the environment variable SLUICE_API_SPECS names a folder with
// Discord's published API description, the fake checks each request against it.
package discordtest
