package policy

// Checkpoint names one place where something is checked, bounded or made safe. Each has an attack that succeeds without it,
// which a test built with the tag mutants shows by taking them away one by one.
type Checkpoint string

// Skipped reports whether a test has taken the checkpoint away, which no program can.
func (c Checkpoint) Skipped() bool { return c.skipped() }

// The checkpoints of what the monitor itself asks.
const (
	CheckSink       Checkpoint = "tool.sink"       // what a tool tells the outside
	CheckClearance  Checkpoint = "tool.clearance"  // what a tool brings in
	CheckEscalation Checkpoint = "tool.escalation" // what would raise a session above its own conversation
	CheckBeyond     Checkpoint = "tool.beyond"     // untrusted words that would be said elsewhere
	CheckRules      Checkpoint = "tool.rules"
	CheckResponse   Checkpoint = "tool.response" // what a tool has brought in
	CheckSecret     Checkpoint = "tool.secret"
	CheckInput      Checkpoint = "input" // what enters a session's thread
	CheckReset      Checkpoint = "reset"
	CheckInvocation Checkpoint = "invocation" // what one session has another work on
)

// The checkpoints of the tools and the router.
const (
	CheckSessionsSee     Checkpoint = "sessions.see"     // list, status: rows
	CheckSessionsHistory Checkpoint = "sessions.history" // messages
	CheckSessionsHidden  Checkpoint = "sessions.hidden"  // whether there is a session to write to
	CheckSessionsSend    Checkpoint = "sessions.send"    // write to a session
	CheckSessionsReply   Checkpoint = "sessions.reply"   // what comes back
	CheckExchangeStep    Checkpoint = "exchange.step"    // each turn and the announcement
	CheckReport          Checkpoint = "exchange.report"  // a sub-agent's report into its requester's thread
	CheckTodos           Checkpoint = "todos"
	CheckModel           Checkpoint = "model"    // what a model is asked
	CheckRate            Checkpoint = "rate"     // which events count for a rule's rate
	CheckQuote           Checkpoint = "quote"    // what an answer, and what a session is told of a decision, shows of what others have set or said
	CheckGate            Checkpoint = "gate"     // what leaves by a channel
	CheckPress           Checkpoint = "press"    // a press of an agent's button is no command
	CheckForward         Checkpoint = "forward"  // words that somebody passes on are no command
	CheckApprover        Checkpoint = "approver" // what a named token may decide about
	CheckSend            Checkpoint = "gate.send"
	CheckOutput          Checkpoint = "gate.rules"
)

// The checkpoints of what comes in from outside and of who sees what.
const (
	CheckUnread   Checkpoint = "unread"     // a message that was read in part is untrusted and no command
	CheckThread   Checkpoint = "thread"     // what was said in a thread before is untrusted
	CheckBelow    Checkpoint = "gate.below" // `/send off` in a channel silences the threads of the channel
	CheckSpeaker  Checkpoint = "speaker"    // a name can't imitate another speaker to the model
	CheckVisible  Checkpoint = "visible"    // a question for approval shows hidden characters
	CheckStranger Checkpoint = "stranger"   // what /readyz tells a caller without a token
	CheckToken    Checkpoint = "token"      // the length of a token where other machines can try it
)

// The checkpoints of what one session may take from the others.
const (
	CheckSearch Checkpoint = "search" // how much work one search does
	CheckSpace  Checkpoint = "space"  // how much disk files may take
	CheckSize   Checkpoint = "size"   // how large metadata and a page of a list are
)
