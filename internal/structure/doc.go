// Command structure measures the program: methods per type, methods per
// interface and lines per package. Its test holds the figures to the limits.
//
//	go run ./internal/structure          # print the table
//	go run ./internal/structure -update  # lower the figures of over.txt to today's
//
// What is measured:
//
//   - Production code: the packages that cmd/sluice imports, directly or not, as
//     they are built for Linux without build tags. Test files, packages that only
//     tests import and this repository's own tools are left out.
//   - Methods of a type: those declared on it or on its pointer, exported or not.
//     Methods that an embedded field promotes count for the field's type.
//   - Methods of an interface: its own and those of the interfaces it embeds.
//   - Lines of a package: every line of its Go files, blank lines and comments
//     included, as wc -l counts. The limit was set with figures counted this way.
//     The table also gives the lines that hold code.
//
// over.txt lists what is above a limit today. A figure in it may only fall, and
// remove an entry that is no longer needed.
package main
