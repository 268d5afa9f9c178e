package chaos

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Said is one message of a person.
type Said struct {
	Chat  int64
	Token string // a word that occurs in no other message, and in every answer to this one
	Event string // its id on the platform
	// Late means that the platform delivered it again, perhaps after later messages, so its answer may come at any
	// place.
	Late bool
}

// token matches the words that [Token] generates.
var token = regexp.MustCompile(`m\d+x\d+x[0-9a-f]{6}`)

// Token generates the word for a person's n-th message.
func Token(person, n int, salt uint32) string {
	return fmt.Sprintf("m%dx%dx%06x", person, n, salt&0xffffff)
}

// Verdict is the outcome of the messages.
type Verdict struct {
	Unanswered []string       // tokens without an answer
	Repeats    map[string]int // token → number of messages with it beyond the first
	Disorder   []string       // one sentence for each chat with answers in the wrong order
	Strays     []string       // messages of the bot without a token
}

// Judge compares the messages with the texts that the bot sent to each chat, in order.
func Judge(said []Said, sent map[int64][]string) Verdict {
	v := Verdict{Repeats: map[string]int{}}
	byChat := map[int64][]Said{}
	for _, s := range said {
		byChat[s.Chat] = append(byChat[s.Chat], s)
	}
	for chat, asked := range byChat {
		v.judgeChat(chat, asked, sent[chat])
	}
	slices.Sort(v.Unanswered)
	slices.Sort(v.Strays)
	return v
}

func (v *Verdict) judgeChat(chat int64, asked []Said, texts []string) {
	answered := v.answered(texts)
	var expected []string
	late := map[string]bool{}
	for _, s := range asked {
		late[s.Token] = s.Late
		switch {
		case !slices.Contains(answered, s.Token):
			v.Unanswered = append(v.Unanswered, s.Token)
		case !s.Late:
			expected = append(expected, s.Token)
		}
	}
	answered = slices.DeleteFunc(answered, func(t string) bool { return late[t] })
	if !slices.Equal(expected, answered) {
		v.Disorder = append(v.Disorder, fmt.Sprintf("chat %d: asked %s, answered %s", chat, strings.Join(expected, " "), strings.Join(answered, " ")))
	}
}

// answered returns the tokens in a chat's texts, in the order of their first occurrence.
func (v *Verdict) answered(texts []string) []string {
	var answered []string
	for _, text := range texts {
		found := token.FindAllString(text, -1)
		if len(found) == 0 {
			v.Strays = append(v.Strays, text)
		}
		for _, t := range found {
			if slices.Contains(answered, t) {
				v.Repeats[t]++
				continue
			}
			answered = append(answered, t)
		}
	}
	return answered
}

// Faults returns the broken promises, given the texts of the deliveries that the gateway reports as unknown. Each of
// those excuses one repeat of its text.
func (v Verdict) Faults(unknown []string) []string {
	var faults []string
	for _, t := range v.Unanswered {
		faults = append(faults, "not answered: "+t)
	}
	faults = append(faults, v.Disorder...)
	for _, text := range v.Strays {
		faults = append(faults, "nobody asked for: "+text)
	}
	excused := map[string]int{}
	for _, text := range unknown {
		for _, t := range token.FindAllString(text, -1) {
			excused[t]++
		}
	}
	for t, n := range v.Repeats {
		if n > excused[t] {
			faults = append(faults, fmt.Sprintf("%s was repeated %d times, %d sends of it are unknown", t, n, excused[t]))
		}
	}
	return faults
}
