package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/pause"
)

const (
	question     = "What is the weather like today, and should I take an umbrella with me?"
	chats        = 200
	warmUp       = 2 * time.Second
	sequential   = 500
	firstPerson  = 1001
	answerWithin = 30 * time.Second
)

var errNoAnswer = errors.New("an answer did not come in time")

// oneByOne sends one person's questions, each after the answer to the previous one and a rest. It returns the sorted times
// from a question's arrival at Telegram to its answer.
func (g *gateway) oneByOne(ctx context.Context, person int64, n int, rest time.Duration) ([]time.Duration, error) {
	arrived := make(chan struct{}, 1)
	g.onAnswer(func(chat int64) {
		if chat != person {
			return
		}
		select {
		case arrived <- struct{}{}:
		default:
		}
	})
	times := make([]time.Duration, 0, n)
	for i := range n {
		began := time.Now()
		g.say(person, question+strconv.Itoa(i))
		timer := time.NewTimer(answerWithin)
		select {
		case <-arrived:
			times = append(times, time.Since(began))
		case <-timer.C:
			return nil, errNoAnswer
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		timer.Stop()
		if rest > 0 {
			if err := pause.Wait(ctx, rest); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(times)
	return times, nil
}

// quantile returns a quantile of sorted times.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// loaded is the result of a round of load.
type loaded struct {
	rate      float64       // answered messages per second
	processor float64       // ms of the gateway's processor time per message
	longest   time.Duration // the longest time that a person waited for an answer
}

// crowd is a number of people who each ask the next question after their answer and a rest.
type crowd struct {
	people  *audience
	first   int64
	rest    time.Duration
	answers atomic.Int64
	stopped atomic.Bool
	mu      sync.Mutex
	asked   []time.Time
	longest time.Duration
}

func (c *crowd) answer(chat int64) {
	now := time.Now()
	i := chat - c.first
	c.mu.Lock()
	c.longest = max(c.longest, now.Sub(c.asked[i]))
	c.asked[i] = now.Add(c.rest)
	c.mu.Unlock()
	c.answers.Add(1)
	if c.rest > 0 {
		time.AfterFunc(c.rest, func() { c.ask(chat) })
		return
	}
	c.ask(chat)
}

func (c *crowd) ask(chat int64) {
	if !c.stopped.Load() {
		c.people.say(chat, question)
	}
}

// begin sends everybody's first question.
func (c *crowd) begin(people int) {
	c.asked = make([]time.Time, people)
	for i := range c.asked {
		c.asked[i] = time.Now()
	}
	c.people.onAnswer(c.answer)
	for i := range people {
		c.ask(c.first + int64(i))
	}
}

// takeLongest returns the longest time for which a person has waited since the last call, and still waits.
func (c *crowd) takeLongest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	longest := c.longest
	for _, asked := range c.asked {
		longest = max(longest, time.Since(asked))
	}
	c.longest = 0
	return longest
}

// end waits until the last questions are answered.
func (c *crowd) end(ctx context.Context) error {
	c.stopped.Store(true)
	last := int64(-1)
	for n := c.answers.Load(); n != last; n = c.answers.Load() { // until no more answers arrive
		last = n
		if err := pause.Wait(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// load measures a crowd of a given size for a given time.
func (g *gateway) load(ctx context.Context, first int64, people int, length time.Duration) (loaded, error) {
	c := &crowd{people: g.audience, first: first}
	c.begin(people)
	if err := pause.Wait(ctx, warmUp); err != nil {
		return loaded{}, err
	}
	began, before := time.Now(), c.answers.Load()
	used, err := processorTime(g.process.Pid())
	if err != nil {
		return loaded{}, err
	}
	if err := pause.Wait(ctx, length); err != nil {
		return loaded{}, err
	}
	n, took := float64(c.answers.Load()-before), time.Since(began)
	usedAfter, err := processorTime(g.process.Pid())
	if err != nil {
		return loaded{}, err
	}
	if n == 0 {
		return loaded{}, errNoAnswer
	}
	result := loaded{rate: n / took.Seconds(), processor: inMilliseconds(usedAfter-used) / n, longest: c.longest}
	return result, c.end(ctx)
}
