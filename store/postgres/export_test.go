package postgres

// Rebind is rebind for tests.
func Rebind(text string) string { return rebind(text) }
