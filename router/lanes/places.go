package lanes

import (
	"sync"

	"sluice/sessions"
)

// places bounds how many sub-agents work at once in this process. Lanes without a place stay queued and are woken
// when a place is free.
type places struct {
	mu      sync.Mutex
	working int
	waiting map[sessions.Lane]int // lane → partition
}

// enter takes one of most places. It returns false if all are taken; the lane is woken later. 0 means no limit.
func (p *places) enter(lane sessions.Lane, partition, most int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if most > 0 && p.working >= most {
		if p.waiting == nil {
			p.waiting = map[sessions.Lane]int{}
		}
		p.waiting[lane] = partition
		return false
	}
	delete(p.waiting, lane)
	p.working++
	return true
}

// leave gives a place back and returns the lanes that wait for one.
func (p *places) leave() map[sessions.Lane]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working--
	waiting := p.waiting
	p.waiting = nil
	return waiting
}

// EnterTask takes one of most places for a sub-agent's work on the lane. It returns false if all are taken; the lane
// is woken when a place is free. leave gives the place back.
func (l *Lanes) EnterTask(lane *Lane, most int) (leave func(), ok bool) {
	return l.leaveTask, l.places.enter(lane.Name, lane.Partition(), most)
}

// leaveTask wakes the lanes that wait for a place.
func (l *Lanes) leaveTask() {
	for lane, partition := range l.places.leave() {
		l.Wake(partition, lane)
	}
}
