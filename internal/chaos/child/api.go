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
	ID     string `json:"id"`
	Status string `json:"status"`
	Text   string `json:"text"`
	Error  string `json:"error"`
}

// Deliveries lists all deliveries of a status, over all pages.
func (p *Process) Deliveries(ctx context.Context, status string) ([]Row, error) {
	return p.list(ctx, "/v1/deliveries", status)
}

func (p *Process) list(ctx context.Context, path, status string) ([]Row, error) {
	var rows []Row
	for after := ""; ; {
		query := url.Values{"status": {status}, "limit": {strconv.Itoa(pageSize)}}
		if after != "" {
			query.Set("after", after)
		}
		page, err := p.page(ctx, path+"?"+query.Encode())
		if err != nil {
			return nil, fmt.Errorf("list %s %s: %w", status, path, err)
		}
		rows = append(rows, page...)
		if len(page) < pageSize {
			return rows, nil
		}
		after = page[len(page)-1].ID
	}
}

func (p *Process) page(ctx context.Context, path string) ([]Row, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.config.Listen+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+APIToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the gateway answered %s", resp.Status)
	}
	var page []Row
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	return page, nil
}
