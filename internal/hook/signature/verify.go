package signature

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far the time of a signature may be from the present.
const Tolerance = 300 * time.Second

// Why a request is refused.
var (
	ErrMissing   = errors.New("is missing")
	ErrMalformed = errors.New("is malformed")
	ErrExpired   = fmt.Errorf("is more than %d seconds away from the present", Tolerance/time.Second)
	ErrMismatch  = errors.New("does not match")
)

// Verifier checks requests. It is safe for concurrent use.
type Verifier struct {
	scheme  Scheme
	secrets []secret
}

// Scheme is the verifier's scheme.
func (v *Verifier) Scheme() Scheme { return v.scheme }

// Verify checks the body of a request as it was received. The error names the header and wraps one of the errors above; it shows
// nothing of a secret.
func (v *Verifier) Verify(h http.Header, body []byte, now time.Time) error {
	switch v.scheme {
	case Standard:
		return v.standard(h, "Webhook-", body, now)
	case Svix:
		return v.standard(h, "Svix-", body, now)
	case GitHub:
		return v.hexHeader(h, "X-Hub-Signature-256", "sha256=", body)
	case Sentry:
		return v.hexHeader(h, "Sentry-Hook-Signature", "", body)
	case Grafana:
		return v.hexHeader(h, "X-Grafana-Alerting-Signature", "", body)
	case Slack:
		return v.slack(h, body, now)
	case Stripe:
		return v.stripe(h, body, now)
	case GitLab:
		token, err := one(h, "X-Gitlab-Token")
		if err != nil {
			return err
		}
		return v.token("X-Gitlab-Token", token)
	}
	return v.authorization(h)
}

// Names of the schemes' headers. They prove who sent a request, so nobody must see them later.
var proofs = []string{
	"Authorization", "Webhook-Signature", "Svix-Signature", "X-Hub-Signature", "X-Hub-Signature-256", "X-Gitlab-Token", "X-Slack-Signature",
	"Stripe-Signature", "Sentry-Hook-Signature", "X-Grafana-Alerting-Signature", "Cookie", "Proxy-Authorization",
}

// Proof reports whether a header, in its canonical form, carries a proof of some scheme or another secret.
func Proof(header string) bool {
	for _, name := range proofs {
		if strings.EqualFold(name, header) {
			return true
		}
	}
	return false
}

// one reads a header that a request has exactly once.
func one(h http.Header, name string) (string, error) {
	values := h.Values(name)
	switch {
	case len(values) == 0 || values[0] == "":
		return "", fmt.Errorf("header %s %w", name, ErrMissing)
	case len(values) > 1:
		return "", fmt.Errorf("header %s occurs %d times and %w", name, len(values), ErrMalformed)
	}
	return values[0], nil
}

// stamp checks a time in seconds since 1970. It is signed as it was written.
func stamp(name, text string, now time.Time) error {
	const digits = 12
	seconds, err := strconv.ParseUint(text, 10, 63)
	if err != nil || len(text) > digits {
		return fmt.Errorf("%s %w", name, ErrMalformed)
	}
	if away := now.Sub(time.Unix(int64(seconds), 0)); away > Tolerance || away < -Tolerance {
		return fmt.Errorf("%s %w", name, ErrExpired)
	}
	return nil
}

// idMax bounds the id of a request, in bytes.
const idMax = 256

// standard checks the headers of Standard Webhooks.
func (v *Verifier) standard(h http.Header, prefix string, body []byte, now time.Time) error {
	id, err := one(h, prefix+"Id")
	if err != nil {
		return err
	}
	if len(id) > idMax {
		return fmt.Errorf("header %sId %w", prefix, ErrMalformed)
	}
	at, err := one(h, prefix+"Timestamp")
	if err != nil {
		return err
	}
	if err := stamp("header "+prefix+"Timestamp", at, now); err != nil {
		return err
	}
	given, err := one(h, prefix+"Signature")
	if err != nil {
		return err
	}
	signed := append([]byte(id+"."+at+"."), body...)
	readable := false
	for part := range strings.SplitSeq(given, " ") {
		version, encoded, _ := strings.Cut(part, ",")
		signature, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || version != "v1" && version != "v1a" {
			continue // of a version that this program does not know
		}
		readable = true
		if v.signed(version == "v1a", signature, signed) {
			return nil
		}
	}
	if !readable {
		return fmt.Errorf("header %sSignature %w", prefix, ErrMalformed)
	}
	return fmt.Errorf("header %sSignature %w", prefix, ErrMismatch)
}

