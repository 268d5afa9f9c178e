package router

import (
	"sync"

	"sluice/sessions"
)

// tasks bounds how many sub-agents work at once in this process. Those that
// find no place stay queued, and are woken when one is free.
type tasks struct {
	mu      sync.Mutex
	working int
	waiting map[sessions.Lane]int // lane → partition
}

// enter takes a place, of most there are; false if there is none: the lane is woken later. No bound: most is 0.
func (t *tasks) enter(lane sessions.Lane, partition, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if most > 0 && t.working >= most {
		if t.waiting == nil {
			t.waiting = map[sessions.Lane]int{}
		}
		t.waiting[lane] = partition
		return false
	}
	delete(t.waiting, lane)
	t.working++
	return true
}

// leave gives a place back and returns who has waited for one.
func (t *tasks) leave() map[sessions.Lane]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.working--
	waiting := t.waiting
	t.waiting = nil
	return waiting
}

// leaveTask wakes those who have waited for the place that is free now.
func (r *Router) leaveTask() {
	for lane, partition := range r.tasks.leave() {
		r.wake(partition, lane)
	}
}
