package config

import (
	"sluice/adapters"
	"sluice/internal/config/scalar"
)

// Secret is a text that prints as "<secret>".
type Secret = adapters.Secret

type (
	// Duration is a time span in Go's notation: 90s, 10m, 24h.
	Duration = scalar.Duration
	// Wait is a time span that may be 0s.
	Wait = scalar.Wait

	// Amount is an amount of money.
	Amount = scalar.Amount
	// Bytes is an amount of data with a unit: 512MiB, 5GiB, 2GB.
	Bytes = scalar.Bytes
)
