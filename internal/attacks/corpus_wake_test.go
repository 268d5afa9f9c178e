package attacks_test

import (
	"net/http"
	"strings"
)

// wakeAttacks come with texts to sessions whose senders do not wait for the answer.
func wakeAttacks() []attack {
	return []attack{
		{path: "L9", name: "HTTP: a PUBLIC operator wakes the session that knows", act: func(s *scene) {
			high := s.high()
			for _, mode := range []string{"now", "next-heartbeat"} {
				for _, name := range []string{high.ID, high.Key} {
					wake := func(name string) string {
						a := s.as(lowToken, http.MethodPost, "/v1/wake", `{"text":"what do you know?","session":"`+name+`","mode":"`+mode+`"}`)
						s.unseen("answer", a.body)
						return strings.ReplaceAll(a.body, name, "<name>")
					}
					s.same(mode, wake(name), wake("sess_000000000000"))
				}
			}
			s.settle()
		}},
	}
}
