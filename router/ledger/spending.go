package ledger

import "sluice/internal/spending"

// Raise adds to what a budget allows in one of its periods.
type Raise struct {
	Account spending.Account
	Extra   int64 // in the budget's unit
}
