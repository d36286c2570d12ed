"""Runs the rules in Python against every vector: `python3 test/vectors/test_obey.py`.

With `--compare` it reads JSON from stdin, { "<file>": [{ <inputs of a vector of that file> }] }, and prints the results
in the same shape. So a client in another language can be compared with random inputs, too.
"""
from __future__ import annotations

import json
import math
import sys
import unittest
from pathlib import Path
from typing import Any, Callable, Dict

from http_fields import parse_http_date, parse_retry_after
from obey import Answer, GiveUp, Request, Retry, Settings, next_step, parse_refusal, parse_wait
from rate_limit_fields import parse_rate_limit

Vector = Dict[str, Any]


def wait(vector: Vector) -> Vector | None:
    found = parse_wait(vector["headers"], vector["now"])
    return found and {"waitMs": found.wait_ms, "source": found.source}


def rate_limit(vector: Vector) -> list[Vector] | None:
    limits = parse_rate_limit(vector["headers"], vector["now"])
    names = ("policy", "limit", "remaining", "resetMs", "windowMs", "cost")
    return None if limits is None else [{name: value for name, value in zip(names, limit) if name != "cost" or value is not None} for limit in limits]


def body(vector: Vector) -> Vector:
    return dict(zip(("serverCode", "serverMessage", "waitMs", "policies"), parse_refusal(vector["text"])))


def decision(vector: Vector) -> Vector:
    given, settings = vector["request"], dict(vector.get("settings", {}))
    backoff = settings.pop("backoff", {})
    names = {"maxAttempts": "max_attempts", "maxWaitMs": "max_wait_ms", "retryStatuses": "retry_statuses", "methods": "methods"}
    changed: Vector = {names[name]: frozenset(value) if isinstance(value, list) else value for name, value in settings.items()}
    step = next_step(
        Request(given["method"], given.get("sensitive", False), given.get("retry"), given.get("body") == "stream"),
        vector["attempt"],
        Answer(vector["status"], vector["headers"], vector.get("body", "")),
        vector["now"],
        vector["random"],
        Settings(**changed, **{name.replace("Ms", "_ms"): value for name, value in backoff.items()}),
    )
    if isinstance(step, GiveUp):
        return {"error": step.reason, "waitMs": step.wait_ms}
    return {"retry": True, "waitMs": step.wait_ms} if isinstance(step, Retry) else {"retry": False}


RUN: dict[str, Callable[[Vector], Any]] = {
    "http-date": lambda vector: parse_http_date(vector["text"], vector["now"]),
    "retry-after": lambda vector: parse_retry_after(vector["headers"], vector["now"]),
    "rate-limit": rate_limit,
    "wait": wait,
    "bodies": body,
    "decisions": decision,
}


class Vectors(unittest.TestCase):
    def run_file(self, name: str) -> None:
        for vector in json.loads((Path(__file__).parent / f"{name}.json").read_text("utf-8")):
            with self.subTest(vector["why"]):
                got = RUN[name](vector)
                if "atLeastMs" in vector:
                    self.assertGreaterEqual(-1 if got is None else got, vector["atLeastMs"])
                else:
                    self.assertEqual(got, vector["expectedMs"] if "expectedMs" in vector else vector["expected"])

    def test_http_date(self) -> None:
        self.run_file("http-date")

    def test_retry_after(self) -> None:
        self.run_file("retry-after")

    def test_rate_limit(self) -> None:
        self.run_file("rate-limit")

    def test_wait(self) -> None:
        self.run_file("wait")

    def test_bodies(self) -> None:
        self.run_file("bodies")

    def test_decisions(self) -> None:
        self.run_file("decisions")


def finite(value: Any) -> Any:
    """JSON has no infinity: the largest double stands for it."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [finite(each) for each in value]
    return sys.float_info.max if value == math.inf else value


if __name__ == "__main__":
    if sys.argv[1:] == ["--compare"]:
        print(json.dumps(finite({name: [RUN[name](each) for each in inputs] for name, inputs in json.load(sys.stdin).items()})))
    else:
        unittest.main()
