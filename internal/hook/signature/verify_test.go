package signature_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/hook/signature"
)

const (
	secret = "a secret of 24 characters"
	body   = `{"action":"completed"}`
)

var now = time.Unix(1731705121, 0)

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func sum(key, text string) []byte {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text))
	return m.Sum(nil)
}

func digits(key, text string) string { return hex.EncodeToString(sum(key, text)) }

func at(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// The published examples of Standard Webhooks (its libraries' and Svix's documentation), and that of GitHub's documentation.
func TestPublishedVectors(t *testing.T) {
	t.Parallel()
	for scheme, prefix := range map[signature.Scheme]string{signature.Standard: "webhook-", signature.Svix: "svix-"} {
		for _, c := range []struct{ secret, id, at, text, signature string }{
			{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", `{"test": 2432232314}`, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
			{"whsec_plJ3nmyCDGBKInavdOK15jsl", "msg_loFOjxBNrRLzqYUf", "1731705121", `{"event_type":"ping","data":{"success":true}}`, "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="},
		} {
			v := verifier(t, scheme, c.secret)
			seconds, err := strconv.ParseInt(c.at, 10, 64)
			require.NoError(t, err)
			h := headers(prefix+"id", c.id, prefix+"timestamp", c.at, prefix+"signature", c.signature)
			require.NoError(t, v.Verify(h, []byte(c.text), time.Unix(seconds, 0)))
			require.NoError(t, v.Verify(h, []byte(c.text), time.Unix(seconds+300, 0)))
			require.ErrorIs(t, v.Verify(h, []byte(c.text), time.Unix(seconds+301, 0)), signature.ErrExpired)
			require.ErrorIs(t, v.Verify(h, []byte(c.text), time.Unix(seconds-301, 0)), signature.ErrExpired)
			require.ErrorIs(t, v.Verify(h, []byte(c.text+" "), time.Unix(seconds, 0)), signature.ErrMismatch)
			h.Set(prefix+"id", c.id+"x")
			require.ErrorIs(t, v.Verify(h, []byte(c.text), time.Unix(seconds, 0)), signature.ErrMismatch)
		}
	}
	v := verifier(t, signature.GitHub, "It's a Secret to Everybody")
	h := headers("X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
	require.NoError(t, v.Verify(h, []byte("Hello, World!"), now))
	require.ErrorIs(t, v.Verify(h, []byte("Hello, World?"), now), signature.ErrMismatch)
}

func verifier(t *testing.T, scheme signature.Scheme, secrets ...string) *signature.Verifier {
	t.Helper()
	v, err := signature.New(scheme, secrets)
	require.NoError(t, err)
	require.Equal(t, scheme, v.Scheme())
	return v
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func whsec(key string) string { return "whsec_" + b64([]byte(key)) }

// Each scheme accepts what its sender makes with any of the secrets, and nothing else.
func TestSchemes(t *testing.T) {
	t.Parallel()
	const other = "another one, just as long"
	basic := func(user, password string) string { return "Basic " + b64([]byte(user+":"+password)) }
	stripe := func(key string, signed time.Time) string {
		return "t=" + at(signed) + ",v0=00,v1=" + digits(key, at(signed)+"."+body)
	}
	for name, c := range map[string]struct {
		scheme  signature.Scheme
		secrets []string
		h       http.Header
		want    error // nil: accepted
	}{
		"github":                   {signature.GitHub, []string{secret}, headers("X-Hub-Signature-256", "sha256="+digits(secret, body)), nil},
		"github, the older secret": {signature.GitHub, []string{other, secret}, headers("X-Hub-Signature-256", "sha256="+digits(secret, body)), nil},
		"github, another secret":   {signature.GitHub, []string{secret}, headers("X-Hub-Signature-256", "sha256="+digits(other, body)), signature.ErrMismatch},
		"github, SHA-1":            {signature.GitHub, []string{secret}, headers("X-Hub-Signature", "sha1=00"), signature.ErrMissing},
		"github, no digits":        {signature.GitHub, []string{secret}, headers("X-Hub-Signature-256", "sha256=zz"), signature.ErrMalformed},
		"github, cut":              {signature.GitHub, []string{secret}, headers("X-Hub-Signature-256", "sha256="+digits(secret, body)[:20]), signature.ErrMalformed},
		"github, two headers":      {signature.GitHub, []string{secret}, headers("X-Hub-Signature-256", "sha256="+digits(other, body), "X-Hub-Signature-256", "sha256="+digits(secret, body)), signature.ErrMalformed},
		"sentry":                   {signature.Sentry, []string{secret}, headers("Sentry-Hook-Signature", digits(secret, body)), nil},
		"sentry, empty":            {signature.Sentry, []string{secret}, headers("Sentry-Hook-Signature", ""), signature.ErrMissing},
		"grafana":                  {signature.Grafana, []string{secret}, headers("X-Grafana-Alerting-Signature", digits(secret, body)), nil},
		"grafana, of another body": {signature.Grafana, []string{secret}, headers("X-Grafana-Alerting-Signature", digits(secret, body+" ")), signature.ErrMismatch},
		"gitlab":                   {signature.GitLab, []string{secret}, headers("X-Gitlab-Token", secret), nil},
		"gitlab, a prefix":         {signature.GitLab, []string{secret}, headers("X-Gitlab-Token", secret[:23]), signature.ErrMismatch},
		"gitlab, none":             {signature.GitLab, []string{secret}, headers(), signature.ErrMissing},
		"slack":                    {signature.Slack, []string{secret}, headers("X-Slack-Request-Timestamp", at(now), "X-Slack-Signature", "v0="+digits(secret, "v0:"+at(now)+":"+body)), nil},
		"slack, old":               {signature.Slack, []string{secret}, headers("X-Slack-Request-Timestamp", at(now.Add(-301*time.Second)), "X-Slack-Signature", "v0="+digits(secret, "v0:"+at(now.Add(-301*time.Second))+":"+body)), signature.ErrExpired},
		"slack, another time":      {signature.Slack, []string{secret}, headers("X-Slack-Request-Timestamp", at(now.Add(time.Second)), "X-Slack-Signature", "v0="+digits(secret, "v0:"+at(now)+":"+body)), signature.ErrMismatch},
		"slack, no time":           {signature.Slack, []string{secret}, headers("X-Slack-Signature", "v0="+digits(secret, "v0::"+body)), signature.ErrMissing},
		"slack, time with a sign":  {signature.Slack, []string{secret}, headers("X-Slack-Request-Timestamp", "+"+at(now), "X-Slack-Signature", "v0="+digits(secret, "v0:+"+at(now)+":"+body)), signature.ErrMalformed},
		"stripe":                   {signature.Stripe, []string{secret}, headers("Stripe-Signature", stripe(secret, now)), nil},
		"stripe, two signatures":   {signature.Stripe, []string{secret}, headers("Stripe-Signature", "t="+at(now)+",v1="+digits(other, at(now)+"."+body)+",v1="+digits(secret, at(now)+"."+body)), nil},
		"stripe, old":              {signature.Stripe, []string{secret}, headers("Stripe-Signature", stripe(secret, now.Add(-301*time.Second))), signature.ErrExpired},
		"stripe, future":           {signature.Stripe, []string{secret}, headers("Stripe-Signature", stripe(secret, now.Add(301*time.Second))), signature.ErrExpired},
		"stripe, two times":        {signature.Stripe, []string{secret}, headers("Stripe-Signature", stripe(secret, now)+",t="+at(now)), signature.ErrMalformed},
		"stripe, only v0":          {signature.Stripe, []string{secret}, headers("Stripe-Signature", "t="+at(now)+",v0="+digits(secret, at(now)+"."+body)), signature.ErrMalformed},
		"stripe, another secret":   {signature.Stripe, []string{secret}, headers("Stripe-Signature", stripe(other, now)), signature.ErrMismatch},
		"bearer":                   {signature.Bearer, []string{secret}, headers("Authorization", "bearer "+secret), nil},
		"bearer, wrong":            {signature.Bearer, []string{secret}, headers("Authorization", "Bearer "+other), signature.ErrMismatch},
		"bearer, other scheme":     {signature.Bearer, []string{secret}, headers("Authorization", "Basic "+secret), signature.ErrMalformed},
		"bearer, empty":            {signature.Bearer, []string{secret}, headers("Authorization", "Bearer "), signature.ErrMalformed},
		"basic":                    {signature.Basic, []string{"am:" + secret}, headers("Authorization", basic("am", secret)), nil},
		"basic, wrong user":        {signature.Basic, []string{"am:" + secret}, headers("Authorization", basic("ma", secret)), signature.ErrMismatch},
		"basic, no base64":         {signature.Basic, []string{"am:" + secret}, headers("Authorization", "Basic !"), signature.ErrMalformed},
	} {
		err := verifier(t, c.scheme, c.secrets...).Verify(c.h, []byte(body), now)
		if c.want == nil {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, c.want, name)
		require.NotContains(t, err.Error(), secret, name)
	}
}

// A request of Standard Webhooks may carry several signatures, of several secrets and both kinds of key.
func TestStandardRotation(t *testing.T) {
	t.Parallel()
	private := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	public := "whpk_" + b64(private.Public().(ed25519.PublicKey))
	text := "msg_1." + at(now) + "." + body
	symmetric, asymmetric := "v1,"+b64(sum(secret, text)), "v1a,"+b64(ed25519.Sign(private, []byte(text)))
	check := func(given string, secrets ...string) error {
		h := headers("webhook-id", "msg_1", "webhook-timestamp", at(now), "webhook-signature", given)
		return verifier(t, signature.Standard, secrets...).Verify(h, []byte(body), now)
	}
	require.NoError(t, check(symmetric, whsec(secret)))
	require.NoError(t, check(asymmetric, public))
	require.NoError(t, check("v9,?? "+symmetric+" "+asymmetric, public))
	require.NoError(t, check(asymmetric, whsec(secret), public))
	require.ErrorIs(t, check(symmetric, public), signature.ErrMismatch)
	require.ErrorIs(t, check(asymmetric, whsec(secret)), signature.ErrMismatch)
	require.ErrorIs(t, check("v1,"+strings.TrimPrefix(asymmetric, "v1a,"), public), signature.ErrMismatch)
	require.ErrorIs(t, check("v1", whsec(secret)), signature.ErrMismatch)
	require.ErrorIs(t, check("v2,"+strings.TrimPrefix(symmetric, "v1,"), whsec(secret)), signature.ErrMalformed)
	key := b64(private.Public().(ed25519.PublicKey))
	require.ErrorIs(t, check("v1,"+b64(sum(string(private.Public().(ed25519.PublicKey)), text)), "whpk_"+key), signature.ErrMismatch, "a public key is no key for HMAC")
}

func TestSecretsAreChecked(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		scheme signature.Scheme
		want   string
	}{
		"whsec_":                       {signature.Standard, "has a key of 0 bytes"},
		whsec("fifteen bytes !"):       {signature.Standard, "has a key of 15 bytes: want 16 to 64"},
		whsec(strings.Repeat("x", 65)): {signature.Svix, "has a key of 65 bytes"},
		"whsec_***":                    {signature.Standard, "want whsec_ and a key in base64"},
		"whpk_" + b64([]byte("short")): {signature.Standard, "public key of 32 bytes"},
		"just a long text, not a key":  {signature.Standard, "want whsec_ or whpk_"},
		"fifteen bytes !":              {signature.GitHub, "is too short: want at least 16"},
		"without a colon, but long":    {signature.Basic, "want user:password"},
		"user:short":                   {signature.Basic, "its password is too short"},
		":password without a user":     {signature.Basic, "want user:password"},
	} {
		_, err := signature.New(c.scheme, []string{whsecOr(c.scheme), text})
		var fault *signature.SecretError
		require.ErrorAs(t, err, &fault, text)
		require.Equal(t, 1, fault.Index)
		require.Contains(t, fault.Error(), c.want)
	}
	_, err := signature.New(signature.GitHub, nil)
	require.ErrorContains(t, err, "needs a secret")
	_, err = signature.New("sha1", []string{secret})
	require.ErrorContains(t, err, `"sha1" is unknown`)
}

// whsecOr is a good secret of a scheme.
func whsecOr(s signature.Scheme) string {
	switch s {
	case signature.Standard, signature.Svix:
		return whsec(secret)
	case signature.Basic:
		return "user:" + secret
	}
	return secret
}

// No header of the proofs is shown to anybody.
func TestProofs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Authorization", "x-gitlab-token", "Stripe-Signature", "WEBHOOK-SIGNATURE", "Cookie"} {
		require.True(t, signature.Proof(name), name)
	}
	require.False(t, signature.Proof("X-GitHub-Event"))
	for _, s := range signature.Schemes() {
		require.Equal(t, s == signature.GitHub || s == signature.Sentry || s == signature.Grafana, s.BodyOnly(), s)
	}
}

// Nothing but the right signature is accepted, and no header makes a verifier panic.
func FuzzMalformedHeaders(f *testing.F) {
	f.Add("v1,AAAA", "1731705121", "msg")
	f.Add("t=1731705121,v1=00,v1=", "-1", "")
	f.Add("sha256=", "99999999999999999999", "a.b")
	f.Add("Basic Og==", "1e9", " ")
	f.Add("v1a, v1, ,", "0x10", "\x00")
	f.Fuzz(func(t *testing.T, given, stamp, id string) {
		for _, scheme := range signature.Schemes() {
			h := headers("webhook-id", id, "svix-id", id, "webhook-timestamp", stamp, "svix-timestamp", stamp, "X-Slack-Request-Timestamp", stamp,
				"webhook-signature", given, "svix-signature", given, "X-Hub-Signature-256", given, "X-Gitlab-Token", given, "X-Slack-Signature", given,
				"Stripe-Signature", given, "Sentry-Hook-Signature", given, "X-Grafana-Alerting-Signature", given, "Authorization", given)
			err := verifier(t, scheme, whsecOr(scheme)).Verify(h, []byte(body), now)
			require.Error(t, err, "%s accepted %q", scheme, given)
		}
	})
}
