package attacks_test

import (
	"bufio"
	"database/sql"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/go-telegram/bot/models"
	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/store/sqlite"
)

// costAttacks take what others need: time, disk and memory. What they take is counted in work and bytes, and others must be answered in the meantime.
func costAttacks() []attack {
	search := []policy.Checkpoint{policy.CheckSearch}
	size := []policy.Checkpoint{policy.CheckSize}
	return []attack{
		{path: "cost", name: "grep: nested repetitions", without: search, act: func(s *scene) {
			row := s.open(masterToken)
			s.do(row, call("write", args{"path": "a.txt", "content": strings.Repeat("x", 100)}))
			got := s.do(row, call("grep", args{"pattern": "(abcdefghijklmno){900}"}))
			if strings.Contains(got, `"matches"`) {
				s.leak("grep: it works a pattern of more than 10,000 instructions: %s", got)
			}
			s.has(got, "its repetitions make it too big")
		}},
		{path: "cost", name: "grep: a large pattern over long lines", without: search, act: func(s *scene) {
			row, other := s.open(masterToken), s.open(masterToken)
			s.put(row, "a.txt", strings.Repeat("x", 200_000))
			done := make(chan string, 1)
			go func() { done <- s.do(row, call("grep", args{"pattern": "(bcdefghijk){700}"})) }()
			s.answered(other)
			if got := <-done; !strings.Contains(got, "the search took more work than one call may") {
				s.leak("grep: it takes more than a billion steps: %.300s", got)
			}
		}},
		{path: "cost", name: "Markdown that takes long to draw", act: func(s *scene) {
			for _, text := range []string{strings.Repeat(">", 15_000), strings.Repeat("- ", 6_000), "x" + strings.Repeat("`a``b", 3_000), strings.Repeat("[", 8_000), strings.Repeat("*a_", 5_000)} {
				before := len(s.telegram.Sent(s.private().ID))
				s.telegram.Say(s.private(), s.owner(), "!say "+base64.StdEncoding.EncodeToString([]byte(text)))
				s.answered(s.open(masterToken))
				s.say(s.group(), s.guest(), "and I?")
				sent := 0
				for _, m := range s.telegram.Sent(s.private().ID)[before:] {
					sent += len(m.Text)
				}
				if sent > 12*len(text) {
					s.leak("telegram direct chat: %d bytes were made of %d", sent, len(text))
				}
				if sent == 0 {
					s.lacks = append(s.lacks, "the answer was not sent")
				}
			}
			s.has(s.shown(s.group()), "and I?")
		}},
		{path: "cost", name: "files: a session fills the disk", without: []policy.Checkpoint{policy.CheckSpace}, act: func(s *scene) {
			row := s.open(lowToken, "ops")
			for n := range 4 {
				a := s.put(row, own(row, fmt.Sprint(n)), strings.Repeat("x", 600<<10))
				if n > 0 {
					s.has(a.body, "limits.sessionBytes")
				}
			}
			for n := range 3 {
				s.tellAs(lowToken, row, "PUBLIC", call("write", args{"path": own(row, fmt.Sprint("more-", n)), "content": strings.Repeat("x", 20_000)}))
			}
			if held := s.held(row.ID); held > sessionMax {
				s.leak("disk: one session has %d bytes", held)
			}
			s.answered(s.open(masterToken))
			s.emptied(row)
		}},
		{path: "cost", name: "attachments: a guest fills the database", without: []policy.Checkpoint{policy.CheckSpace}, act: func(s *scene) {
			row := s.grouped()
			for range 4 {
				s.telegram.Upload(s.group(), s.guest(), models.Document{FileName: "film.bin"}, make([]byte, 400<<10))
				require.NoError(s.t, s.telegram.WaitConfirmed(s.t.Context()))
				s.settle()
			}
			if held := s.stored(row.ID); held > sessionMax {
				s.leak("database: the attachments of one session have %d bytes", held)
			} else if held == 0 {
				s.lacks = append(s.lacks, "no attachment was kept")
			}
			s.has(s.as(masterToken, http.MethodGet, "/v1/sessions/"+row.ID+"/history", "").body, "it was not stored", "limits.sessionBytes")
			s.say(s.group(), s.guest(), "and I?")
			s.has(s.shown(s.group()), "and I?")
		}},
		{path: "cost", name: "files: many sessions fill the disk", without: []policy.Checkpoint{policy.CheckSpace}, act: func(s *scene) {
			var rows []sessionRow
			held, refused := 0, false
			for range 20 {
				row := s.open(lowToken, "ops")
				rows = append(rows, row)
				refused = s.put(row, own(row, "x"), strings.Repeat("x", 1000<<10)).status == http.StatusInsufficientStorage || refused
				held += s.held(row.ID)
			}
			if held > workspaceMax {
				s.leak("disk: the sessions of an agent have %d bytes", held)
			}
			if !refused {
				s.lacks = append(s.lacks, "no file was refused")
			}
			other := s.open(masterToken)
			s.answered(other)
			s.say(s.group(), s.guest(), "and I?")
			s.has(s.shown(s.group()), "and I?")
			s.has(s.do(other, call("write", args{"path": "a.txt", "content": "x"})), "a.txt") // the files of another agent
			for _, row := range rows {
				s.emptied(row)
			}
		}},
		{path: "cost", name: "files: what sessions share fills the disk", without: []policy.Checkpoint{policy.CheckSpace}, act: func(s *scene) {
			row, refused := s.open(lowToken, "ops"), false
			for n := range 20 {
				a := s.put(row, fmt.Sprint("shared-", n), strings.Repeat("x", 1000<<10))
				refused = strings.Contains(a.body, "limits.workspaceBytes") || refused
			}
			if held := s.held("ops/files/shared-"); held > workspaceMax {
				s.leak("disk: the shared files of an agent have %d bytes", held)
			}
			if !refused {
				s.lacks = append(s.lacks, "no file was refused")
			}
			s.answered(s.open(masterToken))
			for n := range 20 {
				s.as(masterToken, http.MethodDelete, "/v1/sessions/"+row.ID+"/files/"+fmt.Sprint("shared-", n), "")
			}
		}},
		{path: "cost", name: "HTTP: metadata without an end, and readers who take none of it", without: size, act: func(s *scene) {
			large := func(n int) string { return `{"persistent":true,"metadata":{"a":"` + strings.Repeat("x", n) + `"}}` }
			a := s.as(lowToken, http.MethodPost, "/v1/sessions", large(70<<10))
			if a.status < 300 {
				s.leak("metadata: 70 KiB are kept")
			} else {
				s.has(a.body, "metadata: it has")
			}
			for range 20 {
				s.read(s.as(lowToken, http.MethodPost, "/v1/sessions", large(60<<10)), nil)
			}
			readers := s.idleReaders(6, "/v1/sessions")
			s.answered(s.low())
			for _, reader := range readers {
				page, err := io.ReadAll(reader)
				require.NoError(s.t, err)
				if len(page) > 1<<20+128<<10 {
					s.leak("page: the gateway keeps %d bytes for a reader who takes nothing", len(page))
				}
				s.has(string(page), `rel="next"`)
				require.NoError(s.t, reader.Close())
			}
			s.forget()
		}},
	}
}

