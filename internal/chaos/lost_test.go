package chaos_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/slack/slacktest"
	"sluice/store/storetest"
)

// A replica dies, and the other one tells the owner in their direct chat, once; in long runs it also tells when another one has come.
func TestTheOwnerIsToldOfALostReplica(t *testing.T) {
	t.Parallel()
	const person = 7
	postgres := storetest.NewServer(t)
	for name, owner := range map[string]string{
		"telegram":     fmt.Sprintf("telegram:%d", person),
		"slack socket": "slack:" + slacktest.Person(person),
		"discord":      fmt.Sprintf("discord:%d", person),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPair(t, options{platform: name, owners: []string{fmt.Sprintf("%q", owner)}, seedPlus: 45}, postgres)
			p.say(person, "") // on Telegram, people write to a bot first
			p.awaitAnswers()
			told := func() (lost, over int) {
				for _, text := range p.chat.shown(person) {
					switch {
					case strings.Contains(text, "Over: A replica is lost: "):
						over++
					case strings.Contains(text, "A replica is lost: "):
						lost++
					}
				}
				return lost, over
			}
			p.endOwner((*pair).killAndGone)
			p.untilShown("the owner is told", func() bool { lost, _ := told(); return lost > 0 })
			want := []int{1, 0}
			if *long { // the gateway checks twice a minute
				p.startOther()
				p.untilShown("the owner is told that another one has come", func() bool { _, over := told(); return over > 0 })
				want = []int{1, 1}
			}
			p.awaitAnswers()
			lost, over := told()
			require.Equal(t, want, []int{lost, over}, "%q", p.chat.shown(person))
		})
	}
}
