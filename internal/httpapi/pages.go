package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"sluice/policy"
	"sluice/router/ledger"
	"sluice/sessions"
)

// pageBytes is how much of its rows one page of a list has; the row that reaches it is the last. So is what a reader who
// takes the page slowly keeps in memory.
const pageBytes = 1 << 20

// page is an answer with a page of a list. Whatever ends it, its limit or its bytes, Link says where it goes on.
type page[T any] struct {
	Link string `header:"Link" doc:"the next page, as <path?query>; rel=\"next\"; absent: this is the last"`
	Body T
}

// newBound bounds one look at a list.
func newBound() *ledger.Bound {
	if policy.CheckSize.Skipped() {
		return &ledger.Bound{Bytes: math.MaxInt32}
	}
	return &ledger.Bound{Bytes: pageBytes}
}

// next is the Link to the page after a row; empty on the last page.
func next(ctx context.Context, b *ledger.Bound, last string) string {
	r := requestOf(ctx).http
	if !b.More || last == "" || r == nil {
		return ""
	}
	to := *r.URL
	query := to.Query()
	query.Set("after", last)
	to.RawQuery = query.Encode()
	return "<" + to.RequestURI() + `>; rel="next"`
}

// lastOf is the id of a page's last row; empty where it has none.
func lastOf[T any](rows []T, id func(T) string) string {
	if len(rows) == 0 {
		return ""
	}
	return id(rows[len(rows)-1])
}

// metadataFits refuses metadata that is too large. What was stored before there was a bound stays readable.
func metadataFits(raw json.RawMessage) error {
	if len(raw) <= sessions.MetadataMost || policy.CheckSize.Skipped() {
		return nil
	}
	return &apiError{http.StatusRequestEntityTooLarge, codeOf(http.StatusRequestEntityTooLarge), fmt.Sprintf("metadata: is %d bytes long, the most is %d; keep what is larger in a file of the session", len(raw), sessions.MetadataMost)}
}

// jsonFormat writes a list element by element, so that it is never there a second time as a text.
func jsonFormat() huma.Format {
	format := huma.DefaultJSONFormat
	format.Marshal = func(w io.Writer, v any) error {
		list := reflect.ValueOf(v)
		if list.Kind() != reflect.Slice || list.Type().Elem().Kind() == reflect.Uint8 || list.Len() == 0 {
			return encodeValue(w, "", v, "\n")
		}
		before := "["
		for i := range list.Len() {
			if err := encodeValue(w, before, list.Index(i).Interface(), ""); err != nil {
				return err
			}
			before = ","
		}
		_, _ = io.WriteString(w, "]\n") // the caller has gone
		return nil
	}
	return format
}

// encodeValue writes one value between two texts. An error is the value's: who does not take it has gone.
func encodeValue(w io.Writer, before string, v any, behind string) error {
	var b bytes.Buffer
	b.WriteString(before)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	b.Truncate(b.Len() - 1) // the encoder's line break
	b.WriteString(behind)
	_, _ = w.Write(b.Bytes()) // the caller has gone
	return nil
}

// newest are the last messages of a transcript, up to a number and to a page's bytes; one in any case.
func newest(messages []messageRecord, most int) []messageRecord {
	first, size := len(messages), 0
	for first > 0 && len(messages)-first < most && size < pageBytes {
		first--
		size += 2 * len(messages[first].Text) // it stands in the parts too
		for _, p := range messages[first].Parts {
			size += len(p.Args)
			if p.Type != sessions.PartText {
				size += len(p.Text)
			}
		}
	}
	return messages[first:]
}
