package node

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"sluice/internal/node/protocol"
)

const (
	answerMax   = 64 << 10 // bytes
	pairTimeout = 30 * time.Second
)

// Paired is the gateway's answer to a request to become a node.
type Paired struct {
	Node    string    `json:"node"`
	Code    string    `json:"code"`
	Expires time.Time `json:"expires"`
}

// Pair asks a gateway to make this machine a node, and stores the node's token in a folder. The gateway gets only a hash
// of the token.
func Pair(ctx context.Context, dir, gateway, name string) (Paired, error) {
	base, err := address(gateway)
	if err != nil {
		return Paired{}, err
	}
	token := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(token))
	ctx, cancel := context.WithTimeout(ctx, pairTimeout)
	defer cancel()
	p, err := ask(ctx, base.JoinPath(protocol.PairPath), map[string]string{"name": name, "platform": runtime.GOOS, "tokenHash": hex.EncodeToString(sum[:])})
	if err != nil {
		return p, err
	}
	_, err = Create(dir, State{Gateway: base.String(), ID: p.Node, Name: name, Token: token})
	return p, err
}

// address reads a gateway's address.
func address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("%q is not the address of a gateway: want http://HOST:PORT or https://HOST", text)
	}
	return u, nil
}

func ask(ctx context.Context, to *url.URL, body any) (Paired, error) {
	var p Paired
	text, err := json.Marshal(body)
	if err != nil {
		return p, fmt.Errorf("encode request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(text))
	if err != nil {
		return p, fmt.Errorf("make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return p, fmt.Errorf("ask the gateway: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err != nil {
		return p, fmt.Errorf("read the gateway's answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return p, fmt.Errorf("the gateway refused: %s", refusal(resp.Status, answer).Message)
	}
	if err := json.Unmarshal(answer, &p); err != nil || p.Node == "" {
		return p, fmt.Errorf("this is not the answer of a gateway; check the address")
	}
	return p, nil
}

// refused is a gateway's answer that is an error.
type refused struct {
	Code    string `json:"error"`
	Message string `json:"message"`
}

func refusal(status string, answer []byte) refused {
	var r refused
	if json.Unmarshal(answer, &r) != nil || r.Message == "" {
		r.Message = status
	}
	r.Message = strings.ToValidUTF8(r.Message, "?")
	return r
}
