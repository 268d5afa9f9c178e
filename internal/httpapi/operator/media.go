package operator

import (
	"context"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/adapters"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// buttonJSON is a button below a message.
type buttonJSON struct {
	Label string `json:"label" minLength:"1" maxLength:"40"`
	Value string `json:"value" minLength:"1" doc:"what pressing it says, at most 60 bytes"`
}

// fileJSON is a file of a message.
type fileJSON struct {
	Name string `json:"name" minLength:"1" maxLength:"255" example:"report.pdf"`
	MIME string `json:"mime,omitempty" example:"application/pdf" doc:"default: application/octet-stream"`
	Data []byte `json:"data" doc:"the content in base64, at most limits.maxMediaBytes; all files of a message at most twice that"`
}

func buttonsOf(in []buttonJSON) []adapters.Button {
	out := make([]adapters.Button, len(in))
	for i, b := range in {
		out[i] = adapters.Button{Label: b.Label, Value: b.Value}
	}
	return out
}

func filesOf(in []fileJSON) []outbound.NewFile {
	out := make([]outbound.NewFile, len(in))
	for i, f := range in {
		out[i] = outbound.NewFile{Name: f.Name, MIME: f.MIME, Content: f.Data}
	}
	return out
}

// MediaRows reads files.
type MediaRows interface {
	Media(ctx context.Context, id sessions.MediaID) (ledger.Media, error)
}

// MediaContent is the response with a file, which browsers must download and not show as a page of the gateway.
type MediaContent struct {
	Type        string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Cache       string `header:"Cache-Control"`
	Body        []byte
}

// DescribeMedia describes the operation in the OpenAPI document.
func DescribeMedia() huma.Operation {
	o := wire.Op(http.MethodGet, "/v1/media/{media}", "get-media", "Get a file's content")
	o.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
	}}}
	return o
}

// MediaAPI serves the files of messages.
type MediaAPI struct {
	Visible *view.Visibility
	Rows    MediaRows
}

// Get answers with the content of a file.
func (a *MediaAPI) Get(ctx context.Context, in *struct {
	Media string `path:"media" maxLength:"64"`
},
) (*MediaContent, error) {
	m, err := a.Rows.Media(ctx, sessions.MediaID(in.Media))
	if err := a.Visible.Check(ctx, err, denials.Object{Kind: "file", ID: string(m.ID), Label: m.Label}, m.Session); err != nil {
		return nil, err
	}
	return &MediaContent{
		Type:        harmless(m.MIME),
		Disposition: mime.FormatMediaType("attachment", map[string]string{"filename": m.FileName()}),
		Cache:       "private, no-store",
		Body:        m.Content,
	}, nil
}

// harmless is the media type for a file in a response: types that a browser would execute become plain bytes.
func harmless(kind string) string {
	base, _, err := mime.ParseMediaType(kind)
	for _, prefix := range []string{"image/", "audio/", "video/"} {
		if err == nil && strings.HasPrefix(base, prefix) && base != "image/svg+xml" {
			return base
		}
	}
	if err == nil && slices.Contains([]string{"application/pdf", "application/json", "text/plain", "text/csv"}, base) {
		return base
	}
	return "application/octet-stream"
}
