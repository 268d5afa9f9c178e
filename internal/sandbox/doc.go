// Package sandbox runs commands apart from the machine, with bubblewrap (bwrap 0.8 or later).
//
// A command sees the machine's programs read-only (/usr and what belongs to it), a
// fresh /tmp, /proc and /dev, and one folder that it can write to: its workspace, at
// /workspace. It sees no other file: no configuration, no state, no keys. Its environment is PATH, HOME and PWD.
// It has no network unless that is asked for, no capabilities, can gain no
// privileges and can make no user namespaces. It opens Unix and internet sockets only, and
// uses neither io_uring nor another calling convention of the processor, which would be ways around that. The kernel's keyrings,
// which commands could share, and memory outside of all processes are out of its reach. It and all that it has started die
// with the deadline, with the caller's context, and with the gateway.
//
// What it and all that it has started may use is bounded ([Limits]): the kernel bounds each process (data, size of
// a file, open files, processor time), and a watcher ends the command when all its processes together have more
// memory, or are more, than they may, when the machine runs short of memory, or when the caller's Check says so. /tmp and
// /dev/shm are memory of a fixed size. When memory runs out before the watcher has seen it, the kernel kills
// the command's processes before the gateway's.
package sandbox
