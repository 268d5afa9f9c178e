// Package discordtest is a fake of Discord for tests: its REST API and its
// gateway over loopback, with one bot, one guild, and as many people as are named.
// It misbehaves on demand, and checks each request against Discord's published API description where
// the environment variable SLUICE_API_SPECS names the folder with it.
package discordtest
