package skill

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
)

// Key is a key whose signatures the configuration knows.
type Key struct {
	Name   string
	Public ed25519.PublicKey
	Trust  bool // what it has signed is trusted
}

// signed is what a signature covers: a signature of anything else with the same key does not count for a skill.
func signed(digest string) []byte { return []byte("sluice skill\n" + digest + "\n") }

// Sign makes the content of SKILL.sig.
func Sign(digest string, key ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(key, signed(digest)))
}

// signer finds the key that has signed a skill.
func (c Content) signer(keys []Key) (Key, bool) {
	signature, err := base64.StdEncoding.DecodeString(c.Signature)
	if err != nil || len(signature) != ed25519.SignatureSize {
		return Key{}, false
	}
	for _, k := range keys {
		if ed25519.Verify(k.Public, signed(c.Digest), signature) {
			return k, true
		}
	}
	return Key{}, false
}

// ParseKey reads a public key as "sluice skills keygen" prints it.
func ParseKey(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("want the %d bytes of an ed25519 public key in base64, as sluice skills keygen prints it", ed25519.PublicKeySize)
	}
	return key, nil
}
