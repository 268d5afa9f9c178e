// Package web reads pages of the public web, and nothing else. Every address is checked when it is dialled, after the
// name lookup and for each redirect, so that no page, name or redirect leads to the gateway's own machine or network.
// No setting turns this off. The package has no goroutines of its own.
package web
