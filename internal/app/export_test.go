package app

import (
	"sluice/sessions"
	"sluice/store"
)

// Store is the gateway's, so that tests can put things there that take an agent long to make.
func (a *App) Store() *store.DB { return a.store }

// Emit publishes a live event.
func (a *App) Emit(e sessions.Event) { a.bus.Emit(e) }

// Folder is where a session's files are.
func (a *App) Folder(r sessions.Record) (string, error) { return a.loop.Folder(r) }
