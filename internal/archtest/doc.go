// Package archtest holds the architecture to its layers: a package imports
// only packages of lower layers, and siblings of one layer never import each
// other. There are no exceptions. The table stands in the test. It also follows
// the links of the documents.
package archtest
