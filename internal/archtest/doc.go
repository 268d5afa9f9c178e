// Package archtest checks the layers of the architecture: a package imports only packages of lower layers, and
// siblings of one layer never import each other. There are no exceptions. The table is in the test. The package also
// checks the links in the documentation.
package archtest
