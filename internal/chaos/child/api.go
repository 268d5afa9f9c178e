package child

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

const pageSize = 200

// Row is what the tests look at of a delivery or run.
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

// DeliveryCounts is how many deliveries there are of each status but sent and
// discarded, all at one moment: between two lists a delivery can change its status.
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
	resp, err := p.ask(ctx, "/v1/"+what, query)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the gateway answered %s", resp.Status)
	}
	var page map[string]json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	return page, nil
}

// ask sends one GET to the gateway. The caller closes the body.
func (p *Process) ask(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	address := url.URL{Scheme: "http", Host: p.config.Listen, Path: path, RawQuery: query.Encode()}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+apiToken)
	return http.DefaultClient.Do(r)
}

// Said is one message of a session's history.
type Said struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

// History is what was said in a session, oldest first.
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
