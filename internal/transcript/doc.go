// Package transcript writes sessions with their messages as JSON lines, and reads them into a store.
//
// The first line is a [Head]. Each session is a line, and its messages follow in the order in which they were stored, with all
// branches and summaries. The last line has the number of both; a file without it is cut off. Labels are kept. Runs,
// deliveries, the content of attachments and the files of workspaces are not exported; a backup has everything.
//
// Export and import need memory for one page of messages and one line, not for a whole session. An import can be repeated, for
// example after an interruption: it skips what is already stored.
package transcript
