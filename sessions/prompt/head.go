package prompt

import "strings"

// HeadWord is a name from outside as it may stand in one of the gateway's own lines before what somebody says or brings: on
// one line, nothing invisible in it, not long, and without the characters by which such a line tells who speaks, so that no
// name can end the line or look like another speaker's.
func HeadWord(text string) string { return strings.TrimSpace(heads.Replace(OneLine(text))) }

// heads are what the gateway's lines are made of, and what looks like it.
var heads = strings.NewReplacer(":", "·", "：", "·", "﹕", "·", "꞉", "·", "∶", "·", "ː", "·", "︓", "·", "[", "(", "［", "(", "]", ")", "］", ")")
