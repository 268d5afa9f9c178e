// Package attach fetches the files that come with messages, and decides what the agent sees of them.
//
//	attachments of a run ──► the platform ──► stored media, and a note for each file
//	                                     ├──► text files: their text
//	                                     └──► recordings: what is said in them, if somebody transcribes
//
// Everything is bounded: the size of a file, of a message's files and of a text, the runs that fetch at the same time, and
// the time that they take. A file that can't be had costs the message nothing but a note, which tells the agent why.
package attach
