package app

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sluice/internal/config"
	"sluice/internal/config/access"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
)

// tokenFile is the file for a token that the configuration does not set.
const tokenFile = "token"

// apiToken returns the token of the HTTP API: the configured one, or one that is generated once and stored.
func apiToken(c *config.Config) (string, error) {
	if t := c.Gateway.Token.Reveal(); t != "" {
		return t, nil
	}
	path := filepath.Join(c.State, tokenFile)
	raw, err := os.ReadFile(path)
	if token := strings.TrimSpace(string(raw)); err == nil && token != "" {
		return token, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read token: %w", err)
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails, see crypto/rand
	token := base64.RawURLEncoding.EncodeToString(secret)
	if err := writeSecret(path, token+"\n"); err != nil {
		return "", fmt.Errorf("store token: %w", err)
	}
	return token, nil
}

// accessOf says who may call the HTTP API, and by which names. token is the gateway's own.
func accessOf(c *config.Config, token string) (httpapi.Access, error) {
	names, err := hosts(c.Gateway)
	if err != nil {
		return httpapi.Access{}, err
	}
	tokens, err := credentials(c.Gateway, token)
	return httpapi.Access{Tokens: tokens, Proxy: trustedProxy(c.Gateway.Proxy), Hosts: names}, err
}

// credentials returns all tokens of the HTTP API.
func credentials(g config.Gateway, token string) ([]auth.Credential, error) {
	all := []auth.Credential{{Token: token, Level: g.Classification, Role: auth.RoleOwner}}
	for i, t := range g.Tokens {
		if t.Token.Reveal() == token { // not a configured one
			return nil, fmt.Errorf("gateway.tokens[%d].token is the same as in the file %s; choose another one", i, tokenFile)
		}
		all = append(all, auth.Credential{Name: t.Name, Token: t.Token.Reveal(), Level: t.Classification, Role: auth.ParseRole(t.Role)})
	}
	return all, nil
}

// trustedProxy says which proxies may name the people who call.
func trustedProxy(p access.Proxy) auth.Proxy {
	trusted := auth.Proxy{From: p.Prefixes(), Header: p.Header, SignOut: p.SignOut}
	for _, person := range p.People {
		level := person.Classification
		if !level.Valid() {
			level = flow.Public
		}
		trusted.People = append(trusted.People, auth.Person{User: person.User, Level: level, Role: auth.ParseRole(cmp.Or(person.Role, string(auth.RoleViewer)))})
	}
	return trusted
}

// writeSecret writes a file that only its owner can read, completely or not at all.
func writeSecret(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".token-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
