"""Options as Spark hands them over, names in any case and values as text, read with the checks that each needs."""

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

from odradek.model.errors import OdradekError

_TIME = re.compile(r"(\d+)\s*([a-z]*)")
INT32_MAX = (1 << 31) - 1
INT64_MAX = (1 << 63) - 1
_SECURITY = ("kafka.ssl.", "kafka.sasl.")
_OF_CATALOG = re.compile(r"option\..*|owner|provider")
"""What Spark hands over of a table of its catalog, besides the options that it was made with."""
_NEAR = 0.75
"""How alike a name must be to be what was meant: all begin with the same word."""
_UNITS_MS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


class InvalidOption(OdradekError):
    """An option that is missing, unknown or has a value that does not do."""

    def __init__(self, name: str, why: str, what_to_do: str) -> None:
        super().__init__(f"option {name}: {why}; {what_to_do}")
        self.name = name


class GivenOptions:
    """`text` and the like give None, or the default, for an option that is not there."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._values = {name.lower(): value for name, value in options.items()}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def refuse_others(self, taken: Iterable[str], refused: Mapping[str, str], of: str) -> None:
        """All but those that are taken. `refused` has, in lower case, what to do in place of some that users try."""
        known = {name.lower(): name for name in taken}
        if any(map(_OF_CATALOG.fullmatch, self._values)):
            raise InvalidOption(
                "USING odradek",
                "Spark reads no table of its catalog through a source in Python",
                "use CREATE TEMPORARY VIEW ... USING odradek OPTIONS (...)",
            )
        for name in sorted(self._values):
            if name in refused:
                raise InvalidOption(name, "it is not taken", refused[name])
            if name.startswith(_SECURITY):
                raise InvalidOption(name, "TLS and SASL are not there yet", "use a PLAINTEXT listener")
            if name not in known:
                near = [known[each] for each in get_close_matches(name, known, n=1, cutoff=_NEAR)]
                hint = f"did you mean {near[0]}?" if near else f"the options of the {of} are in docs/spark.md"
                raise InvalidOption(name, "there is no such option", hint)

    def text(self, name: str) -> str | None:
        value = self._values.get(name.lower())
        return None if value is None else value.strip()

    def flag(self, name: str, default: bool) -> bool:
        chosen = self.choice(name, ("true", "false"))
        return default if chosen is None else chosen == "true"

    def choice(self, name: str, among: Collection[str]) -> str | None:
        """In any case."""
        text = self.text(name)
        if text is not None and text.lower() not in among:
            raise InvalidOption(name, f"{text!r} is not known", f"it is one of {', '.join(among)}")
        return None if text is None else text.lower()

    def whole(self, name: str, least: int = 1, most: int = INT64_MAX) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        number = int(text) if re.fullmatch(r"[+-]?\d{1,19}", text) else None
        if number is None or not least <= number <= most:
            bound = f"of at least {least}" if most == INT64_MAX else f"from {least} to {most}"
            raise InvalidOption(name, f"{text!r} does not do", f"give a whole number {bound}")
        return number

    def time_ms(self, name: str) -> int | None:
        """`15m` and the like; without a unit, milliseconds."""
        text = self.text(name)
        if text is None:
            return None
        found = _TIME.fullmatch(text.lower())
        if found is None or found[2] not in _UNITS_MS:
            raise InvalidOption(name, f"{text!r} is no time", "give a number with ms, s, m, h or d, for example 15m")
        return int(found[1]) * _UNITS_MS[found[2]]
