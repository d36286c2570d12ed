"""The rules for clients in other languages, as a program. docs/guides/client-in-other-languages.md is the guide.

Needs Python 3.9 or later and nothing else. It sends no request and has no clock: `now` is the wall clock in milliseconds
since 1970, and `random` is a number from 0 up to 1. Waits are in milliseconds and may be infinite. None means "not
stated". test_obey.py runs these files against every vector of the folder.
"""
from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple, NoReturn, Optional, Tuple

from http_fields import Headers, decimal, header, match_all, parse_retry_after, round_up, sent_at
from rate_limit_fields import field_waits

# What to do next.


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
    told = read_wait(headers, now, body)
    is_paused = status == 503 and wait is not None and wait.source in ("retry-after", "retry-after-ms")
    if not (status is None or status == 429 or is_paused or status in settings.retry_statuses):
        return None
    is_allowed = request.method in settings.methods if request.retry is None else request.retry
    step = decide_retry(request.sensitive, is_allowed and not request.is_stream, attempts, told.wait_ms, random, settings)
    # Only a 429 becomes an error. It tells a wait that was not believed, too.
    if isinstance(step, GiveUp) and status == 429:
        return GiveUp(step.reason, told.told_ms if told.wait_ms is None else told.wait_ms)
    return step if isinstance(step, Retry) else None


# The wait in the header fields.


class Wait(NamedTuple):
    wait_ms: float
    source: str


def parse_wait(headers: Headers, now: float) -> Wait | None:
    """The wait of the strongest field that states one."""
    return believed(field_places(headers, now))[0]


class Told(NamedTuple):
    wait_ms: float | None
    told_ms: float | None  # the first wait that is stated, believed or not


def read_wait(headers: Headers, now: float, body: str) -> Told:
    """The wait of the strongest field, or else member of the body, that states one."""
    wait, told_ms = believed([*field_places(headers, now), *body_places(parse_json(body), sent_at(headers, now))])
    return Told(wait and wait.wait_ms, told_ms)


Place = Tuple[str, Optional[float], bool]  # where the wait stands, the wait, and whether its unit is a guess


def believed(places: list[Place]) -> tuple[Wait | None, float | None]:
    """The first wait that is believed, and the first of all. A guess is believed up to one hour."""
    told = [(source, wait, is_guess) for source, wait, is_guess in places if wait is not None]
    wait = next((Wait(wait, source) for source, wait, is_guess in told if not is_guess or wait <= 3_600_000), None)
    return wait, told[0][1] if told else None


def field_places(headers: Headers, now: float) -> list[Place]:
    """Every field that may state a wait, the strongest first."""
    wait = parse_retry_after(headers, now)
    exact = decimal(header(headers, "retry-after-ms"), 0)
    exact = decimal(header(headers, "x-ms-retry-after-ms"), 0) if exact is None else exact
    # Milliseconds replace seconds that were rounded up from them. Otherwise the two disagree, and later is safe.
    if exact is not None and (wait is None or exact > wait - 1_000):
        return [("retry-after-ms", exact, False)]
    return [("retry-after", wait, False), *field_waits(headers, now)]


def body_places(body: Any, now: float) -> list[Place]:
    """Every member of the body that may state a wait, the strongest first. Their unit is seconds."""
    waits = [[seconds_to_ms(value) for value in members_at(body, path)] for path in MEMBERS]
    places = [("body", max((wait for wait in each if wait is not None), default=None), False) for each in waits]
    inner = [fields for fields in members_at(body, "error.metadata.headers") if isinstance(fields, dict)]
    return [*places, *(place for fields in inner for place in field_places(texts_of(fields), now))]


MEMBERS = [
    "retry_after",
    "error.retry_after",
    "parameters.retry_after",  # Telegram
    "error.details.retryDelay",  # Google
    "errors.extensions.retry_in_seconds",  # monday
]


def members_at(body: Any, path: str) -> list[Any]:
    """The values at a path of names. A list stands for each of its items."""
    values = body if isinstance(body, list) else [body]
    for name in path.split("."):
        found = [value[name] for value in values if isinstance(value, dict) and value.get(name) is not None]
        values = [item for value in found for item in (value if isinstance(value, list) else [value])]
    return values


def texts_of(fields: dict[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else f"{value:.15g}" for name, value in fields.items() if isinstance(value, (str, float))}


# The body. It may hold anything.

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
    places = body_places(parse_json(text), 0)
    return Refusal(
        codes[0] if codes else None,
        cut(messages[0], 300) if messages else None,
        (believed(places)[0] or Wait(None, "")).wait_ms,
        [each for each in policies if is_policy(each)][:16] if isinstance(policies, list) else None,
    )


def parse_object(text: str) -> dict[str, Any]:
    """The members of a JSON object. Empty for every other text."""
    value = parse_json(text)
    return value if isinstance(value, dict) else {}


def parse_json(text: str) -> Any:
    """The value of a JSON text. None for every other text, and for one above 65,536 characters."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"Expected JSON, got {constant}")

    try:
        return json.loads(cut(text.removeprefix("\ufeff"), 65_536), parse_int=float, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None


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
    """A number of seconds, at least 0, rounded up. A text may have the unit: 1.5s. More digits than a wait has are none."""
    if isinstance(value, str):
        return decimal(value.removesuffix("s"), 3)
    # `round` removes the binary error of 16.1 * 1000.
    return round_up(round(value * 1_000, 3)) if isinstance(value, float) and (value == 0 or 1e-6 <= value < 1e21) else None
