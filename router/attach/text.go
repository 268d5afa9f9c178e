package attach

import (
	"cmp"
	"fmt"
	"mime"
	"net/http"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"sluice/policy"
	"sluice/sessions"
)

// textMax is how much of a file or a transcript a model reads, in bytes.
const textMax = 64 << 10

// show decides what the model sees of a file.
func (got *Fetched) show(at *sessions.Attachment, content []byte) {
	switch {
	case at.IsPicture():
		at.Note = "the picture is not shown to you" // models that accept pictures ignore this note
	case strings.HasPrefix(at.MIME, "image/") && len(content) > sessions.PictureMax:
		at.Note = fmt.Sprintf("it is too large to show: the maximum is %d bytes", sessions.PictureMax)
	case isText(at.MIME) && len(content) > textMax:
		at.Note = fmt.Sprintf("it is too long to read: the maximum is %d bytes", textMax)
	case isText(at.MIME) && utf8.Valid(content):
		at.Note = "its text is in the message"
		text := strings.ReplaceAll(string(content), "\x00", "")
		got.Texts = append(got.Texts, fmt.Sprintf("[Text of the file %s]\n%s", shownFile(at.Name), text))
	default:
		at.Note = "its content can't be shown"
	}
}

// shownFile is a file's name as it appears before the file's text.
func shownFile(name string) string {
	if policy.CheckSpeaker.Skipped() {
		return name
	}
	return cmp.Or(sessions.HeadWord(name), "without a name")
}

// mimeOf is the type of a file. For pictures the content decides, because models refuse a picture with a wrong type;
// for other files the platform's type comes first, then the name.
func mimeOf(at sessions.Attachment, content []byte) string {
	seen, _, _ := strings.Cut(http.DetectContentType(content), ";")
	if strings.HasPrefix(seen, "image/") {
		return seen
	}
	said, _, err := mime.ParseMediaType(at.MIME) // anything else would end up in the headers of an upload
	if err == nil && !strings.HasPrefix(said, "image/") {
		return said
	}
	switch strings.ToLower(filepath.Ext(at.Name)) {
	case ".md", ".txt", ".log":
		return "text/plain"
	case ".csv":
		return "text/csv"
	case ".json":
		return "application/json"
	}
	return seen
}

func isText(mime string) bool { return strings.HasPrefix(mime, "text/") || mime == "application/json" }
