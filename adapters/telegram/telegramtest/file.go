package telegramtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-telegram/bot/models"
)

// The bounds of files, in bytes.
const (
	maxUpload   = 50 << 20
	maxPhoto    = 10 << 20
	maxDownload = 20 << 20
	maxCaption  = 1024 // UTF-16 code units
)

// file is what the server keeps of a file that a person sent.
type file struct {
	path    string
	content []byte
}

// Upload makes a person send a document.
func (b *Bot) Upload(in Chat, from User, d models.Document, content []byte) Said {
	d.FileID = b.keep("documents/", content)
	d.FileUniqueID, d.FileSize = "u-"+d.FileID, int64(len(content))
	m := messageOf(in, from)
	m.Document = &d
	return b.Post(m)
}

// Record makes a person send a voice message.
func (b *Bot) Record(in Chat, from User, seconds int, content []byte) Said {
	id := b.keep("voice/", content)
	m := messageOf(in, from)
	m.Voice = &models.Voice{FileID: id, FileUniqueID: "u-" + id, MimeType: "audio/ogg", FileSize: int64(len(content)), Duration: seconds}
	return b.Post(m)
}

// keep stores a file for the bot to fetch, and returns its id.
func (b *Bot) keep(folder string, content []byte) (id string) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	id = "file-" + strconv.Itoa(len(b.files)+1)
	b.files[id] = file{folder + id, content}
	return id
}

func messageOf(in Chat, from User) models.Message {
	return models.Message{
		Chat: models.Chat{ID: in.ID, Type: models.ChatType(in.Type), Title: in.Title, IsForum: in.Forum},
		From: &models.User{ID: from.ID, FirstName: from.FirstName, Username: from.Username},
	}
}

func (b *Bot) sendFile(method string, req *request) ([]byte, *apiError) {
	if req.file == nil {
		return nil, badRequest("there is no " + strings.TrimPrefix(method, "send") + " in the request")
	}
	if method == "sendphoto" && len(req.content) > maxPhoto {
		return nil, badRequest("PHOTO_SAVE_FILE_INVALID")
	}
	text := req.Caption
	req.Text = "."
	m, apiErr := b.compose("sendmessage", req)
	if apiErr != nil {
		return nil, apiErr
	}
	plain, err := plainText(text, req.ParseMode)
	if err != nil {
		return nil, badRequest("can't parse entities: " + err.Error())
	}
	if utf16Len(plain) > maxCaption {
		return nil, badRequest("message caption is too long")
	}
	m.Text, m.Plain, m.File, m.Content = text, plain, req.file, req.content
	return b.store(req, m)
}

func (b *Bot) getFile(req *request) ([]byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	f, ok := b.files[req.FileID]
	switch {
	case !ok:
		return nil, badRequest("wrong file_id or the file is temporarily unavailable")
	case len(f.content) > maxDownload:
		return nil, badRequest("file is too big")
	}
	answer, _ := json.Marshal(models.File{FileID: req.FileID, FileUniqueID: "u-" + req.FileID, FileSize: int64(len(f.content)), FilePath: f.path}) // it always marshals
	return answer, nil
}

// download serves /bot<token>/<path>, the way to a file's content.
func (s *Server) download(w http.ResponseWriter, path string) {
	token, path, _ := strings.Cut(strings.TrimPrefix(path, "/bot"), "/")
	bot := s.BotFor(token)
	if bot == nil || bot.isRevoked() {
		writeError(w, apiError{Code: 401, Description: "Unauthorized"})
		return
	}
	for _, f := range bot.allFiles() {
		if f.path == path {
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write(f.content) // the caller may have gone
			return
		}
	}
	writeError(w, apiError{Code: 404, Description: fmt.Sprintf("Not Found: no file at %q", path)})
}

func (b *Bot) allFiles() []file {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	all := make([]file, 0, len(b.files))
	for _, f := range b.files {
		all = append(all, f)
	}
	return all
}
