// Package web reads pages of the public web, and nothing else: every address is
// checked when it is dialled, after its name was looked up and on each redirection, so that no
// page, name or redirection leads to the gateway's own machine or network. There is
// no setting that allows those. It has no goroutines of its own.
package web
