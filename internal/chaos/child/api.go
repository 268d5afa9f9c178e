package child

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

const pageSize = 200

// Row has the fields of a delivery or run that the tests use.
type Row struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Deliveries lists all deliveries of a status, over all pages.
func (p *Process) Deliveries(ctx context.Context, status string) ([]Row, error) {
	return p.list(ctx, "deliveries", status)
}

// Runs lists all runs of a status, over all pages.
func (p *Process) Runs(ctx context.Context, status string) ([]Row, error) {
	return p.list(ctx, "runs", status)
}

func (p *Process) list(ctx context.Context, what, status string) ([]Row, error) {
	var rows []Row
	for after := ""; ; {
		query := url.Values{"status": {status}, "limit": {strconv.Itoa(pageSize)}}
		if after != "" {
			query.Set("after", after)
		}
		page, err := p.page(ctx, what, query)
		if err != nil {
			return nil, fmt.Errorf("list %s %s: %w", status, what, err)
		}
		rows = append(rows, page...)
		if len(page) < pageSize {
			return rows, nil
		}
		after = page[len(page)-1].ID
	}
}

// DeliveryCounts returns the number of deliveries per status, except sent and discarded, all at one moment: between
// two lists a delivery can change its status.
func (p *Process) DeliveryCounts(ctx context.Context) (map[string]int, error) {
	page, err := p.get(ctx, "deliveries", url.Values{"limit": {"1"}})
	if err != nil {
		return nil, fmt.Errorf("count deliveries: %w", err)
	}
	counts := map[string]int{}
	if err := json.Unmarshal(page["counts"], &counts); err != nil {
		return nil, fmt.Errorf("count deliveries: %w", err)
	}
	return counts, nil
}

func (p *Process) page(ctx context.Context, what string, query url.Values) ([]Row, error) {
	page, err := p.get(ctx, what, query)
	if err != nil {
		return nil, err
	}
	var rows []Row
	if err := json.Unmarshal(page[what], &rows); err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	return rows, nil
}

func (p *Process) get(ctx context.Context, what string, query url.Values) (map[string]json.RawMessage, error) {
	body, err := p.Get(ctx, "/v1/"+what, query)
	if err != nil {
		return nil, err
	}
	var page map[string]json.RawMessage
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	return page, nil
}

// Get returns the body of a successful answer.
func (p *Process) Get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	return p.GetAs(ctx, APIToken, path, query)
}

// GetAs is Get for the bearer of a token.
func (p *Process) GetAs(ctx context.Context, token, path string, query url.Values) ([]byte, error) {
	resp, err := p.send(ctx, token, http.MethodGet, path, query)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the gateway answered %s: %.200s", resp.Status, body)
	}
	return body, nil
}

// ask sends a GET request to the gateway. The caller closes the body.
func (p *Process) ask(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	return p.send(ctx, APIToken, http.MethodGet, path, query)
}

// send sends a request without a body. The caller closes the response's body.
func (p *Process) send(ctx context.Context, token, method, path string, query url.Values) (*http.Response, error) {
	address := url.URL{Scheme: "http", Host: p.config.Listen, Path: path, RawQuery: query.Encode()}
	r, err := http.NewRequestWithContext(ctx, method, address.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultClient.Do(r)
}

// Report reports alerts, written as for Alertmanager's API.
func (p *Process) Report(ctx context.Context, alerts string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.config.Listen+"/api/v2/alerts", strings.NewReader(alerts))
	if err != nil {
		return fmt.Errorf("report alerts: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+APIToken)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("report alerts: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("report alerts: %s: %s", resp.Status, text)
	}
	return err
}

// Said is one message of a session's history.
type Said struct {
	Role  string `json:"role"`
	Text  string `json:"text"`
	Parts []struct {
		Text string `json:"text"`
	} `json:"parts"` // results of tools, too
}

// History returns the messages of a session, oldest first.
func (p *Process) History(ctx context.Context, key string) ([]Said, error) {
	page, err := p.get(ctx, "sessions/"+url.PathEscape(key)+"/history", url.Values{"limit": {strconv.Itoa(pageSize)}})
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var said []Said
	if err := json.Unmarshal(page["messages"], &said); err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return said, nil
}

// Approval is a tool call or message that needs or needed a decision.
type Approval struct {
	ID       string          `json:"id"`
	Args     json.RawMessage `json:"args"`
	Delivery string          `json:"delivery"` // the held message; empty for a call
	Status   string          `json:"status"`
	Reason   string          `json:"reason"`
}

// Approvals lists the newest approvals of a status, or of all, at most 200.
func (p *Process) Approvals(ctx context.Context, status string) ([]Approval, error) {
	return rowsOf[Approval](ctx, p, "approvals", url.Values{"status": {status}})
}

// Memory is a memory of an agent.
type Memory struct {
	Key     string `json:"key"`
	Content string `json:"content"`
}

// Memories lists the memories, at most 200.
func (p *Process) Memories(ctx context.Context) ([]Memory, error) {
	return rowsOf[Memory](ctx, p, "memory", url.Values{})
}

// Entry is an entry of the audit trail.
type Entry struct {
	Action string `json:"action"`
	Object string `json:"object"`
}

// Audited lists the newest entries of an action, at most 200.
func (p *Process) Audited(ctx context.Context, action string) ([]Entry, error) {
	return rowsOf[Entry](ctx, p, "audit", url.Values{"action": {action}})
}

// rowsOf reads one page of a list.
func rowsOf[T any](ctx context.Context, p *Process, what string, query url.Values) ([]T, error) {
	query.Set("limit", strconv.Itoa(pageSize))
	page, err := p.get(ctx, what, query)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", what, err)
	}
	name := map[string]string{"memory": "memories", "audit": "entries"}[what]
	if name == "" {
		name = what
	}
	var rows []T
	if err := json.Unmarshal(page[name], &rows); err != nil {
		return nil, fmt.Errorf("list %s: %w", what, err)
	}
	return rows, nil
}

// Decide allows or denies the approval with an id. It reports whether the gateway has accepted the decision; after an
// error that is unknown.
func (p *Process) Decide(ctx context.Context, id string, yes bool) (taken bool, err error) {
	word := "deny"
	if yes {
		word = "allow"
	}
	resp, err := p.send(ctx, APIToken, http.MethodPost, "/v1/approvals/"+url.PathEscape(id)+"/"+word, nil)
	if err != nil {
		return false, fmt.Errorf("decide %s: %w", id, err)
	}
	return resp.StatusCode == http.StatusOK, resp.Body.Close()
}

// Command runs the gateway's own command line against this process.
func (p *Process) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.cmd.Path, args...)
	cmd.Env = append(os.Environ(), "SLUICE_URL=http://"+p.config.Listen, "SLUICE_TOKEN="+APIToken)
	return cmd
}
