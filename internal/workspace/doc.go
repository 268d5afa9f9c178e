// Package workspace reads and writes the files of one session.
//
// A session has a folder of its own below its agent's workspace, and of that it
// reaches what its file access names: folders, files, or all of it. Paths are
// relative to the folder, with slashes; those of commands in the sandbox, which
// begin with /workspace/, are taken too. Everything goes through [os.Root], so that
// no link leads out of the folder, or out of a part of it that the session may use.
//
// What is outside, what a link leads out to, what is not a regular file and what is not
// there give one error, [sessions.ErrNotFound]: nobody learns by it what is elsewhere.
package workspace
