// Package service installs the gateway as a service that starts with the machine or with its user's session: with
// systemd on Linux, launchd on macOS, and the service manager on Windows. A record beside the configuration says where
// the service has its files, so that the other commands find it (package api).
package service
