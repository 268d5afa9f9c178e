package model_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/model"
	"sluice/policy/flow"
	"sluice/sessions"
)

// A picture goes with its bytes where they are there, and in words where they are not.
func TestPicturesOnTheWire(t *testing.T) {
	t.Parallel()
	picture := &sessions.Attachment{Kind: "photo", MIME: "image/png", Size: 3, Media: "med_1", Note: "the picture is not shown to you"}
	request := func(content []byte) sessions.Request {
		return sessions.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Parts: []sessions.Part{
			{Type: sessions.PartText, Text: "What is it?"}, {Type: sessions.PartAttachment, Attachment: picture, Content: content},
		}}}}
	}
	for kind, want := range map[string]string{
		kindOpenAI: `[{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},{"type":"text","text":"What is it?"}]`,
		kindAnthropic: `[{"type":"text","text":"What is it?"},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}]`,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newWireServer(t)
			s.body = wires()["text"][kind]
			sent := func(content []byte) string {
				_, err := s.client(t, kind).Complete(t.Context(), request(content), func(sessions.Chunk) {})
				require.NoError(t, err)
				said, err := json.Marshal(s.got["messages"].([]any)[0].(map[string]any)["content"])
				require.NoError(t, err)
				return string(said)
			}
			require.JSONEq(t, want, sent([]byte("png")))
			require.Contains(t, sent(nil), "[attached photo, image/png, 3 bytes, id med_1; the picture is not shown to you]")
		})
	}
}

// A large picture is scaled to what each model accepts, as a JPEG, and the thread keeps the original. A broken picture is described in
// words, so that the model does not refuse the others.
func TestPicturesAsLargeAsModelsTake(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, image.NewGray(image.Rect(0, 0, 3000, 1500))))
	for kind, side := range map[string]int{kindOpenAI: 2048, kindAnthropic: 1568} {
		s := newWireServer(t)
		s.body = wires()["text"][kind]
		base := s.URL
		if kind == kindOpenAI {
			base += "/v1"
		}
		r, err := model.New(map[string]model.ProviderConfig{"p": {Kind: kind, BaseURL: base, Classification: flow.Internal, Models: []string{"m"}}}, model.Options{})
		require.NoError(t, err)
		m, err := r.Model("p/m")
		require.NoError(t, err)
		sent := func(content []byte) string {
			request := sessions.Request{Label: flow.Bottom(), Messages: []sessions.Message{{Role: sessions.RoleUser, Parts: []sessions.Part{{
				Type: sessions.PartAttachment, Attachment: &sessions.Attachment{Kind: "photo", MIME: "image/png", Media: "med_1"}, Content: content,
			}}}}}
			_, err := m.Complete(t.Context(), request, func(sessions.Chunk) {})
			require.NoError(t, err)
			require.Equal(t, "image/png", request.Messages[0].Parts[0].Attachment.MIME)
			require.Equal(t, content, request.Messages[0].Parts[0].Content)
			said, err := json.Marshal(s.got["messages"])
			require.NoError(t, err)
			return string(said)
		}
		said := sent(out.Bytes())
		require.True(t, strings.Contains(said, "image/jpeg") && !strings.Contains(said, "image/png"))
		jpeg, err := base64.StdEncoding.DecodeString(regexp.MustCompile(`/9j/[A-Za-z0-9+/=]+`).FindString(said))
		require.NoError(t, err)
		head, _, err := image.DecodeConfig(bytes.NewReader(jpeg))
		require.NoError(t, err)
		require.Equal(t, []int{side, side / 2}, []int{head.Width, head.Height}, kind)
		require.Contains(t, sent([]byte("png")), "the picture is not shown to you: read picture: image: unknown format")
		require.Contains(t, sent(out.Bytes()[:300]), "the picture is not shown to you: read picture: png: invalid format")
	}
}
