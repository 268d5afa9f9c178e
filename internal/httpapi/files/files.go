// Package files serves the files of sessions over the HTTP API: the folders of the workspace that a session sees.
//
// In: requests that the guard has let in, with their caller in the context. Out: files and folders whose level the caller may
// see. Whoever writes a file gives it a label, and the session learns the trust in its writer first.
package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/internal/workspace"
	"sluice/policy/flow"
	"sluice/sessions"
)

// path is where the files of a session are.
const path = "/v1/sessions/{id}/files/"

// Source is where the files of sessions are.
type Source struct {
	// Space finds the files of a session and creates its folder if it is missing; without folders if its agent has no workspace.
	Space func(record sessions.Record) (workspace.Space, error)
	Level func(record sessions.Record) flow.Level // of the session's own files
	*workspace.Opener
}

// API serves the files of sessions. All fields are required.
type API struct {
	Visible *view.Visibility
	Keeper  Learner
	Files   Source
}

// Learner raises what a session knows to a label.
type Learner interface {
	Learn(ctx context.Context, id sessions.ID, label flow.Label, actor string) error
}

// IsUpload reports whether a request uploads a file.
func IsUpload(method, path string) bool {
	_, below, ok := strings.Cut(strings.TrimPrefix(path, "/v1/sessions/"), "/")
	return method == http.MethodPut && ok && strings.HasPrefix(below, "files/")
}

// folder are the open files of a session for one request.
type folder struct {
	*workspace.Files
	of    sessions.ID
	label flow.Label // of what the request brings
}

// With opens the folder of the session that a path names and serves a request with it.
func (a *API) With(serve func(w http.ResponseWriter, r *http.Request, f folder) error) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		f, err := a.open(r)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // each file is closed by itself
		return explain(serve(w, r, f))
	}
}

// open opens the files of the session that a path names, after the session has learnt what the request brings to its own
// folder. What a request brings to the shared folder, a session learns when it reads it.
func (a *API) open(r *http.Request) (folder, error) {
	ctx := r.Context()
	record, err := a.Visible.Session(ctx, r.PathValue("id"))
	if err != nil {
		return folder{}, err
	}
	space, err := a.Files.Space(record)
	if err == nil && space.Own == "" {
		err = wire.ErrNotFound // its agent has no workspace
	}
	if err != nil {
		return folder{}, err
	}
	shared := space.Shares(r.PathValue("path"))
	level := a.Files.Level(record)
	if shared {
		level = space.SharedLevel()
	}
	if err := a.sees(ctx, record, level); err != nil {
		return folder{}, err
	}
	label, err := labelOf(r, level)
	if err != nil {
		return folder{}, err
	}
	files, err := a.Files.Open(space)
	if err != nil {
		return folder{}, err
	}
	if !shared {
		if err := a.Keeper.Learn(ctx, record.ID, label, auth.CallerOf(ctx).Actor()); err != nil {
			return folder{}, errors.Join(err, files.Close())
		}
	}
	return folder{files, record.ID, label}, nil
}

// sees says that files of a level are not there, unless the caller may see them.
func (a *API) sees(ctx context.Context, record sessions.Record, level flow.Level) error {
	held := flow.NewLabel(level, flow.Trusted)
	if auth.CallerOf(ctx).Sees(held) {
		return nil
	}
	a.Visible.Denials.Hidden(ctx, denials.Object{Kind: "files", ID: string(record.ID), Session: record.ID, Label: held.Join(record.Taint)}, denials.AboveLevel)
	return wire.ErrNotFound
}

// labelOf is what a session learns from a request before its tools can read what the request writes: the trust in who wrote
// it. It also checks the label that the caller gives the file, which may be at most the level of the session's files.
func labelOf(r *http.Request, level flow.Level) (flow.Label, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return flow.Bottom(), nil
	}
	l, err := auth.CallerOf(r.Context()).InputLabel(cmp.Or(r.URL.Query().Get("label"), flow.Public.String()))
	if err == nil && !l.FlowsTo(level) {
		err = wire.Invalid(fmt.Sprintf("label: the file is %s, and files here are at most %s; for shared files that is the agent's workspaceClassification, for a session's own what it has learned", l.Level(), level))
	}
	if err != nil {
		return l, err
	}
	return flow.NewLabel(flow.Public, l.Trust()), nil
}

