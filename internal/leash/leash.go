// Package leash starts programs that end with the gateway, even if it is killed, together with everything that they have started.
//
// A program gets a session and a process group of its own, and waits at a gate until its starter has set its limits. Beside it runs its
// guard, a small process that reads a pipe whose other end only the gateway has. When the gateway ends, even by SIGKILL, the pipe ends, and
// the guard kills the group. If the gateway ends before it has opened the gate, the program does not start. A process that leaves the
// group, for example with setsid, goes on, except in a sandbox, which ends with its first process.
//
// Gate and guard need a Unix shell. Without one, as in a container image without any other program, Linux kills the program itself with the
// gateway. On Windows, a program must notice the end of its input.
package leash

// First is the number of the first of a command's extra files in its program. The gate, which is closed by then, comes before it.
const First = 4
