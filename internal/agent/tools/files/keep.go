package files

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"strings"
	"unicode"

	"sluice/sessions"
)

const (
	// inbox is the folder, in a session's own folder, of the files that people have sent.
	inbox = "inbox"
	// nameMax is the length of the name of such a file, in characters.
	nameMax = 80
	// idShown is how many characters of a file's id are in its name, so that two files have two names.
	idShown = 6
)

// Keep saves a file that somebody sent to the session's own folder, and returns its path in the workspace. The same file has the
// same path.
func (ts *Tools) Keep(ctx context.Context, caller sessions.Caller, a *sessions.Attachment, content []byte) (string, error) {
	files, err := ts.Open(ctx, caller)
	if err != nil {
		return "", err
	}
	defer files.Close() //nolint:errcheck // the file is closed by itself
	id := string(a.Media)
	where := path.Join(files.OwnFolder(), inbox, id[max(0, len(id)-idShown):]+"-"+plainName(cmp.Or(a.Name, a.Kind)))
	_, err = files.Copy(ctx, where, bytes.NewReader(content), caller.Taint, nil)
	return where, err
}

// plainName is a file's name of letters, digits and a few signs, which needs no quotes and can't be mistaken for words of the gateway.
func plainName(name string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, ""), `\`, "/"))
	plain := []rune(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, name))
	if len(plain) > nameMax { // the end says which kind of file it is
		plain = plain[len(plain)-nameMax:]
	}
	return string(plain)
}
