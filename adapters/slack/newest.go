package slack

// findCalls bounds the search for the newest messages of a long thread.
const findCalls = 16

// repliesPage is a page of what was said in a thread from a time on, oldest first.
type repliesPage struct {
	said []event
	last int64 // when the last message of the page was written, in microseconds
	all  bool  // nothing follows
}

// newest gives the newest messages that were said before a time, at most want, oldest first. first is the thread's first
// page, after which more follows. Slack pages only from old to new, so newest looks for a time from which on a page
// has enough and reaches the end: it halves the time that is left, and goes on behind the last page in turn. Where
// findCalls do not find it, it gives fewer; found is false where it does not even have the very newest.
func newest(first repliesPage, before int64, want int, read func(from int64) (repliesPage, error)) (said []event, found bool, err error) {
	early := first // more follows it
	late := before // tail is all that was said from then on
	tail := repliesPage{}
	for call := range findCalls {
		if len(tail.said) >= want || late-early.last <= 1 {
			break
		}
		from := early.last + (late-early.last)/2
		next := tail.all && call%2 == 0
		if next {
			from = early.last + 1
		}
		page, err := read(from)
		switch {
		case err != nil:
			return nil, false, err
		case !page.all:
			page.last = max(page.last, from)
			early = page
		case next:
			return lastOf(append(early.said, page.said...), want), true, nil
		default:
			late, tail = from, page
		}
	}
	if !tail.all {
		return lastOf(early.said, want), false, nil
	}
	return lastOf(tail.said, want), true, nil
}

func lastOf(said []event, want int) []event { return said[max(0, len(said)-max(0, want)):] }
