package router_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/request"
	"sluice/sessions"
)

// rich is a chat with buttons and files.
type rich struct {
	*chat
	buttons int
	sent    []adapters.Outbound
	files   []string
	most    int64 // bytes of a file; 0: no bound
}

var (
	_ adapters.Buttoner   = (*rich)(nil)
	_ adapters.FileSender = (*rich)(nil)
)

func (r *rich) MaxButtons() int { return r.buttons }

func (r *rich) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	r.mu.Lock()
	r.sent = append(r.sent, out)
	r.mu.Unlock()
	return r.chat.Send(ctx, out)
}

func (r *rich) SendFile(ctx context.Context, out adapters.Outbound, f adapters.File) (adapters.Receipt, error) {
	if r.most > 0 && f.Size > r.most {
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.TooLarge, Certain: true, Err: errors.New("the maximum is 3 bytes")}
	}
	content, err := f.Open(ctx)
	if err != nil {
		return adapters.Receipt{}, err
	}
	all, err := io.ReadAll(content)
	if err != nil {
		return adapters.Receipt{}, err
	}
	r.mu.Lock()
	r.files = append(r.files, f.Name+" "+f.MIME+" "+string(all))
	r.mu.Unlock()
	out.Text = f.Name
	return r.chat.Send(ctx, out)
}

func withRich(buttons int) (*rich, func(*bundle)) {
	r := &rich{buttons: buttons}
	return r, func(b *bundle) {
		r.chat = b.chat
		b.adapter = r
	}
}

var choice = []adapters.Button{{Label: "Approve", Value: "/pair approve AB"}, {Label: "Deny", Value: "/pair deny AB"}}

// Buttons stand below the last piece; what the channel can't show is said in the text.
func TestButtons(t *testing.T) {
	t.Parallel()
	for most, want := range map[int][]string{
		2: {"who?"},
		1: {"who?\n\n`/pair deny AB` – Deny"},
		0: {"who?\n\n`/pair approve AB` – Approve\n`/pair deny AB` – Deny"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, option := withRich(most)
			b := newBundle(t, option)
			_, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "ann", Text: "who?", Buttons: choice})
			require.NoError(t, err)
			b.await(1)
			require.Equal(t, want, b.chat.texts("ann"))
			require.Len(t, r.sent[0].Buttons, most)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r, option := withRich(5)
		b := newBundle(t, option, func(b *bundle) { b.chat.piece = 4 })
		_, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "ann", Text: "123456", Buttons: choice})
		require.NoError(t, err)
		b.await(2)
		synctest.Wait()
		require.Empty(t, r.sent[0].Buttons)
		require.Len(t, r.sent[1].Buttons, 2)
		require.Equal(t, "Deny", r.sent[1].Buttons[1].Label)
		require.Equal(t, string(b.deliveries(ledger.DeliverySent)[0].ID)+"/1", r.sent[1].Buttons[1].Press)
	})
}

func TestBoundsOfAMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.MaxMediaBytes = 3 })
		button := func(label, value string) outbound.Proactive {
			return outbound.Proactive{Text: "x", Buttons: []adapters.Button{{Label: label, Value: value}}}
		}
		file := func(name, mime, content string) outbound.Proactive {
			return outbound.Proactive{Files: []outbound.NewFile{{Name: name, MIME: mime, Content: []byte(content)}}}
		}
		for want, p := range map[string]outbound.Proactive{
			"text: is empty: give":                               {},
			"text: is empty: buttons":                            {Buttons: choice},
			"buttons: has 6 items":                               {Text: "x", Buttons: append(append(choice, choice...), choice...)},
			"buttons[0]: want a label":                           button("", "x"),
			"the label has 41 characters":                        button(strings.Repeat("ü", 41), "x"),
			"the value has 62 bytes":                             button("x", strings.Repeat("ü", 31)),
			"buttons[0]: want one line":                          button("a\nb", "x"),
			"files: has 11 items":                                {Files: make([]outbound.NewFile, 11)},
			"files[0]: want a name":                              file("../..", "", "x"),
			"files[0]: has 4 bytes":                              file("x", "", "1234"),
			"files[0]: mime: \"/\" is no":                        file("x", "/", "1"),
			"media: this session has received no file \"med_1\"": {Media: []sessions.MediaID{"med_1"}},
			"to: \"#ops\" is a name, and":                        {To: "#ops", Text: "x"},
		} {
			p.Channel = "test"
			if p.To == "" {
				p.To = "ann"
			}
			_, err := b.Sender.Send(t.Context(), p)
			var bad *request.Error
			require.ErrorAs(t, err, &bad, want)
			require.Contains(t, bad.Error(), want)
		}
		require.Empty(t, b.deliveries(""))
	})
}

