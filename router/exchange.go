package router

import (
	"time"

	"sluice/router/ledger"
)

// ExchangeSettings bound what agents may cause in one another.
type ExchangeSettings struct {
	MaxTurns  int // answers to each other after the first; at most [announce.MostTurns]
	MaxHops   int // sessions that one chain passes through
	MaxSteps  int // runs of one chain
	MaxTokens int // of all runs of one chain, in and out
	MaxAge    time.Duration

	MaxTasks     int           // sub-agents at work at once in this process
	MaxChildren  int           // tasks of one session that have not ended
	ArchiveAfter time.Duration // a sub-agent's session ends so long after its report; 0: never
}

// spent says which bound a chain has reached; empty if none.
func (s ExchangeSettings) spent(u ledger.ChainUse, now time.Time) string {
	switch {
	case u.ID == "":
		return ""
	case s.MaxSteps > 0 && u.Steps >= s.MaxSteps:
		return "the agents have talked for as many steps as one request may cause"
	case s.MaxTokens > 0 && u.Tokens >= s.MaxTokens:
		return "the agents have used as many tokens as one request may cost"
	case s.MaxAge > 0 && now.Sub(u.Started) >= s.MaxAge:
		return "the agents have talked for as long as one request may take"
	}
	return ""
}
