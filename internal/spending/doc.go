// Package spending has what model calls cost and what they may cost: prices, the ledger's rows, and budgets. It decides
// without a database.
//
// The ledger has accounts. An account is a model call, or a budget in one of its periods. A [Posting] changes all of its
// accounts or none:
//
//	before the call   the call holds a reservation; each budget that it touches holds the most that the call may cost
//	after the call    what was held is given back, and the real cost is spent
//
// A budget holds and has spent at most its limit at every moment, so the costs of its calls can't exceed the limit. A call
// whose process has died keeps its reservation until another process posts it as spent: it may have cost that much.
//
// Without a budget, nothing is posted before a call, and the row of the call is stored with what the call has led to.
package spending
