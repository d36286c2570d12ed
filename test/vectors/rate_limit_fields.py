"""The RateLimit fields, for clients in other languages: what remains of each limit, and until when.

Leave this file out if your server sends `Retry-After` with every 429. Then limit_families is an empty list.
"""
from __future__ import annotations

import math
import re
from typing import Callable, NamedTuple, Sequence, Union

from http_fields import Headers, decimal, header, list_items, match_all, parse_instant, round_up, sent_at

# RFC 9651, section 4.2, without inner lists. One mistake makes the whole field malformed.

Item = Union[str, int, None]  # a String or Token, an Integer; None for the types that these fields do not use
KEY = r"[a-z*][a-z0-9_.*-]*"
STRING = r'"(?:[ !#-\[\]-~]|\\["\\])*"'
TOKEN = r"[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*"
NUMBER = r"-?(?:\d{1,12}\.\d{1,3}(?!\d)|\d{1,15}(?![\d.]))"
OTHER = r':[A-Za-z0-9+/=]*:|\?[01]|@-?\d{1,15}|%"(?:[ !#$&-~]|%[0-9a-f]{2})*"'  # bytes, Boolean, Date, Display String


class Member(NamedTuple):
    key: str  # "" in a List
    value: Item
    params: dict[str, Item]


class Reader:
    """A field, and how far it was read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def take(self, pattern: str) -> str | None:
        found = re.compile(pattern, re.ASCII).match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found and found.group()

    def need(self, pattern: str) -> str:
        found = self.take(pattern)
        if found is None:
            raise ValueError(f"Expected {pattern} at character {self.at} of {self.text!r}")
        return found

    def item(self) -> Item:
        text = self.need(f"{STRING}|{TOKEN}|{NUMBER}|{OTHER}")
        if text[0] == '"':
            return re.sub(r"\\(.)", r"\1", text[1:-1])
        if match_all(r"-?\d+", text):
            return int(text)
        return text if match_all(TOKEN, text) else None

    def member(self, is_dictionary: bool) -> Member:
        key = self.need(KEY) if is_dictionary else ""
        value = self.item() if not is_dictionary or self.take("=") else None
        params: dict[str, Item] = {}
        while self.take("; *"):
            name = self.need(KEY)
            params[name] = self.item() if self.take("=") else None  # the last of several with one name counts
        return Member(key, value, params)


def parse_members(text: str, is_dictionary: bool = False) -> list[Member] | None:
    """The members of a List or Dictionary. None when the text is malformed."""
    reader, members = Reader(text), []
    try:
        while reader.at < len(text):
            members.append(reader.member(is_dictionary))
            if reader.at < len(text):
                reader.need(r"[ \t]*,[ \t]*(?=.)")
        return members
    except ValueError:
        return None


class RateLimit(NamedTuple):
    policy: str | None
    limit: int | None
    remaining: int
    reset_ms: float | None
    window_ms: int | None
    cost: int | None = None


def scaled(value: Item, scale: int = 1) -> int | None:
    return value * scale if isinstance(value, int) and value >= 0 else None


def named_limits(members: Sequence[Member], policies: Sequence[Member]) -> list[RateLimit]:
    """`RateLimit` of the drafts 08 to 11: `"name";r=50;t=30`. One malformed member makes the whole field malformed."""
    by_name = {policy.value: policy.params for policy in policies}
    limits = []
    for _, name, params in members:
        has_reset = "t" in params or "w" in params
        remaining, reset_ms = scaled(params.get("r", params.get("a"))), scaled(params.get("t", params.get("w")), 1_000)
        if not isinstance(name, str) or remaining is None or (has_reset and reset_ms is None):
            return []
        policy = by_name.get(name, {})
        limits.append(RateLimit(name, scaled(policy.get("q")), remaining, reset_ms, scaled(policy.get("w"), 1_000) or None, scaled(params.get("c"))))
    return limits


def leading_number(text: str) -> float | None:
    """The number that a text begins with: `76` of `76;w=21600`."""
    found = re.match(r"\s*(-?\d+(?:\.\d+)?)", text, re.ASCII)
    return float(found[1]) if found else None


def counters(field: Callable[[str], str], sent: float, policies: Sequence[Member] = ()) -> list[RateLimit]:
    """Limits, what remains of them and their resets, in three fields. Several servers in a row send lists."""
    lefts, totals = ([leading_number(each) for each in field(name).split(",")] for name in ("remaining", "limit"))
    resets = [parse_reset(text, sent) for text in list_items(field("reset"))]
    longest = max((reset for reset in resets if reset is not None), default=None)
    known = [*policies, *(parse_members(field("limit")) or [])]
    limits = []
    for index, left in enumerate(lefts):
        total = totals[index] if index < len(totals) else None
        if left is None or abs(left) >= 1e15 or (total is not None and total < 0):
            continue
        # Of one server, further limits name its policies. Of several, they may belong to any.
        is_aligned = len(lefts) in (1, len(totals))
        # The drafts 03 to 07 name a policy by its number of requests: 100;w=60.
        windows = [each.params["w"] for each in known if is_aligned and each.value == total is not None and "w" in each.params]
        window_ms = scaled(windows[0], 1_000) if windows else None
        limit = int(total) if is_aligned and total is not None and total.is_integer() and total < 2**53 else None
        reset = resets[index] if index < len(resets) and resets[index] is not None else longest
        limits.append(RateLimit(None, limit, max(0, math.floor(left)), reset, window_ms or None))
    return limits


def dictionary_limits(members: Sequence[Member], policies: Sequence[Member], sent: float) -> list[RateLimit]:
    """`RateLimit` of draft 07: `limit=100, remaining=50, reset=5`."""
    values = {key: scaled(value) for key, value, _ in members}
    limits = counters(lambda name: str(values.get(name)), sent, policies)
    return [each for each in limits if each.limit is not None and each.reset_ms is not None]


def parse_reset(text: str, sent: float) -> float | None:
    """A reset field. No service names its unit, so the value decides: seconds, an instant in numbers, or a date."""
    number = decimal(text, 3)
    if number is not None and number < 1e12:
        return number
    at = parse_instant(text, sent) if number is None else number if number < 1e15 else number / 1_000
    return None if at is None or len(text) > 64 else max(0, round_up(at - sent))


def rate_limit_wait(headers: Headers, now: float) -> float | None:
    """The wait of `RateLimit`: the longest of the items with nothing left. A malformed item states nothing."""
    text = header(headers, "ratelimit")
    # Draft 07 states one limit in several members.
    items = [text.replace(",", ";")] if "remaining=" in text else text.split(",")
    waits = []
    for item in items:
        params = dict((*part.strip().split("="), "", "")[:2] for part in item.split(";"))
        left = first_of(params, "remaining", "r", "a")
        wait = parse_reset(first_of(params, "reset", "t", "w"), sent_at(headers, now))
        if decimal(left, 0) == 0 and wait is not None:
            waits.append(wait)
    return max(waits, default=None)


def first_of(params: dict[str, str], *names: str) -> str:
    return next((params[name] for name in names if name in params), "")


def field_waits(headers: Headers, now: float) -> list[tuple[str, float | None, bool]]:
    """The wait of each family of fields, the strongest first, and whether its unit is a guess."""
    if is_cached(headers):
        return []
    waits = [("ratelimit", rate_limit_wait(headers, now), False)]
    for prefix, source in (("ratelimit-", "ratelimit-reset"), ("x-ratelimit-", "vendor"), ("x-rate-limit-", "vendor")):
        limits = counters(lambda name: header(headers, prefix + name), sent_at(headers, now))
        resets = [each.reset_ms for each in limits if each.remaining == 0 and each.reset_ms is not None]
        # A refusal has nothing left, unless a field says otherwise.
        lefts, totals = ([leading_number(each) for each in header(headers, prefix + name).split(",")] for name in ("remaining", "limit"))
        untold = [totals[i] if i < len(totals) else None for i, left in enumerate(lefts) if left is None]
        if not has_left(headers) and any(total is None or total >= 0 for total in untold):
            each_reset = [parse_reset(text, sent_at(headers, now)) for text in list_items(header(headers, prefix + "reset"))]
            resets += [reset for reset in each_reset if reset is not None]
        waits.append((source, max(resets, default=None), True))
    return waits


def has_left(headers: Headers) -> bool:
    """Whether any field says that something is left."""
    names = ("ratelimit-remaining", "x-ratelimit-remaining", "x-rate-limit-remaining")
    texts = [text for name in names for text in header(headers, name).split(",")]
    text = header(headers, "ratelimit")
    for item in [text.replace(",", ";")] if "remaining=" in text else text.split(","):
        texts.append(first_of(dict((*part.strip().split("="), "", "")[:2] for part in item.split(";")), "remaining", "r", "a"))
    return any((leading_number(each) or 0) >= 1 for each in texts)


def is_cached(headers: Headers) -> bool:
    return bool(decimal(header(headers, "age"), 0))


def limit_families(headers: Headers, now: float) -> list[tuple[str, list[RateLimit]]]:
    """The limits of each family of fields, the strongest family first."""
    if is_cached(headers):
        return []
    policies = parse_members(header(headers, "ratelimit-policy")) or []
    text, sent = header(headers, "ratelimit"), sent_at(headers, now)
    members = parse_members(text)
    named = dictionary_limits(parse_members(text, True) or [], policies, sent) if members is None else named_limits(members, policies)
    return [
        ("ratelimit", named),
        ("ratelimit-reset", counters(lambda name: header(headers, f"ratelimit-{name}"), sent, policies)),
        ("vendor", counters(lambda name: header(headers, f"x-ratelimit-{name}"), sent)),
    ]


def parse_rate_limit(headers: Headers, now: float) -> list[RateLimit] | None:
    """The limits of the strongest family that has any."""
    return next((limits for _, limits in limit_families(headers, now) if limits), None)
