// Package transcript writes sessions with their messages as JSON lines, and reads them into a store.
//
// The first line is a [Head]. Each session is a line, and its messages follow in the order in which they were stored, with all
// branches and summaries. The last line counts both: a file without it is cut off. Labels are kept. Runs, deliveries, the
// content of attachments and the files of workspaces are not part of it; a backup has everything.
//
// Both directions need memory for one page of messages and one line, not for a session. An import can be repeated: what is
// stored already is left as it is, and an import that was broken off continues.
package transcript