// Files follow the text, each with its own receipt.
func TestFiles(t *testing.T) {
	t.Parallel()
	p := outbound.Proactive{
		Channel: "test", To: "ann", Text: "here", Idempotency: "once", Label: flow.NewLabel(flow.Internal, flow.Trusted),
		Files: []outbound.NewFile{{Name: `C:\tmp\a.txt`, MIME: "text/plain", Content: []byte("abc")}, {Name: "b", Content: []byte("d")}},
	}
	synctest.Test(t, func(t *testing.T) {
		r, option := withRich(0)
		b := newBundle(t, option)
		b.chat.fail = func(out adapters.Outbound, n int) error {
			if n == 1 {
				return &adapters.Failure{Kind: adapters.RateLimited, RetryAfter: time.Second, Certain: true, Err: errors.New("429")}
			}
			return nil
		}
		d, err := b.Sender.Send(t.Context(), p)
		require.NoError(t, err)
		again, err := b.Sender.Send(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, d.ID, again.ID)
		b.await(3)
		synctest.Wait()
		require.Equal(t, []string{"here", "a.txt", "b"}, b.chat.texts("ann"))
		require.Contains(t, r.files, "a.txt text/plain abc")
		require.Contains(t, r.files, "b application/octet-stream d")
		sent := b.deliveries(ledger.DeliverySent)
		require.Len(t, sent, 1)
		require.Len(t, sent[0].Receipts, 3)
		m, err := b.store.Media(t.Context(), d.Files[0])
		require.NoError(t, err)
		require.Equal(t, p.Label, m.Label)
	})
	synctest.Test(t, func(t *testing.T) { // a channel that can't take files says so
		b := newBundle(t)
		_, err := b.Sender.Send(t.Context(), p)
		require.NoError(t, err)
		b.await(1)
		require.Equal(t, []string{"here\n\nFile \"a.txt\" is not shown: this channel does not support files.\nFile \"b\" is not shown: this channel does not support files."}, b.chat.texts("ann"))
	})
	synctest.Test(t, func(t *testing.T) { // too large for the platform
		r, option := withRich(0)
		r.most = 2
		b := newBundle(t, option)
		_, err := b.Sender.Send(t.Context(), p)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		failed := b.deliveries(ledger.DeliveryFailed)
		require.Len(t, failed, 1)
		require.Contains(t, failed[0].LastError, "the maximum is 3 bytes")
	})
}

// A stored file goes only from the session that it came into, and raises the message's label to its own.
func TestStoredFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, option := withRich(0)
		b := newBundle(t, option)
		secret := flow.NewLabel(flow.Confidential, flow.Untrusted)
		m := b.Sender.Composer.NewMedia(outbound.NewFile{Name: "plan.pdf", Content: []byte("plan")}, secret)
		m.Session = "sess_1"
		require.NoError(t, b.store.Commit(t.Context(), ledger.Change{Media: []ledger.Media{m}}))
		p := outbound.Proactive{Channel: "test", To: "ann", Media: []sessions.MediaID{m.ID}, Session: "sess_2"}
		_, err := b.Sender.Send(t.Context(), p)
		require.ErrorContains(t, err, "this session has received no file")
		p.Session = "sess_1"
		d, err := b.Sender.Send(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, secret.Join(flow.Bottom()), d.Label)
		b.await(1)
		require.Equal(t, []string{"plan.pdf application/octet-stream plan"}, r.files)
		b.rest(7 * day) // with the next day longer than retention.media
		time.Sleep(day)
		_, err = b.store.Media(t.Context(), m.ID)
		require.ErrorIs(t, err, sessions.ErrNotFound)
		_, err = b.Sender.Send(t.Context(), p)
		require.ErrorContains(t, err, "no longer stored")
	})
}

// yellowPages is a chat that knows names.
type yellowPages struct {
	none error // of Members
	*chat
	asked []string
	err   error
}

var _ adapters.Directory = (*yellowPages)(nil)

