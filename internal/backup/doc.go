// Package backup copies everything that a gateway needs into one archive, and puts it back.
//
// In: a gateway's database, its state folder and its configuration; the gateway may run. Out: an archive, optionally
// encrypted with age. Members, in this order: what is in it (manifest.json), the configuration, the database, the files,
// and the checksums of all of them (sums.json). The database is copied first and as of one moment: SQLite in one read,
// PostgreSQL in one transaction that sees a snapshot. Files are copied after it, each as it is then, so that no file
// that the database names is missing.
//
// Restoring reads the whole archive into a folder beside the state before it changes anything: an archive that is cut
// off, changed, for the other database, or newer than the program is refused. Then the files take their places, and the
// database last, by a rename (SQLite) or a commit (PostgreSQL). What was there before is kept aside.
package backup
