package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/workspace"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// filesRoute is where a session's files are.
const filesRoute = "/v1/sessions/{id}/files/"

// fileRoutes serve the files of sessions. The API library has no paths of several parts.
func (s *Server) fileRoutes(mux *http.ServeMux, api huma.API) {
	mux.HandleFunc("GET "+filesRoute+"{path...}", s.fileOf(s.getFile))
	mux.HandleFunc("PUT "+filesRoute+"{path...}", s.fileOf(s.putFile))
	mux.HandleFunc("DELETE "+filesRoute+"{path...}", s.fileOf(s.deleteFile))
	documentFiles(api)
}

// isFile reports whether a request brings a file.
func isFile(method, path string) bool {
	_, below, ok := strings.Cut(strings.TrimPrefix(path, "/v1/sessions/"), "/")
	return method == http.MethodPut && ok && strings.HasPrefix(below, "files/")
}

// fileOf serves the files of the session that a path names.
func (s *Server) fileOf(serve func(w http.ResponseWriter, r *http.Request, of sessions.ID, files *workspace.Files) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		files, of, err := s.openFiles(r)
		if err == nil {
			defer files.Close() //nolint:errcheck // each file is closed by itself
			err = fileProblem(serve(w, r, of, files))
		}
		if err != nil {
			s.fail(w, err)
		}
	}
}

// openFiles opens the files of the session that a path names. The session has then learnt what the request brings.
func (s *Server) openFiles(r *http.Request) (*workspace.Files, sessions.ID, error) {
	ctx := r.Context()
	record, level, err := s.withFiles(ctx, r.PathValue("id"))
	if err != nil {
		return nil, "", err
	}
	label, err := fileLabel(r, level)
	if err != nil {
		return nil, "", err
	}
	folder, err := s.cfg.Folder(record)
	if err == nil && folder == "" {
		err = errNotFound // its agent has none
	}
	if err != nil {
		return nil, "", err
	}
	quota := s.cfg.Quota
	if policy.CheckSpace.Skipped() {
		quota = nil
	}
	files, err := workspace.Open(folder, record.FileAccess, quota)
	if err != nil {
		return nil, "", err
	}
	if err := s.cfg.Router.Learn(ctx, record.ID, label, callerOf(ctx).actor()); err != nil {
		return nil, "", errors.Join(err, files.Close())
	}
	return files, record.ID, nil
}

// withFiles is the session that a name means, with the level of its files, if the caller may see both.
func (s *Server) withFiles(ctx context.Context, name string) (sessions.Record, flow.Level, error) {
	record, err := s.session(ctx, name)
	if err != nil {
		return record, flow.Level{}, err
	}
	level := s.cfg.FileLevel(record)
	if held := flow.NewLabel(level, flow.Trusted); !callerOf(ctx).sees(held) {
		s.denied(ctx, object{"files", string(record.ID), record.ID, held.Join(record.Taint)}, whyAbove)
		return record, level, errNotFound
	}
	return record, level, nil
}

// fileLabel is what a session learns by a request for its files before its tools can read what that leaves there: who has
// chosen it. It checks what the caller says of a file that they bring: its level is that of the session's files already.
func fileLabel(r *http.Request, level flow.Level) (flow.Label, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return flow.Bottom(), nil
	}
	l, err := said(r.Context(), cmp.Or(r.URL.Query().Get("label"), flow.Public.String()))
	if err == nil && !l.FlowsTo(level) {
		err = &apiError{http.StatusUnprocessableEntity, "invalid_request", fmt.Sprintf("label: the file is %s, and the session's files hold what is %s at most: say it there first", l.Level(), level)}
	}
	if err != nil {
		return l, err
	}
	return flow.NewLabel(flow.Public, l.Trust()), nil
}

// fileProblem says what a failure of a file means. What may be read and not written is out of scope for a writer.
func fileProblem(err error) error {
	_, tooLong := errors.AsType[*http.MaxBytesError](err)
	switch {
	case errors.Is(err, workspace.ErrReadOnly):
		return errNotFound
	case errors.Is(err, workspace.ErrFolder), errors.Is(err, workspace.ErrNotEmpty):
		return &apiError{http.StatusConflict, "conflict", err.Error()}
	case errors.Is(err, workspace.ErrTooLarge), tooLong:
		return &apiError{http.StatusRequestEntityTooLarge, "too_large", workspace.ErrTooLarge.Error()}
	case errors.Is(err, workspace.ErrNoSpace):
		return &apiError{http.StatusInsufficientStorage, "no_space", err.Error()}
	}
	return err
}

