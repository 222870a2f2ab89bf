"""Read how far back somebody wants to look: a time, or how long ago it was."""

import re
from datetime import UTC, datetime, timedelta

FORMS = "30m, 12h, 7d or 2026-01-31T08:00"
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def since(text: str, now: datetime) -> datetime:
    """Return the time that was written; raise ValueError when it is none.

    Takes `2h`, `7d`, `2026-01-31` and `2026-01-31T08:00`; a time without a zone is one of UTC.
    """
    ago = re.fullmatch(r"([0-9]{1,9})([smhd])", text.strip())
    try:
        if ago is not None:
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        moment = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        raise ValueError(f"'{text[:100]}' is no time; write {FORMS}") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


__all__ = ["FORMS", "since"]
