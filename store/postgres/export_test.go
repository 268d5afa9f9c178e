package postgres

// Rebind is rebind for tests.
func Rebind(text string) string { return rebind(text) }

// PrepareConnection is prepareConnection for tests.
var PrepareConnection = prepareConnection //nolint:gochecknoglobals // for tests
