// Command release makes the files of a release in a folder (make release): for each target a static binary, an archive
// with completions, manual pages and the licences of all dependencies, a list of what is in the binary (CycloneDX), for
// Linux also packages (.deb, .rpm) and container images, and checksums of all of them.
//
// Two runs for the same commit give identical files: nothing in them depends on the time, the folder, the user or the
// order of files on the disk.
package main
