#!/usr/bin/env python3
"""An agent of kind command, with Python's standard library alone.

The gateway starts it for each run, and asks for turns on standard input: one JSON object on each line.
The answer is frames on standard output, one JSON object on each line. docs/programs.md describes both.
"""

import json
import sys


def send(turn, **frame):
    print(json.dumps({"turn": turn["id"], **frame}), flush=True)


def last_message(turn):
    said = [m for m in turn["data"]["messages"] if m["role"] in ("user", "agent")]
    return said[-1].get("text", "")


def results(turn):
    last = turn["data"]["messages"][-1]
    return last.get("results", []) if last["role"] == "tool" else []


def answer(turn):
    for result in results(turn):  # of the call below
        return send(turn, type="done", text=f"{result['name']} says: {result['text']}")
    text = last_message(turn)
    if text.startswith("call "):
        name, _, arguments = text[len("call "):].partition(" ")
        call = {"id": "1", "name": name, "arguments": json.loads(arguments or "{}")}
        return send(turn, type="calls", calls=[call])
    words = text.split()
    for word in words:
        send(turn, type="delta", text=word[::-1] + " ")
    send(turn, type="done", text=" ".join(word[::-1] for word in words))


for line in sys.stdin:
    answer(json.loads(line))
