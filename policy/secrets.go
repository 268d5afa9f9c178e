package policy

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"sluice/internal/pattern"
	"sluice/policy/flow"
	"sluice/sessions"
)

// SecretLengthMin is the minimum length in bytes of a value that is searched for in texts: shorter values would match
// too often.
const SecretLengthMin = 6

// Secret is a value that models know only by name. In a call's arguments, "{{secret:NAME}}" stands for it; the
// gateway inserts the value after the model, and only for tools that may have it: those that its list names, that
// write outside the gateway, to a place whose level is not below the secret's.
type Secret struct {
	Name  string
	Value string
	Level flow.Level
	Tools []string // patterns of the names of tools that may receive it
}

// Secrets are the configured secrets. A nil value has no secrets. It is immutable.
type Secrets struct {
	byName map[string]Secret
	hide   *strings.Replacer // nil: nothing to hide
	forms  []string          // the forms in which secrets may appear in texts
}

var (
	secretName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	secretRef  = pattern.New(`\{\{\s*secret:\s*([A-Za-z0-9][A-Za-z0-9_.-]{0,63})\s*\}\}`)
)

// IsSecretName reports whether a name is valid for a secret.
func IsSecretName(name string) bool { return secretName.MatchString(name) }

// NewSecrets creates the secrets. hidden are values without a name for models, such as the gateway's own keys; they
// are redacted as well.
func NewSecrets(secrets []Secret, hidden []string) (*Secrets, error) {
	s := &Secrets{byName: map[string]Secret{}}
	var pairs []string
	for _, secret := range secrets {
		if !IsSecretName(secret.Name) {
			return nil, fmt.Errorf("secrets.%s: a name has letters, digits, dots, - and _, 64 at most", secret.Name)
		}
		if !secret.Level.Valid() {
			return nil, fmt.Errorf("secrets.%s.classification: is required", secret.Name)
		}
		for _, pattern := range secret.Tools {
			if err := CheckNamePattern(pattern); err != nil {
				return nil, fmt.Errorf("secrets.%s.tools: %q: %w", secret.Name, pattern, err)
			}
		}
		s.byName[secret.Name] = secret
		pairs = appendForms(pairs, secret.Value, "[secret:"+secret.Name+"]")
	}
	for _, value := range hidden {
		pairs = appendForms(pairs, value, "[secret]")
	}
	if len(pairs) > 0 {
		pairs = longestFirst(pairs)
		s.hide = strings.NewReplacer(pairs...)
		for i := 0; i < len(pairs); i += 2 {
			s.forms = append(s.forms, pairs[i])
		}
	}
	return s, nil
}

// appendForms adds the forms in which a value may appear in a text, each with its replacement.
func appendForms(pairs []string, value, shown string) []string {
	if len(value) < SecretLengthMin {
		return pairs
	}
	quoted, _ := json.Marshal(value) // encoding a string can't fail
	raw := []byte(value)
	for _, form := range []string{
		value, string(quoted[1 : len(quoted)-1]), url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString(raw),
		base64.StdEncoding.EncodeToString(raw), base64.RawStdEncoding.EncodeToString(raw), base64.URLEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw),
	} {
		pairs = append(pairs, form, shown)
	}
	for _, form := range within64(raw) {
		pairs = append(pairs, form, shown)
	}
	return pairs
}

// within64 are the forms of a value in the base64 of a longer text, such as a header with a name and a password: the
// part that does not depend on the surrounding text, for each alignment.
func within64(value []byte) (forms []string) {
	for before := range 3 { // bytes before the value in the first group
		whole := append(make([]byte, before), value...)
		whole = whole[:len(whole)/3*3]
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			text := encoding.EncodeToString(whole)
			if before > 0 {
				text = text[before+1:]
			}
			if len(text) >= SecretLengthMin {
				forms = append(forms, text)
			}
		}
	}
	return forms
}

// longestFirst orders pairs so that a value that starts like another one is found as a whole.
func longestFirst(pairs []string) []string {
	two := slices.Collect(slices.Chunk(pairs, 2))
	slices.SortStableFunc(two, func(a, b []string) int { return len(b[0]) - len(a[0]) })
	return slices.Concat(two...)
}

// Redact removes known secrets from a text.
func (s *Secrets) Redact(text string) string {
	if s == nil || s.hide == nil {
		return text
	}
	return s.hide.Replace(text)
}

// shows reports whether a text has a known secret in it, or, where it is still being written, may end within one.
func (s *Secrets) shows(text string, partial bool) bool {
	if s == nil || s.hide == nil {
		return false
	}
	return s.changes(text) || partial && slices.ContainsFunc(s.forms, func(form string) bool { return endsWithin(text, form) })
}

// changes reports whether Redact changes a text. It copies nothing, because the gate asks it about every text.
func (s *Secrets) changes(text string) bool {
	c := comparison{rest: text}
	_, _ = s.hide.WriteString(&c, text) // never fails
	return c.differs || c.rest != ""
}

// comparison compares what is written to it with a text.
type comparison struct {
	rest    string // of the text
	differs bool
}

var _ io.StringWriter = (*comparison)(nil)

// Write implements [io.Writer].
func (c *comparison) Write(p []byte) (int, error) { return c.WriteString(string(p)) }

// WriteString implements [io.StringWriter].
func (c *comparison) WriteString(s string) (int, error) {
	rest, same := strings.CutPrefix(c.rest, s)
	c.rest, c.differs = rest, c.differs || !same
	return len(s), nil
}

// hideIn redacts known secrets in a text, whatever else was decided about it.
func (d *Decision) hideIn(s *Secrets, text string, partial bool) {
	if d.Action == Block || !s.shows(text, partial) {
		return
	}
	d.hide, d.takes = s, true
	d.Add(RuleSecret, Redact, "known secrets are redacted")
}

// endsWithin reports whether a text ends with the beginning of a secret's form.
func endsWithin(text, form string) bool {
	for n := min(len(form)-1, len(text)); n >= SecretLengthMin; n-- {
		if strings.HasSuffix(text, form[:n]) {
			return true
		}
	}
	return false
}

// named are the secrets that a call's arguments name, each once.
func (s *Secrets) named(args json.RawMessage) []string {
	if s == nil || !bytes.Contains(args, []byte("secret:")) {
		return nil
	}
	var names []string
	_, _ = mapStrings(args, func(text string) string { // text that is not JSON names nothing, and its tool refuses it
		for _, found := range secretRef.Regexp().FindAllStringSubmatch(text, -1) {
			if !slices.Contains(names, found[1]) {
				names = append(names, found[1])
			}
		}
		return text
	})
	return names
}

// resolved are arguments with the secrets that they name.
func (s *Secrets) resolved(args json.RawMessage, names []string) (json.RawMessage, error) {
	if len(names) == 0 {
		return args, nil
	}
	return mapStrings(args, func(text string) string {
		return secretRef.Regexp().ReplaceAllStringFunc(text, func(ref string) string {
			return s.byName[secretRef.Regexp().FindStringSubmatch(ref)[1]].Value
		})
	})
}

// secret decides whether a call may use a secret. A secret that is not for the tool and one that does not exist give
// the same error.
func (m *Monitor) secret(c *Call, in *Input, d *Decision, name string, effects bool) {
	if CheckSecret.skipped() {
		return
	}
	secret, known := m.secrets.byName[name]
	f := c.Tool.Flow
	why := ""
	switch {
	case !known:
		why = "no secret has this name"
	case !NameMatches(secret.Tools, c.Tool.Spec.Name):
		why = "its list of tools does not name this one"
	case !flow.CanFlow(secret.Level, c.Record.Clearance):
		why = "it is above the session's clearance"
	case f.Writes != sessions.FlowOutside:
		why = "the tool stores what it gets at the level of the session, which may be below the secret's"
	case !flow.CanFlow(secret.Level, f.Sink):
		why = "it is above the level of the tool"
	}
	detail := name
	if why != "" {
		detail += ": " + why
	}
	d.addCheck(RuleSecret, why != "", Block, detail)
	if why != "" {
		d.tighten(Block, fmt.Sprintf("there is no secret %q for %s", name, c.Tool.Spec.Name))
		return
	}
	in.Secret = SecretInput{Name: name, Level: secret.Level.Rank()}
	m.askRules(CheckRules, in, d, effects)
}

// HideSecrets removes the reasons why secrets are withheld, because they would reveal that a secret exists.
func (d *Decision) HideSecrets() {
	d.Rules = slices.Clone(d.Rules)
	for i, r := range d.Rules {
		if r.Rule == RuleSecret {
			d.Rules[i].Detail, _, _ = strings.Cut(r.Detail, ":")
		}
	}
}
