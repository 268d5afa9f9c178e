package store

import (
	"strconv"

	"sluice/router/ledger"
)

// An exchange that has ended stays while something may still ask for it: a run of it, the run that made the call, which makes it again
// after a crash, and a sub-agent that lives, whose audience is that of who has asked.
var (
	oldExchanges     = `SELECT ended, id FROM exchanges WHERE ended > 0 AND chain <> '' AND (ended, id) > (?, ?) AND ended < ? ORDER BY ended, id LIMIT ` + strconv.Itoa(pruneMax)
	prunableExchange = `ended > 0 AND chain <> '' AND ended < ?
		AND id NOT IN (SELECT r.exchange_id FROM runs r WHERE r.` + openRuns + `)
		AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = exchanges.requester AND r.` + openRuns + ` AND r.accepted <= exchanges.started)
		AND NOT (kind = 'spawn' AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = exchanges.target AND s.ended = 0))
		AND id IN ` + pruneList
	// A client may repeat its key at any time: the row stays and says that the request was made. Only the run of a tool call can repeat that.
	repeatable     = `request_key <> '' AND substr(request_key, 1, ` + strconv.Itoa(len(ledger.ToolCallPrefix)) + `) <> '` + ledger.ToolCallPrefix + `'`
	forgetExchange = `UPDATE exchanges SET body = '', route = '', chain = '' WHERE ` + repeatable + ` AND ` + prunableExchange
	removeExchange = `DELETE FROM exchanges WHERE NOT (` + repeatable + `) AND ` + prunableExchange
	// A chain goes on by its runs alone, so one without a run that has not ended is over.
	removeChains = `DELETE FROM chains WHERE id IN (SELECT id FROM chains WHERE started < ?
		AND id NOT IN (SELECT COALESCE(r.chain/*pg ::jsonb*/ ->> 'id', '') FROM runs r WHERE r.` + openRuns + ` AND r.chain <> '')
		ORDER BY started LIMIT ` + strconv.Itoa(pruneMax) + `)`
)