// explain turns an error of the workspace into a response. To a writer, a read-only file looks like a missing one.
func explain(err error) error {
	_, tooLong := errors.AsType[*http.MaxBytesError](err)
	switch {
	case errors.Is(err, workspace.ErrReadOnly):
		return wire.ErrNotFound
	case errors.Is(err, workspace.ErrFolder), errors.Is(err, workspace.ErrNotEmpty):
		return wire.Conflict(err.Error())
	case errors.Is(err, workspace.ErrUpload), tooLong:
		return wire.TooLarge("the file: " + workspace.ErrUpload.Error())
	case errors.Is(err, workspace.ErrLongName):
		return wire.BadRequest(err.Error())
	case errors.Is(err, workspace.ErrCut):
		return wire.ErrCutBody
	case errors.Is(err, workspace.ErrChanged):
		return wire.NewError(http.StatusPreconditionFailed, "changed", err.Error()+" (If-Match, If-None-Match)")
	case errors.Is(err, workspace.ErrNoSpace):
		return wire.NoSpace(err.Error())
	}
	return err
}

// fileList is the content of a folder.
type fileList struct {
	Entries   []workspace.Entry `json:"entries"`
	Truncated bool              `json:"truncated" doc:"the folder has more entries"`
}

// Get reads a file, or a range of it, or lists a folder. It checks the session again after each reading: a session stores what it
// has learnt before it writes any of that into a file.
func (a *API) Get(w http.ResponseWriter, r *http.Request, f folder) error {
	name := r.PathValue("path")
	still := func() error { return a.still(r.Context(), f, name) }
	file, info, err := f.Open(name)
	if name == "" || errors.Is(err, workspace.ErrFolder) {
		list, err := listFolder(r.Context(), name, f.Files)
		if hidden := still(); hidden != nil {
			return hidden
		}
		if err == nil {
			wire.WriteJSON(w, http.StatusOK, list)
		}
		return err
	}
	if err != nil {
		return errors.Join(still(), err)
	}
	defer file.Close() //nolint:errcheck // only read from
	if err := still(); err != nil {
		return err
	}
	// Browsers must download the file and not show it as a page of the gateway.
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Disposition", "attachment")
	w.Header().Set("Cache-Control", "private, no-store")
	w.Header().Set("ETag", tagOf(info))
	http.ServeContent(w, r, "", info.ModTime(), &checked{file: file, check: still})
	return nil
}

// checked is a file whose bytes are given on only after a check that follows their reading. If the check fails, the response is cut.
type checked struct {
	file  io.ReadSeeker
	check func() error
	ready []byte
	chunk []byte
}

