package notes

import (
	"time"

	"sluice/policy/flow"

	"sluice/sessions/address"
)

// The bounds of a session's to-do list.
const (
	TodosMax    = 200 // items of one session
	TodoTextMax = 500 // bytes of an item's text
)

// Todo is something that a session's agent has set itself to do. It ends with its session.
type Todo struct {
	ID      TodoID
	Session address.ID
	Text    string
	Status  TodoStatus
	Label   flow.Label // of the text and of the status: what the session had learnt when it wrote them
	Created time.Time
	Place   int // among those that were created together
	Updated time.Time
}

// TodoID names an item: "todo_" and 12 hex digits.
type TodoID string

// TodoStatus is where an item stands.
type TodoStatus string

// The statuses.
const (
	TodoOpen  TodoStatus = "open"
	TodoDoing TodoStatus = "doing"
	TodoDone  TodoStatus = "done"
)

// TodoStatuses are all of them, in the order in which an item takes them.
func TodoStatuses() []TodoStatus { return []TodoStatus{TodoOpen, TodoDoing, TodoDone} }

// TodoChange is what one transaction does to the items of one session.
type TodoChange struct {
	Session address.ID
	// Add inserts items; one that is there already stays as it is. An ended session is [record.ErrNotFound].
	Add []Todo
	// Update replaces text, status, label and time of items; one that is not there is [record.ErrNotFound].
	Update []Todo
	// Remove deletes items; one that does not exist is skipped.
	Remove []TodoID
}
