package telegramtest

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/go-telegram/bot/models"
)

// File is a file that people sent, as getFile and the download give it.
type File struct {
	ID      string
	Name    string
	Content []byte
}

// Upload makes a file known; its ID is what an attachment of [Bot.Post] names.
func (b *Bot) Upload(f File) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	b.files[f.ID] = f
}

func (b *Bot) getFile(req *request) ([]byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	f, ok := b.files[req.FileID]
	if !ok {
		return nil, badRequest("invalid file_id")
	}
	j, _ := json.Marshal(models.File{FileID: f.ID, FileUniqueID: "u" + f.ID, FileSize: int64(len(f.Content)), FilePath: f.ID}) // plain fields
	return j, nil
}

func (b *Bot) serveFile(w http.ResponseWriter, path string) {
	b.srv.mu.Lock()
	f, ok := b.files[path]
	b.srv.mu.Unlock()
	if !ok {
		writeError(w, apiError{Code: 404, Description: "Not Found"})
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(f.Content)))
	_, _ = w.Write(f.Content) // the caller may have gone
}

// Migrate turns a group into a supergroup: the two service messages arrive, and
// the old id is answered with the new one from now on.
func (b *Bot) Migrate(from, to int64) {
	b.srv.mu.Lock()
	title := ""
	if c := b.chats[from]; c != nil {
		title = c.Title
	}
	b.migrated[from] = to
	b.srv.mu.Unlock()
	b.Post(models.Message{Chat: models.Chat{ID: from, Type: models.ChatTypeGroup, Title: title}, MigrateToChatID: to})
	b.Post(models.Message{Chat: models.Chat{ID: to, Type: models.ChatTypeSupergroup, Title: title}, MigrateFromChatID: from})
}