func (l *yellowPages) Find(ctx context.Context, name string) (sessions.Route, error) {
	l.asked = append(l.asked, name)
	if l.err == nil && name == "@slow" {
		<-ctx.Done()
		return sessions.Route{}, ctx.Err()
	}
	return sessions.Route{ChatType: sessions.Group, Conversation: sessions.ConversationID("id of " + name), Handle: "x"}, l.err
}

func (l *yellowPages) Members(_ context.Context, route sessions.Route, most int) ([]sessions.Peer, error) {
	return []sessions.Peer{{ID: sessions.UserID(route.Conversation), Name: fmt.Sprint("of at most ", most)}}, l.none
}

func TestNamesAreLookedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &yellowPages{}
		b := newBundle(t, func(b *bundle) { l.chat, b.adapter = b.chat, l })
		for to, want := range map[string]string{"#ops": "id of #ops", "@ada": "id of @ada", "owner": "id of owner", "123": "id of 123"} {
			d, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: to, Text: "x", Thread: "7"})
			require.NoError(t, err)
			require.EqualValues(t, want, d.Route.Conversation)
			require.Equal(t, "test/default/7/", strings.Join([]string{d.Route.Channel, d.Route.Account, string(d.Route.Thread), d.Route.Handle}, "/"))
		}
		require.Len(t, l.asked, 4)
		d, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "123", ChatType: sessions.Direct, Text: "x"})
		require.NoError(t, err)
		require.EqualValues(t, "123", d.Route.Conversation)
		require.Len(t, l.asked, 4, "its kind was said")
		_, err = b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "@slow", Text: "x"})
		require.ErrorContains(t, err, "could not be looked up")
		l.err = &adapters.Failure{Kind: adapters.Permanent, Err: errors.New("user_not_found")}
		_, err = b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "@bob", Text: "x"})
		require.ErrorContains(t, err, `no conversation or person that can receive messages is called "@bob" on channel "test"`)
	})
}

// guild is a platform whose ids don't show what they are of.
type guild struct{ *chat }

func (guild) Find(_ context.Context, id string) (sessions.Route, error) {
	return sessions.Route{ChatType: sessions.Group, Conversation: sessions.ConversationID(id)}, nil
}

func (guild) Members(context.Context, sessions.Route, int) ([]sessions.Peer, error) { return nil, nil }

func TestSendOffHoldsForAnIdWithoutItsKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, onPlatform(t, "test"), func(b *bundle) { b.adapter = guild{b.chat} })
		b.hear(at("test", sessions.Route{ChatType: sessions.Group, Conversation: "41"}, "1", "owner", "/send off"))
		b.await(1)
		check, err := b.Sender.CheckPolicy(t.Context(), outbound.Check{Channel: "test", To: "41"})
		require.NoError(t, err)
		require.Equal(t, policy.Block, check.Action)
		d, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "41", Text: "not here"})
		require.NoError(t, err)
		require.Equal(t, policy.Block, d.Decision.Action)
		synctest.Wait()
		require.Len(t, b.chat.texts("41"), 1, "only that sending is off")
	})
}

func TestMembersAreLookedUp(t *testing.T) {
	t.Parallel()
	l := &yellowPages{}
	b := newBundle(t, func(b *bundle) { l.chat, b.adapter = b.chat, l })
	route, members, err := b.Routes.LookUp(t.Context(), "test", "", "#ops")
	require.NoError(t, err)
	require.EqualValues(t, "id of #ops", route.Conversation)
	require.Equal(t, []sessions.Peer{{ID: "id of #ops", Name: "of at most 200"}}, members)
	for kind, want := range map[adapters.Kind]string{adapters.Unsupported: "", adapters.Permanent: "no members that can receive messages: gone", adapters.Transient: "try again"} {
		l.none = &adapters.Failure{Kind: kind, Err: errors.New("gone")}
		_, members, err = b.Routes.LookUp(t.Context(), "test", "", "#ops")
		require.Empty(t, members)
		if want == "" {
			require.NoError(t, err, "not every platform tells who is in a conversation")
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	b.adapter = b.chat
	_, members, err = b.Routes.LookUp(t.Context(), "test", "", "123")
	require.NoError(t, err)
	require.Nil(t, members)
	_, _, err = b.Routes.LookUp(t.Context(), "none", "", "123")
	require.ErrorContains(t, err, "no channel")
}
