package policy

// Checkpoint names one place where something is checked, limited or made safe. For each there is an attack that
// succeeds without it: a test built with the tag mutants disables them one by one.
type Checkpoint string

// Skipped reports whether a test has disabled the checkpoint, which no program can do.
func (c Checkpoint) Skipped() bool { return c.skipped() }

// The checkpoints of the monitor.
const (
	CheckSink       Checkpoint = "tool.sink"       // what a tool sends to the outside
	CheckClearance  Checkpoint = "tool.clearance"  // what a tool reads
	CheckEscalation Checkpoint = "tool.escalation" // reads that would raise a session above its own conversation
	CheckBeyond     Checkpoint = "tool.beyond"     // untrusted text that would be sent elsewhere
	CheckRules      Checkpoint = "tool.rules"
	CheckResponse   Checkpoint = "tool.response" // the result of a tool
	CheckSecret     Checkpoint = "tool.secret"
	CheckInput      Checkpoint = "input" // what enters a session's thread
	CheckReset      Checkpoint = "reset"
	CheckInvocation Checkpoint = "invocation" // work that one session gives another
)

// The checkpoints of the tools and the router.
const (
	CheckSessionsSee     Checkpoint = "sessions.see"     // list, status: rows
	CheckSessionsHistory Checkpoint = "sessions.history" // messages
	CheckSessionsHidden  Checkpoint = "sessions.hidden"  // whether there is a session to write to
	CheckSessionsSend    Checkpoint = "sessions.send"    // write to a session
	CheckSessionsReply   Checkpoint = "sessions.reply"   // the reply to the sender
	CheckExchangeStep    Checkpoint = "exchange.step"    // each turn and the announcement
	CheckReport          Checkpoint = "exchange.report"  // a sub-agent's report into its requester's thread
	CheckTodos           Checkpoint = "todos"
	CheckJobsSee         Checkpoint = "jobs.see"      // list, show, history
	CheckJobsChange      Checkpoint = "jobs.change"   // what others see of a job
	CheckAlertsSee       Checkpoint = "alerts.see"    // list, and what a call names
	CheckAlertsChange    Checkpoint = "alerts.change" // what others see of an alert
	CheckModel           Checkpoint = "model"         // what is sent to a model
	CheckRate            Checkpoint = "rate"          // which events count for a rule's rate
	CheckQuote           Checkpoint = "quote"         // texts of others in answers, and what a session reads about a decision
	CheckGate            Checkpoint = "gate"          // what is sent through a channel
	CheckPress           Checkpoint = "press"         // a press of an agent's button is not a command
	CheckForward         Checkpoint = "forward"       // forwarded text is not a command
	CheckApprover        Checkpoint = "approver"      // what a named token may decide about
	CheckSend            Checkpoint = "gate.send"
	CheckOutput          Checkpoint = "gate.rules"
)

// The checkpoints of incoming data, and of who sees what.
const (
	CheckUnread   Checkpoint = "unread"     // a partly read message is untrusted and not a command
	CheckThread   Checkpoint = "thread"     // earlier messages of a thread are untrusted
	CheckBelow    Checkpoint = "gate.below" // `/send off` in a channel silences the threads of the channel
	CheckSpeaker  Checkpoint = "speaker"    // a name can't imitate another speaker to the model
	CheckVisible  Checkpoint = "visible"    // a question for approval shows hidden characters
	CheckStranger Checkpoint = "stranger"   // what /readyz tells a caller without a token
	CheckToken    Checkpoint = "token"      // the length of a token that other machines can try
)

// The checkpoints of what one session may use of shared resources.
const (
	CheckSearch Checkpoint = "search" // how much work one search does
	CheckSpace  Checkpoint = "space"  // how much disk files may take
	CheckSize   Checkpoint = "size"   // how large metadata and a page of a list are
)
