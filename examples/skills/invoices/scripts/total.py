#!/usr/bin/env python3
"""Prints the lines and the total of an invoice. The argument is the hourly rate."""

import decimal
import sys


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: total.py RATE < HOURS", file=sys.stderr)
        return 2
    rate, total = decimal.Decimal(sys.argv[1]), decimal.Decimal(0)
    for line in filter(None, map(str.strip, sys.stdin)):
        hours, _, task = line.partition(" ")
        amount = (decimal.Decimal(hours) * rate).quantize(decimal.Decimal("0.01"))
        total += amount
        print(f"| {task or 'work'} | {hours} h | {amount} |")
    print(f"| **Total** | | **{total}** |")
    return 0


sys.exit(main())