// put writes a file over HTTP.
func (s *scene) put(row sessionRow, name, content string) answer {
	s.t.Helper()
	return s.as(masterToken, http.MethodPut, "/v1/sessions/"+row.ID+"/files/"+name+"?label=PUBLIC", content)
}

// own is a path in a session's own folder.
func own(row sessionRow, name string) string { return ".sessions/" + row.ID + "/" + name }

// emptied deletes what the scene has written over HTTP into a session's folder.
func (s *scene) emptied(row sessionRow) {
	s.t.Helper()
	for _, name := range []string{"x", "0", "1", "2", "3"} {
		s.as(masterToken, http.MethodDelete, "/v1/sessions/"+row.ID+"/files/"+own(row, name), "")
	}
}

// answered lets somebody else speak, who must be answered.
func (s *scene) answered(row sessionRow) {
	s.t.Helper()
	s.has(s.tell(row, "PUBLIC", "are you there?"), "are you there?")
}

// held is how many bytes the files of a session have on the disk, or those with another part of a path.
func (s *scene) held(id string) (held int) {
	s.t.Helper()
	err := filepath.WalkDir(filepath.Join(s.state, "workspaces"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, id) {
			return err
		}
		info, err := d.Info()
		held += int(info.Size())
		return err
	})
	require.NoError(s.t, err)
	return held
}

// stored is how many bytes the attachments of a session have in the database.
func (s *scene) stored(id string) (held int) {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.state, sqlite.FileName)+"?_pragma=busy_timeout(5000)")
	require.NoError(s.t, err)
	defer db.Close() //nolint:errcheck // only read from
	require.NoError(s.t, db.QueryRowContext(s.t.Context(), "SELECT COALESCE(SUM(LENGTH(content)), 0) FROM media WHERE session_id = ?", id).Scan(&held))
	return held
}

// idleReaders ask for something and take nothing of the answer until they are read from.
func (s *scene) idleReaders(n int, path string) (readers []io.ReadCloser) {
	s.t.Helper()
	for range n {
		conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", s.Addr().String())
		require.NoError(s.t, err)
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", path, s.Addr(), masterToken)
		require.NoError(s.t, err)
		readers = append(readers, struct {
			io.Reader
			io.Closer
		}{bufio.NewReader(conn), conn})
	}
	return readers
}

// forget ends the sessions of the scene: with what they hold, a list would have several pages.
func (s *scene) forget() {
	s.t.Helper()
	for {
		var rows []sessionRow
		s.read(s.as(masterToken, http.MethodGet, "/v1/sessions", ""), &rows)
		ended := 0
		for _, row := range rows {
			if !s.since.sessions[row.ID] {
				s.as(masterToken, http.MethodDelete, "/v1/sessions/"+row.ID, "")
				ended++
			}
		}
		if ended == 0 {
			return
		}
	}
}
