// Package skill keeps the skills of agents: folders with instructions, and files and scripts that belong to them.
//
// A skill is the folder <workspace>/skills/<name> with a file SKILL.md: front matter with a name and a description, and the
// instructions below it. The folder is beside the owner's instruction file, where no session can write.
//
//	                    add (the content's hash is pinned)
//	archive ─► draft ─► <workspace>/skills/<name> ─► ok ──► the content differs from the pin ─► changed (refused)
//	                                                  └───► SKILL.md can't be read ───────────► invalid (refused)
//	a folder put there by hand ─────────────────────────────────────────────────────────────► unpinned (untrusted)
//
// A skill is untrusted unless the owner says otherwise: for this content, with the CLI or the API; for a hash or a signing key, in the
// configuration. Nothing in a skill has a say in that.
//
// Failure rules: the content is in place before its pin. A gateway that dies in between leaves an unpinned skill, or, of a
// replacement, a changed one.
//
// Goroutines: none.
package skill
