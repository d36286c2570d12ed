"""The rules for clients in other languages, as a program. docs/guides/client-in-other-languages.md gives the reasons.

Needs Python 3.9 or later and nothing else. It sends no request and has no clock: `now` is the wall clock in milliseconds
since 1970, and `random` is a number from 0 up to 1. Waits are in milliseconds and may be infinite. None means "not
stated". test_obey.py runs these files against every vector of the folder.
"""
from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple, NoReturn

from http_fields import Headers, decimal, header, match_all, parse_retry_after, round_up
from rate_limit_fields import limit_families

# Rules 1, 2 and 6 to 12: what to do next.


class Settings(NamedTuple):
    max_attempts: int = 3
    max_wait_ms: float = 60_000
    base_ms: float = 1_000
    cap_ms: float = 30_000
    methods: frozenset[str] = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
    retry_statuses: frozenset[int] = frozenset()  # statuses to retry as 503 is, for example 502


DEFAULTS = Settings()


class Request(NamedTuple):
    method: str
    sensitive: bool = False  # never repeated silently, such as a login code by SMS
    retry: bool | None = None  # what the caller decided for this one call, whatever the method
    is_stream: bool = False  # its body can be sent once


class Answer(NamedTuple):
    status: int | None  # None after a network error
    headers: Headers
    body: str


class Retry(NamedTuple):
    wait_ms: float  # with jitter


class GiveUp(NamedTuple):
    reason: str
    wait_ms: float | None  # the server's wait, for the screen


def decide_retry(
    sensitive: bool, repeatable: bool, attempts: int, wait_ms: float | None, random: float, settings: Settings = DEFAULTS
) -> Retry | GiveUp:
    """The wait before the next request, or the reason to give up. `attempts` is the number of requests sent so far."""
    if sensitive:
        return GiveUp("sensitive", wait_ms)
    if not repeatable:
        return GiveUp("not_repeatable", wait_ms)
    if attempts >= settings.max_attempts:
        return GiveUp("attempts", wait_ms)
    told = max(wait_ms or 0, 100)
    if told > settings.max_wait_ms:
        return GiveUp("wait_too_long", wait_ms)
    if wait_ms is None:
        backoff_ms = settings.base_ms * 2 ** min(attempts - 1, 60)  # a larger power could overflow
        most = max(told, min(backoff_ms, settings.cap_ms, settings.max_wait_ms))
        return Retry(math.ceil(told + random * (most - told)))
    return Retry(math.ceil(told + random * min(max(told / 10, 100), 1_000)))


def next_step(
    request: Request, attempts: int, answer: Answer, now: float, random: float, settings: Settings = DEFAULTS
) -> Retry | GiveUp | None:
    """What to do after the answer to the last of `attempts` requests. None: the caller gets the answer as it is."""
    status, headers, body = answer
    wait = parse_wait(headers, now)
    is_paused = status == 503 and wait is not None and wait.source in ("retry-after", "retry-after-ms")
    if not (status is None or status == 429 or is_paused or status in settings.retry_statuses):
        return None
    wait_ms = wait.wait_ms if wait else parse_refusal(body).wait_ms
    is_allowed = request.method in settings.methods if request.retry is None else request.retry
    step = decide_retry(request.sensitive, is_allowed and not request.is_stream, attempts, wait_ms, random, settings)
    # Only a 429 becomes an error.
    return step if isinstance(step, Retry) or status == 429 else None


# Rules 3 to 5: the wait in the header fields.


class Wait(NamedTuple):
    wait_ms: float
    source: str


def parse_wait(headers: Headers, now: float) -> Wait | None:
    """The wait of the strongest field that states one."""
    wait = parse_retry_after(headers, now)
    exact = decimal(header(headers, "retry-after-ms"), 0)
    exact = decimal(header(headers, "x-ms-retry-after-ms"), 0) if exact is None else exact
    # Milliseconds replace seconds that were rounded up from them. Otherwise the two disagree, and later is safe.
    if exact is not None and (wait is None or exact > wait - 1_000):
        return Wait(exact, "retry-after-ms")
    if wait is not None:
        return Wait(wait, "retry-after")
    # The first family that states a limit counts alone.
    source, limits = next(((source, limits) for source, limits in limit_families(headers, now) if limits), ("", []))
    waits = [limit.reset_ms for limit in limits if limit.remaining == 0 and limit.reset_ms is not None]
    return Wait(max(waits), source) if waits else None


# Rules 5 and 14: the body. It may hold anything.

# C0, DEL, C1, the separators of lines and paragraphs, and what changes the direction of text.
CONTROLS = "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+"


class Refusal(NamedTuple):
    server_code: str | None
    server_message: str | None
    wait_ms: float | None
    policies: list[str] | None  # None without a list


def parse_refusal(text: str) -> Refusal:
    """What a body states: a problem document, {code, message}, {error: {code, message}} or {error: "code or message"}."""
    body = parse_object(text)
    error, policies = body.get("error"), body.get("violated-policies")
    inner = error if isinstance(error, dict) else {}
    codes = [each for each in (body.get("code"), inner.get("code"), error) if is_code(each)]
    # A text in `error` is a message when it has a character that no code has, such as a space.
    prose = error if isinstance(error, str) and re.search(r"[^\w.:-]", error, re.ASCII) else None
    said = (body.get("message"), body.get("detail"), inner.get("message"), prose, body.get("title"))
    messages = [plain for plain in map(without_controls, said) if plain]
    wait_ms = seconds_to_ms(body.get("retry_after"))
    return Refusal(
        codes[0] if codes else None,
        cut(messages[0], 300) if messages else None,
        seconds_to_ms(inner.get("retry_after")) if wait_ms is None else wait_ms,
        [each for each in policies if is_policy(each)][:16] if isinstance(policies, list) else None,
    )


def parse_object(text: str) -> dict[str, Any]:
    """The members of a JSON object. Empty for every other text, and for an object above 65,536 characters."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"Expected JSON, got {constant}")

    try:
        value = json.loads(cut(text.removeprefix("\ufeff"), 65_536), parse_int=float, parse_constant=refuse)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}


def is_code(value: Any) -> bool:
    return isinstance(value, str) and match_all(r"[\w.:-]{1,64}", value) is not None


def is_policy(value: Any) -> bool:
    return isinstance(value, str) and cut(value, 256) == value and re.search(CONTROLS, value) is None


def without_controls(value: Any) -> str:
    return re.sub(CONTROLS, " ", value).strip() if isinstance(value, str) else ""


def cut(text: str, most: int) -> str:
    """The first UTF-16 code units, which Java, Kotlin and JavaScript count, without half of a pair at the end."""
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * most]
    return re.sub("[\ud800-\udbff]\\Z", "", units.decode("utf-16-le", "surrogatepass"))


def seconds_to_ms(value: Any) -> float | None:
    """A number of seconds, at least 0, rounded up. `round` removes the binary error of 16.1 * 1000."""
    return round_up(round(value * 1_000, 3)) if isinstance(value, float) and 0 <= value < math.inf else None