// fileList is a folder's content.
type fileList struct {
	Entries   []workspace.Entry `json:"entries"`
	Truncated bool              `json:"truncated" doc:"there is more than is shown"`
}

// getFile looks at the session again when it has read: it stores what it has learnt before it writes any of that into a file.
func (s *Server) getFile(w http.ResponseWriter, r *http.Request, of sessions.ID, files *workspace.Files) error {
	name := r.PathValue("path")
	content, err := files.Read(name)
	var list fileList
	folder := name == "" || errors.Is(err, workspace.ErrFolder)
	if folder {
		list, err = listFolder(r.Context(), name, files)
	}
	if _, _, hidden := s.withFiles(r.Context(), string(of)); hidden != nil {
		return hidden
	}
	if err != nil {
		return err
	}
	if folder {
		writeJSON(w, http.StatusOK, list)
		return nil
	}
	// Never shown as a part of the gateway's own page.
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Disposition", "attachment")
	w.Header().Set("Cache-Control", "private, no-store")
	_, _ = w.Write(content) // the caller has gone
	return nil
}

func listFolder(ctx context.Context, name string, files *workspace.Files) (fileList, error) {
	entries, more, err := files.List(ctx, name)
	return fileList{emptyNotNil(entries), more}, err
}

// fileWritten is what became of a file.
type fileWritten struct {
	Path    string `json:"path"`
	Size    int    `json:"size" doc:"bytes"`
	Created bool   `json:"created" doc:"it was not there before"`
}

func (*Server) putFile(w http.ResponseWriter, r *http.Request, _ sessions.ID, files *workspace.Files) error {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	made, err := files.Write(r.Context(), r.PathValue("path"), content)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if made {
		status = http.StatusCreated
	}
	writeJSON(w, status, fileWritten{r.PathValue("path"), len(content), made})
	return nil
}

func (*Server) deleteFile(w http.ResponseWriter, r *http.Request, _ sessions.ID, files *workspace.Files) error {
	if err := files.Remove(r.PathValue("path")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller has gone
}

// documentFiles describes the operations on files.
func documentFiles(api huma.API) {
	schemas := api.OpenAPI().Components.Schemas
	bytes := map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}
	get := op(http.MethodGet, filesRoute+"{path}", "get-file", "A file of a session, or the list of a folder")
	get.Responses = answers(http.StatusNotFound, map[string]*huma.MediaType{
		"application/octet-stream": bytes["application/octet-stream"],
		"application/json":         {Schema: schemas.Schema(reflect.TypeFor[fileList](), true, "FileList")},
	})
	put := op(http.MethodPut, filesRoute+"{path}", "put-file", "Make or replace a file of a session, and the folders that it is in; at most 16 MiB")
	put.RequestBody = &huma.RequestBody{Required: true, Content: bytes}
	put.Responses = answers(http.StatusNotFound, map[string]*huma.MediaType{
		"application/json": {Schema: schemas.Schema(reflect.TypeFor[fileWritten](), true, "FileWritten")},
	})
	put.Responses["201"] = put.Responses["200"]
	remove := op(http.MethodDelete, filesRoute+"{path}", "delete-file", "Delete a file of a session, or an empty folder")
	remove.Responses = answers(http.StatusNotFound, nil)
	remove.Responses["204"] = &huma.Response{Description: "No Content"}
	delete(remove.Responses, "200")
	for _, o := range []*huma.Operation{&get, &put, &remove} {
		o.Parameters = []*huma.Param{
			{Name: "id", In: "path", Required: true, Description: "a session's id or key, or main", Schema: &huma.Schema{Type: huma.TypeString}},
			{Name: "path", In: "path", Required: true, Description: "in the session's folder, with slashes; empty is the folder itself", Schema: &huma.Schema{Type: huma.TypeString}},
		}
		if o.Method == http.MethodPut {
			o.Parameters = append(o.Parameters, &huma.Param{Name: "label", In: "query", Description: "level of the file, at most what the session has learnt; default PUBLIC", Schema: &huma.Schema{Type: huma.TypeString}})
		}
		api.OpenAPI().AddOperation(o)
	}
}

// Folder finds the folder of a session's files, which it makes where it is missing; empty where its agent has none.
type Folder func(record sessions.Record) (string, error)