func (c *checked) Read(p []byte) (int, error) {
	if len(c.ready) == 0 {
		if c.chunk == nil {
			c.chunk = make([]byte, chunkSize)
		}
		n, err := c.file.Read(c.chunk)
		if n == 0 && err != nil {
			return 0, err
		}
		if err := c.check(); err != nil {
			return 0, err
		}
		c.ready = c.chunk[:n]
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// Seek implements [io.Seeker].
func (c *checked) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekCurrent {
		offset -= int64(len(c.ready))
	}
	c.ready = nil
	return c.file.Seek(offset, whence)
}

// chunkSize is how much of a file is in memory.
const chunkSize = 256 << 10

func tagOf(info fs.FileInfo) string { return `"` + workspace.Tag(info) + `"` }

// expected is what the headers of a request say about the present version of a file; nil: nothing.
func expected(h http.Header) workspace.Expect {
	match, none := h.Values("If-Match"), h.Values("If-None-Match")
	if len(match) == 0 && len(none) == 0 {
		return nil
	}
	names := func(lists []string, tag string) bool {
		for _, name := range strings.Split(strings.Join(lists, ","), ",") {
			if name = strings.TrimSpace(name); tag != "" && (name == "*" || name == `"`+tag+`"`) {
				return true
			}
		}
		return false
	}
	return func(tag string) bool {
		return (len(match) == 0 || names(match, tag)) && (len(none) == 0 || !names(none, tag))
	}
}

// still checks again that the caller may see the session, and its files if they are its own.
func (a *API) still(ctx context.Context, f folder, name string) error {
	record, err := a.Visible.Session(ctx, string(f.of))
	if err != nil || f.Shared(name) {
		return err
	}
	return a.sees(ctx, record, a.Files.Level(record))
}

func listFolder(ctx context.Context, name string, files *workspace.Files) (fileList, error) {
	entries, more, err := files.List(ctx, name)
	return fileList{view.NotNil(entries), more}, err
}

// fileWritten is the result of writing a file.
type fileWritten struct {
	Path     string  `json:"path"`
	Size     int64   `json:"size" doc:"bytes"`
	Modified float64 `json:"modified" doc:"seconds since 1970"`
	Created  bool    `json:"created" doc:"the file is new"`
}

// Put creates or replaces a file.
func Put(w http.ResponseWriter, r *http.Request, f folder) error {
	written, err := f.Copy(r.Context(), r.PathValue("path"), r.Body, f.label, expected(r.Header))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if written.Made {
		status = http.StatusCreated
	}
	w.Header().Set("ETag", tagOf(written))
	wire.WriteJSON(w, status, fileWritten{r.PathValue("path"), written.Size(), float64(written.ModTime().UnixMicro()) / 1e6, written.Made})
	return nil
}

// Delete deletes a file or an empty folder.
func Delete(w http.ResponseWriter, r *http.Request, f folder) error {
	if err := f.Remove(r.PathValue("path"), f.label, expected(r.Header)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// DescribeGet describes the operation in the OpenAPI document.
func DescribeGet(r huma.API) huma.Operation {
	o := describe(http.MethodGet, "get-file", "Get a file of a session, or list a folder")
	o.Responses = wire.Responses(http.StatusNotFound, map[string]*huma.MediaType{
		"application/octet-stream": anyBytes(),
		"application/json":         {Schema: wire.Schema[fileList](r)},
	})
	return o
}

// DescribePut describes the operation in the OpenAPI document.
func DescribePut(r huma.API) huma.Operation {
	o := describe(http.MethodPut, "put-file", "Create or replace a file of a session, and create its folders; at most 100 MiB")
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/octet-stream": anyBytes()}}
	o.Responses = wire.Responses(http.StatusNotFound, map[string]*huma.MediaType{"application/json": {Schema: wire.Schema[fileWritten](r)}})
	o.Responses["201"] = o.Responses["200"]
	o.Parameters = append(o.Parameters, &huma.Param{Name: "label", In: "query", Description: "level of the file, at most that of the shared files, or what the session has learned for its own folder; default PUBLIC", Schema: &huma.Schema{Type: huma.TypeString}})
	return o
}

// DescribeDelete describes the operation in the OpenAPI document.
func DescribeDelete() huma.Operation {
	o := describe(http.MethodDelete, "delete-file", "Delete a file of a session, or an empty folder")
	o.Responses = wire.Responses(http.StatusNotFound, nil)
	o.Responses["204"] = &huma.Response{Description: "No Content"}
	delete(o.Responses, "200")
	return o
}

func describe(method, id, summary string) huma.Operation {
	o := wire.Op(method, path+"{path}", id, summary)
	o.Parameters = []*huma.Param{
		wire.SessionParam(),
		{Name: "path", In: "path", Required: true, Description: "path in the workspace, with slashes; empty: the workspace itself", Schema: &huma.Schema{Type: huma.TypeString}},
	}
	return o
}

func anyBytes() *huma.MediaType {
	return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
}
