package view

import (
	"cmp"
	"context"
	"math"

	"sluice/internal/httpapi/auth"
	"sluice/policy"
	"sluice/router/ledger"
)

// PageBytes bounds the rows of one page of a list; the row that reaches it is the last. It is also what a slow reader
// keeps in memory.
const PageBytes = 1 << 20

// Page is an answer with a page of a list. Link says where the list goes on.
type Page[T any] struct {
	Link string `header:"Link" doc:"the next page, as <path?query>; rel=\"next\"; absent on the last page"`
	Body T
}

// NewPage is the answer with a page whose list goes on at link; empty: nowhere.
func NewPage[T any](link string, v T) *Page[T] { return &Page[T]{link, v} }

// PageQuery is which part of a list is wanted.
type PageQuery struct {
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	After string `query:"after" doc:"id of the last row of the previous page"`
}

// NewBound bounds the bytes of one page.
func NewBound() *ledger.Bound {
	if policy.CheckSize.Skipped() {
		return &ledger.Bound{Bytes: math.MaxInt32}
	}
	return &ledger.Bound{Bytes: PageBytes}
}

// NextLink is the Link to the page after a row; empty on the last page.
func NextLink(ctx context.Context, b *ledger.Bound, last string) string {
	last = cmp.Or(b.Next, last)
	r := auth.RequestOf(ctx).HTTP
	if !b.More || last == "" || r == nil {
		return ""
	}
	to := *r.URL
	query := to.Query()
	query.Set("after", last)
	to.RawQuery = query.Encode()
	return "<" + to.RequestURI() + `>; rel="next"`
}

// LastID is the id of a page's last row; empty for a page without rows.
func LastID[T any](rows []T, id func(T) string) string {
	if len(rows) == 0 {
		return ""
	}
	return id(rows[len(rows)-1])
}

// NotNil is a list that JSON shows as [] and not as null.
func NotNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
