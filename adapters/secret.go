package adapters

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// hidden replaces a secret wherever one would be printed.
const hidden = "<secret>"

// Secret is a text that every verb, logger and encoder prints as "<secret>". [Secret.Reveal] or a conversion returns
// the text.
type Secret string

// Reveal returns the secret's text.
func (s Secret) Reveal() string { return string(s) }

// String hides the secret; an empty secret stays empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// Format hides the secret from every verb, including unsuitable ones.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue hides the secret.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON hides the secret.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalYAML hides the secret.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }
