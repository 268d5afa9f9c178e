package app

import (
	"io"
	"net/url"
	"sync/atomic"

	"sluice/internal/config"
	"sluice/policy"
)

// liveSecrets are the secrets of the current configuration.
type liveSecrets struct{ atomic.Pointer[policy.Secrets] }

// newSecrets collects the secrets that models know by name, and the values that must not be shown: every key and
// token of the configuration, and the gateway's own token.
func newSecrets(c *config.Config, token string) (*policy.Secrets, error) {
	var named []policy.Secret
	for name, s := range c.Vault {
		named = append(named, policy.Secret{Name: name, Value: s.Value.Reveal(), Level: s.Classification, Tools: s.Tools})
	}
	hidden := []string{token}
	for _, s := range c.Secrets() {
		hidden = append(hidden, secretPart(s.Reveal()))
	}
	return policy.NewSecrets(named, hidden)
}

// secretPart returns the part of a value that must not be shown: the password of a URL, or else the whole value.
func secretPart(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" {
		return value
	}
	password, _ := u.User.Password()
	return password
}

// cleanWriter removes known secrets from its output. A logger writes a whole line at a time.
type cleanWriter struct {
	to      io.Writer
	secrets *liveSecrets
}

// Write implements [io.Writer].
func (w cleanWriter) Write(line []byte) (int, error) {
	if _, err := io.WriteString(w.to, w.secrets.Load().Redact(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}