// signed reports whether one of the secrets has made a signature.
func (v *Verifier) signed(public bool, signature, text []byte) bool {
	found := false
	for _, s := range v.secrets {
		switch {
		case public && s.public != nil:
			found = ed25519.Verify(s.public, text, signature) || found
		case !public && s.public == nil:
			found = hmac.Equal(signature, mac(s.key, text)) || found
		}
	}
	return found
}

func mac(key []byte, parts ...[]byte) []byte {
	sum := hmac.New(sha256.New, key)
	for _, p := range parts {
		sum.Write(p)
	}
	return sum.Sum(nil)
}

// hexHeader checks a header with the signature of the body in hexadecimal digits.
func (v *Verifier) hexHeader(h http.Header, name, prefix string, body []byte) error {
	given, err := one(h, name)
	if err != nil {
		return err
	}
	return v.hexSignature("header "+name, given, prefix, body)
}

func (v *Verifier) hexSignature(name, given, prefix string, text []byte) error {
	digits, ok := strings.CutPrefix(given, prefix)
	signature, err := hex.DecodeString(digits)
	if !ok || err != nil || len(signature) != sha256.Size {
		return fmt.Errorf("%s %w", name, ErrMalformed)
	}
	if !v.signed(false, signature, text) {
		return fmt.Errorf("%s %w", name, ErrMismatch)
	}
	return nil
}

func (v *Verifier) slack(h http.Header, body []byte, now time.Time) error {
	const timeHeader, name = "X-Slack-Request-Timestamp", "X-Slack-Signature"
	at, err := one(h, timeHeader)
	if err != nil {
		return err
	}
	if err := stamp("header "+timeHeader, at, now); err != nil {
		return err
	}
	given, err := one(h, name)
	if err != nil {
		return err
	}
	return v.hexSignature("header "+name, given, "v0=", append([]byte("v0:"+at+":"), body...))
}

// stripe checks a header of the form t=<time>,v1=<signature>, with several signatures while a secret is replaced.
func (v *Verifier) stripe(h http.Header, body []byte, now time.Time) error {
	const name = "Stripe-Signature"
	given, err := one(h, name)
	if err != nil {
		return err
	}
	at, signatures := "", []string(nil)
	for part := range strings.SplitSeq(given, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch {
		case key == "t" && at != "":
			return fmt.Errorf("header %s %w", name, ErrMalformed)
		case key == "t":
			at = value
		case key == "v1":
			signatures = append(signatures, value)
		}
	}
	if len(signatures) == 0 {
		return fmt.Errorf("header %s %w", name, ErrMalformed)
	}
	if err := stamp("the time in header "+name, at, now); err != nil {
		return err
	}
	text := append([]byte(at+"."), body...)
	for _, s := range signatures {
		if err = v.hexSignature("header "+name, s, "", text); err == nil {
			return nil
		}
	}
	return err
}

// SignedTime is the time that the signature covers, as it was written, in the schemes that sign no id beside it; else it is empty.
func (v *Verifier) SignedTime(h http.Header) string {
	switch v.scheme {
	case Slack:
		return h.Get("X-Slack-Request-Timestamp")
	case Stripe:
		for part := range strings.SplitSeq(h.Get("Stripe-Signature"), ",") {
			if at, ok := strings.CutPrefix(part, "t="); ok {
				return at
			}
		}
	}
	return ""
}

// token compares a secret that the request carries.
func (v *Verifier) token(name, given string) error {
	if !v.Holds(given) {
		return fmt.Errorf("header %s %w", name, ErrMismatch)
	}
	return nil
}

// authorization checks a bearer token, or a user with a password.
func (v *Verifier) authorization(h http.Header) error {
	const name = "Authorization"
	given, err := one(h, name)
	if err != nil {
		return err
	}
	kind, credentials, _ := strings.Cut(given, " ")
	if !strings.EqualFold(kind, string(v.scheme)) || credentials == "" {
		return fmt.Errorf("header %s %w: want %s", name, ErrMalformed, v.scheme)
	}
	if v.scheme == Basic {
		plain, err := base64.StdEncoding.DecodeString(credentials)
		if err != nil {
			return fmt.Errorf("header %s %w", name, ErrMalformed)
		}
		credentials = string(plain)
	}
	return v.token(name, credentials)
}

// Holds reports whether a text is one of the secrets.
func (v *Verifier) Holds(text string) bool {
	sum := sha256.Sum256([]byte(text)) // a hash, so that the time does not tell the length
	found := 0
	for _, s := range v.secrets {
		want := sha256.Sum256(s.key)
		found |= subtle.ConstantTimeCompare(sum[:], want[:])
	}
	return found == 1 && text != ""
}
