// Package archtest checks the layers of the architecture: a package imports only packages of lower layers, and
// siblings of one layer never import each other. There are no exceptions. The table is in the test, which also writes
// docs/packages.md. The package checks the links in the documentation, too.
package archtest

//go:generate go test -run TestThePageOfPackages -update .
