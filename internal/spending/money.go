package spending

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Money is an amount in billionths of a currency. It has room for nine billion.
type Money int64

// One is one unit of a currency.
const One Money = 1_000_000_000

// shownDecimals is the number of decimals of an amount below which it is "under" the smallest one.
const shownDecimals = 4

// String shows an amount with at least two decimals and at most four, rounded up: 5.00, 0.0132, under 0.0001.
func (m Money) String() string {
	const step = One / 10_000
	if m > 0 && m < step {
		return "under 0.0001"
	}
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	n := int64(m / step)
	if m%step > 0 && sign == "" {
		n++
	}
	text := fmt.Sprintf("%s%d.%0*d", sign, n/10_000, shownDecimals, n%10_000)
	for range shownDecimals - 2 {
		text = strings.TrimSuffix(text, "0")
	}
	if i := strings.IndexByte(text, '.'); len(text)-i == 2 {
		text += "0"
	}
	return text
}

// In shows an amount with its currency: 5.00 USD.
func (m Money) In(currency string) string { return m.String() + " " + currency }

// Decimal is the exact amount as a decimal number without trailing zeros, for programs.
func (m Money) Decimal() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -n
	}
	whole, part := n/uint64(One), n%uint64(One)
	if part == 0 {
		return sign + strconv.FormatUint(whole, 10)
	}
	return sign + strconv.FormatUint(whole, 10) + "." + strings.TrimRight(fmt.Sprintf("%09d", part), "0")
}

// share is n times a price for each unit, divided by unit and rounded up. A share that has no room is the most that there is.
func share(n int64, each int64, unit uint64) Money {
	if n <= 0 || each <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), uint64(each))
	if hi >= unit {
		return math.MaxInt64
	}
	q, rest := bits.Div64(hi, lo, unit)
	if rest > 0 {
		q++
	}
	return Money(min(q, math.MaxInt64))
}

// sum adds amounts; a sum that has no room is the most that there is.
func sum(amounts ...Money) Money {
	var total Money
	for _, m := range amounts {
		if total > math.MaxInt64-m {
			return math.MaxInt64
		}
		total += m
	}
	return total
}
