package model_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

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
