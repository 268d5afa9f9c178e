package signature

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Scheme is a way in which senders prove who they are.
type Scheme string

// The schemes.
const (
	Standard Scheme = "standard" // Standard Webhooks: HMAC-SHA256 (whsec_) or ed25519 (whpk_)
	Svix     Scheme = "svix"     // the same with Svix's names of headers
	GitHub   Scheme = "github"   // X-Hub-Signature-256
	GitLab   Scheme = "gitlab"   // X-Gitlab-Token
	Slack    Scheme = "slack"    // X-Slack-Signature, version 0
	Stripe   Scheme = "stripe"   // Stripe-Signature
	Sentry   Scheme = "sentry"   // Sentry-Hook-Signature
	Grafana  Scheme = "grafana"  // X-Grafana-Alerting-Signature
	Bearer   Scheme = "bearer"   // Authorization: Bearer
	Basic    Scheme = "basic"    // Authorization: Basic
)

// Schemes lists all schemes.
func Schemes() []Scheme {
	return []Scheme{Standard, Svix, GitHub, GitLab, Slack, Stripe, Sentry, Grafana, Bearer, Basic}
}

// BodyOnly reports whether a signature of the scheme covers the body and nothing else. A request that somebody has recorded can then be
// sent again under another id, so its body alone must identify it.
func (s Scheme) BodyOnly() bool { return s == GitHub || s == Sentry || s == Grafana }

const (
	secretMin = 16 // characters of a secret or password
	keyMin    = 16 // bytes of a Standard Webhooks key; its specification recommends 24 to 64
	keyMax    = 64
	hmacKey   = "whsec_"
	publicKey = "whpk_"
)

// secret is one of a verifier's secrets.
type secret struct {
	key    []byte            // for HMAC, or the token itself
	public ed25519.PublicKey // instead of key, for signatures that only the sender can make
}

// SecretError is a secret that a scheme can't use.
type SecretError struct {
	Index int // in the list
	Text  string
}

func (e *SecretError) Error() string { return e.Text }

// New makes a verifier. A fault of a secret is a [*SecretError].
func New(scheme Scheme, secrets []string) (*Verifier, error) {
	if !slices.Contains(Schemes(), scheme) {
		return nil, fmt.Errorf("signature %q is unknown", scheme)
	}
	if len(secrets) == 0 {
		return nil, errors.New("needs a secret")
	}
	v := &Verifier{scheme: scheme}
	for i, text := range secrets {
		s, err := readSecret(scheme, text)
		if err != nil {
			return nil, &SecretError{i, err.Error()}
		}
		v.secrets = append(v.secrets, s)
	}
	return v, nil
}

func readSecret(scheme Scheme, text string) (secret, error) {
	switch scheme {
	case Standard, Svix:
		return readKey(text)
	case Basic:
		user, password, ok := strings.Cut(text, ":")
		if !ok || user == "" {
			return secret{}, errors.New("want user:password")
		}
		if len(password) < secretMin {
			return secret{}, fmt.Errorf("its password is too short: want at least %d characters", secretMin)
		}
	}
	if len(text) < secretMin {
		return secret{}, fmt.Errorf("is too short: want at least %d characters, for example from `openssl rand -hex 32`", secretMin)
	}
	return secret{key: []byte(text)}, nil
}

// readKey reads a key of Standard Webhooks.
func readKey(text string) (secret, error) {
	if encoded, ok := strings.CutPrefix(text, publicKey); ok {
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return secret{}, fmt.Errorf("want whpk_ and a public key of %d bytes in base64", ed25519.PublicKeySize)
		}
		return secret{public: key}, nil
	}
	encoded, ok := strings.CutPrefix(text, hmacKey)
	if !ok {
		return secret{}, errors.New("want whsec_ or whpk_ and a key in base64")
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return secret{}, errors.New("want whsec_ and a key in base64")
	}
	if len(key) < keyMin || len(key) > keyMax {
		return secret{}, fmt.Errorf("has a key of %d bytes: want %d to %d, for example whsec_ and the result of `openssl rand -base64 32`", len(key), keyMin, keyMax)
	}
	return secret{key: key}, nil
}
