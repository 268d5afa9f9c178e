package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"sluice/adapters"
)

// The maximum sizes of files from a bot, in bytes.
const (
	maxUpload = 50 << 20
	maxPhoto  = 10 << 20
)

// fileTimeout bounds the transfer of one file: the largest needs it at 170 kB a second.
const fileTimeout = 5 * time.Minute

// upload is the way to send a file: a method and its field.
type upload struct{ method, field string }

var (
	asDocument = upload{"sendDocument", "document"}
	asPhoto    = upload{"sendPhoto", "photo"} // shown at once, but reduced by Telegram
	asVoice    = upload{"sendVoice", "voice"} // played in place
	asAudio    = upload{"sendAudio", "audio"}
	asVideo    = upload{"sendVideo", "video"}
)

// uploadOf is the way in which Telegram shows a file as what it is.
func uploadOf(f adapters.File) upload {
	kind, _, _ := strings.Cut(f.MIME, ";")
	switch kind {
	case "image/jpeg", "image/png", "image/webp":
		if f.Size <= maxPhoto {
			return asPhoto
		}
	case "audio/ogg", "audio/opus":
		return asVoice
	case "audio/mpeg", "audio/mp4", "audio/m4a", "audio/x-m4a":
		return asAudio
	case "video/mp4":
		return asVideo
	}
	return asDocument
}

// unshown are refusals of a file that can still be sent as a document: it is very long and thin, it is not a picture, or its
// recipient takes no voice messages.
var unshown = []string{"photo_", "image_process_failed", "voice_messages_forbidden"}

// SendFile posts one file: pictures, voice messages, audio and video in the formats that Telegram shows, anything else as a document. The text is its caption, at most 1,024
// characters; otherwise the failure is TooLarge.
func (a *Adapter) SendFile(ctx context.Context, out adapters.Outbound, f adapters.File) (adapters.Receipt, error) {
	if f.Size > maxUpload {
		return adapters.Receipt{}, &adapters.Failure{
			Kind: adapters.TooLarge, Certain: true, Err: fmt.Errorf("file %q has %d bytes; bots can send at most %d on Telegram", f.Name, f.Size, maxUpload),
		}
	}
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	return a.sender.follow(out.Route, func(to address) (adapters.Receipt, error) {
		how := uploadOf(f)
		receipt, err := a.sender.upload(ctx, how, out, to, f)
		if how != asDocument && refusedWith(err, unshown...) {
			return a.sender.upload(ctx, asDocument, out, to, f)
		}
		return receipt, err
	})
}

func (s *sender) upload(ctx context.Context, how upload, out adapters.Outbound, to address, f adapters.File) (adapters.Receipt, error) {
	content, err := f.Open(ctx)
	if err != nil {
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: fmt.Errorf("open file %q: %w", f.Name, err)}
	}
	defer func() { _ = content.Close() }() // it was only read
	r, err := s.uploadRequest(ctx, how, out, to, f, content)
	if err != nil {
		return adapters.Receipt{}, s.api.failure(how.method, err)
	}
	var m sent
	if err := s.api.client.read(r, maxAnswer, &m); err != nil {
		return adapters.Receipt{}, s.api.failure(how.method, err)
	}
	return s.receiptOf(m), nil
}

// uploadRequest builds a multipart body of known length around the content, which is read only once.
func (s *sender) uploadRequest(ctx context.Context, how upload, out adapters.Outbound, to address, f adapters.File, content io.Reader) (*http.Request, error) {
	var frame bytes.Buffer
	form := multipart.NewWriter(&frame)
	errs := []error{form.WriteField("chat_id", strconv.FormatInt(to.chat, 10))}
	for name, value := range uploadFields(out, to) {
		errs = append(errs, form.WriteField(name, value))
	}
	_, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition(how.field, valid(f.Name))},
		"Content-Type":        {cmp.Or(f.MIME, "application/octet-stream")},
	})
	head := frame.Len()
	if err := errors.Join(append(errs, err, form.Close())...); err != nil {
		return nil, fmt.Errorf("write form: %w", err)
	}
	body := io.MultiReader(bytes.NewReader(frame.Bytes()[:head]), content, bytes.NewReader(frame.Bytes()[head:]))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.api.client.base+how.method, body)
	if err != nil {
		return nil, s.api.client.redact(err)
	}
	r.ContentLength = int64(frame.Len()) + f.Size
	r.Header.Set("Content-Type", form.FormDataContentType())
	return r, nil
}

// uploadFields returns the fields of a form besides the chat and the file.
func uploadFields(out adapters.Outbound, to address) map[string]string {
	fields := map[string]string{}
	if strings.TrimSpace(out.Text) != "" {
		text, mode := render(out, parsed(out))
		fields["caption"] = text
		if mode != "" {
			fields["parse_mode"] = string(mode)
		}
	}
	if to.thread != 0 && to.thread != generalTopic {
		fields["message_thread_id"] = strconv.Itoa(to.thread)
	}
	if out.Silent {
		fields["disable_notification"] = "true"
	}
	if p := replyParameters(out, to); p != nil {
		fields["reply_parameters"] = fmt.Sprintf(`{"message_id":%d,"allow_sending_without_reply":true}`, p.MessageID)
	}
	if k := keyboardOf(out.Buttons); k != nil {
		markup, _ := json.Marshal(k) // texts can always be encoded
		fields["reply_markup"] = string(markup)
	}
	return fields
}
