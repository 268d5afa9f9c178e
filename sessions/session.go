package sessions

// Session owns what one agent conversation needs: model, tools, messages and
// what of them is not stored yet. The caller drives it one step at a time.
type Session struct{}
