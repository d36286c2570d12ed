"""Numbers, dates and Retry-After in header fields, for clients in other languages.

Waits are in milliseconds from the response's arrival and may be infinite. `now` is the wall clock in milliseconds since
1970. None means "not stated".
"""
from __future__ import annotations

import calendar
import math
import re
import time
from datetime import datetime
from typing import Mapping, Sequence, Union

DAY_MS = 86_400_000
Headers = Mapping[str, Union[str, Sequence[str]]]


def header(headers: Headers, name: str) -> str:
    """The value of the field `name`, given in lower case. "" when it is absent. Several lines are joined by commas."""
    for key, value in headers.items():
        if key.lower() == name:
            return (value if isinstance(value, str) else ",".join(value)).strip(" \t")
    return ""


def match_all(pattern: str, text: str) -> re.Match[str] | None:
    """Matches the whole text. Without re.ASCII, \\d would match the digits of every script."""
    return re.fullmatch(pattern, text, re.ASCII)


def round_up(number: float) -> float:
    return number if math.isinf(number) else math.ceil(number)


def decimal(text: str, exponent: int) -> float | None:
    """Digits with an optional fraction, times 10^exponent, rounded up. float("16.1e3") is exact, 16.1 * 1000 is not."""
    return round_up(float(f"{text}e{exponent}")) if match_all(r"\d+(\.\d+)?", text) else None


# RFC 9110, section 5.6.7. The first pattern also reads the mixtures of IMF-fixdate and rfc850 in old cookies.
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
TIME = r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d|60)"
IMF_FIXDATE_OR_RFC850 = rf"[A-Z][a-z]+, (?P<day>\d\d?)[ -](?P<month>[A-Z][a-z][a-z])[ -](?P<year>[1-9]\d\d\d|\d\d) {TIME} (?:GMT|UTC|[+-]0000)"
ASCTIME = rf"[A-Z][a-z][a-z] (?P<month>[A-Z][a-z][a-z]) +(?P<day>\d\d?) {TIME} (?P<year>[1-9]\d\d\d)"


def parse_http_date(text: str, now: float) -> float | None:
    """The instant in milliseconds since 1970, always as UTC. The weekday is not checked."""
    found = match_all(IMF_FIXDATE_OR_RFC850, text) or match_all(ASCTIME, text)
    if found is None or found["month"] not in MONTHS:
        return None
    month, day, year = MONTHS.index(found["month"]) + 1, int(found["day"]), int(found["year"])
    clock = int(found["hour"]), int(found["minute"]), int(found["second"])
    if len(found["year"]) == 2:
        # The latest year with these two digits whose date is at most 50 years after `now`.
        today = time.gmtime(now // 1_000)
        latest = calendar.timegm((today.tm_year + 50, *today[1:6])) + now % 1_000 / 1_000
        year = today.tm_year + 50 - (today.tm_year + 50 - year) % 100
        if calendar.timegm((year, month, day, *clock)) > latest:
            year -= 100
    exists = 1 <= day <= calendar.monthrange(year, month)[1]
    # timegm makes second 60 the first second of the next minute.
    return calendar.timegm((year, month, day, *clock)) * 1_000 if exists else None


def parse_instant(text: str, now: float) -> float | None:
    """ISO 8601 with a time zone, or an HTTP-date. Digits beyond milliseconds round up."""
    found = match_all(r"(\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d)(?:(:\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:?\d\d)", text)
    if found is None:
        return parse_http_date(text, now)
    minute, second, digits, zone = (group or "" for group in found.groups())
    try:
        at = datetime.fromisoformat(minute + second + ("+00:00" if zone == "Z" else f"{zone[:3]}:{zone[-2:]}"))
    except ValueError:
        return None
    return calendar.timegm(at.utctimetuple()) * 1_000 + int(digits.ljust(3, "0")[:3]) + (len(digits) > 3)


def list_items(text: str) -> list[str]:
    """The items of a list. The comma in an HTTP-date separates nothing."""
    return [item.strip() for item in re.split(r",(?!\s*\d\d?[ -][A-Z])", text, flags=re.ASCII)]


def sent_at(headers: Headers, now: float) -> float:
    """The response's own `Date`, so that a wrong clock of the phone cancels out. `now` without one."""
    date = parse_http_date(header(headers, "date"), now)
    return now if date is None else date


def parse_retry_after(headers: Headers, now: float) -> float | None:
    """The wait that `Retry-After` states. Of several it is the longest."""
    waits = [wait_of(item, sent_at(headers, now), now) for item in list_items(header(headers, "retry-after"))]
    return None if None in waits else max(wait for wait in waits if wait is not None)


def wait_of(item: str, sent: float, now: float) -> float | None:
    wait = decimal(item, 3)
    if wait is not None:
        return until_near_instant(wait, sent)
    at = parse_instant(item, now)
    return None if at is None else max(0, round_up(at - sent))


def until_near_instant(wait: float, sent: float) -> float:
    """Some servers send an instant, in seconds or milliseconds since 1970. Any other wait stays as it is."""
    until = (wait if wait < 1e15 else wait / 1_000) - sent
    # A clock that is not set begins at 0. Then each short wait would look like an instant.
    return max(0, round_up(until)) if wait >= 1e12 and -DAY_MS < until <= 365 * DAY_MS else wait
