package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sluice/internal/pattern"
	"sluice/internal/visible"
)

// plainText is a value as a text: a list or an object as JSON, nothing for a missing one.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case map[string]any, []any:
		return asJSON(v)
	}
	return fmt.Sprint(v)
}

// asJSON is a value as JSON of several lines.
func asJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return "" // values of a payload come from JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// word is a value that can't be mistaken for a sentence: a name, a number, an address.
var word = pattern.New(`^[\p{L}\p{N}_./:@#+=&?%~,…-]{1,300}$`)

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// quoted shows a value in a prompt, so that it can't be mistaken for the prompt's own words.
func quoted(v any) (string, error) {
	text := strings.TrimRight(lineBreaks.Replace(plainText(v)), "\n")
	switch {
	case text == "" || word.MatchString(text):
		return text, nil
	case !strings.Contains(text, "\n"):
		return `"` + strings.ReplaceAll(visible.Line(text), `"`, "'") + `"`, nil
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("\n> " + visible.Line(line))
	}
	return b.String() + "\n", nil
}

// errMissing is a session's value that the request lacks.
var errMissing = errors.New("a value of the session's key is missing")

const (
	partMax = 120 // bytes of a value in a session's key
	// keep has the characters that stay as they are in a session's key.
	keep = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/@+~-"
)

// keyPart shows a value in a session's key: characters that could end the part are written as %XX, and a long value as its hash.
func keyPart(v any) (string, error) {
	text := plainText(v)
	if text == "" {
		return "", errMissing
	}
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(keep, text[i]) >= 0 {
			b.WriteByte(text[i])
			continue
		}
		fmt.Fprintf(&b, "%%%02X", text[i])
	}
	if b.Len() > partMax {
		sum := sha256.Sum256([]byte(text))
		return "%23" + hex.EncodeToString(sum[:16]), nil
	}
	return b.String(), nil
}
