// Package workspace reads and writes the files that a session sees.
//
// A session has a folder of its own in its agent's workspace, and sees of the folder
// that the agent's sessions share what its file access names: folders, files, or all of
// it. Its own folder is then at .sessions/<id>; a session that sees nothing of the shared
// folder has its own folder alone. Paths have slashes and are relative to the workspace;
// those of commands in the sandbox, which begin with /workspace/, are taken too.
// Everything goes through [os.Root], so that no link leads out of the folders, or out of a
// part of the shared one that the session may use.
//
// What is outside, what a link leads out to, what is not a regular file and what is not
// there give one error, [sessions.ErrNotFound]: nobody learns by it what is elsewhere.
//
// The shared folder has a level. Who knows more may read there, and not write. [Marks]
// remember which shared files may have untrusted text.
package workspace
