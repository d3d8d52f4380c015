"""What a setting is: one declaration that holds its name, kind, default, limits and meaning.

Checks, tables in the docs and answers to DescribeConfigs all derive from it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, Generic, NamedTuple, TypeVar, cast

from odradek.model.errors import InvalidConfig

T = TypeVar("T")

INT_MAX = (1 << 31) - 1
LONG_MAX = (1 << 63) - 1
"""How Kafka writes "no limit" where a number is asked for, as it does with INT_MAX."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_KEY = "key"


class Kind(IntEnum):
    """Numbered as DescribeConfigs numbers them."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Live(Enum):
    """For whom a broker's setting may be changed while brokers run."""

    PER_BROKER = "per-broker"
    """For one broker at a time."""
    CLUSTER_WIDE = "cluster-wide"
    """For one broker or for all."""


class Synonym(NamedTuple):
    """A broker's setting that stands in where the narrower one is not set."""

    name: str
    unit: int = 1
    """Its value times this is the value of the narrower setting: 3,600,000 where one counts hours, the other ms."""


@dataclass(frozen=True, slots=True)
class Key(Generic[T]):
    """A setting. `T` is what its text becomes: bool, str, int, float, or tuple of str for lists."""

    name: str
    kind: Kind
    default: T
    doc: str
    least: float | None = None
    most: float | None = None
    besides: tuple[int, ...] = ()
    """Numbers that are valid outside the limits."""
    valid: tuple[str, ...] = ()
    """The valid texts, or the valid entries of a list. Empty: any."""
    distinct: bool = False
    """For lists: an entry that comes again is dropped, and none is empty. So it is for lists with valid entries."""
    any_case: bool = False
    """Whether a valid text may be written in capitals or not. It is read as `valid` spells it."""
    refuses: Callable[[T], str | None] | None = None
    """A rule of its own: says what is wrong with a value, or None."""
    synonyms: tuple[Synonym, ...] = ()
    """First come, first served."""
    live: Live | None = None
    """For broker settings: None are read at the start and stay."""
    required: bool = False
    """Must be given. The default then stands for "not given" and is not valid itself."""
    internal: bool = False
    """For tests: works, but is not shown."""

    def parse(self, text: str) -> T:
        """The value that `text` stands for. Raises InvalidConfig, which names the setting and what is wrong with it."""
        value = cast("T", self._tidied(_READERS[self.kind](self.name, text.strip())))
        complaint = self._complaint(value)
        if complaint:
            raise _invalid(self.name, text, complaint)
        return value

    def format(self, value: T) -> str | None:
        """The text that parses to `value`. None, for a setting without a value, has none."""
        if value is None:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return ",".join(value)
        if isinstance(value, float):
            return repr(value).replace("e+", "E").replace("e", "E")  # as Kafka prints it
        return str(value)

    @property
    def is_sensitive(self) -> bool:
        """Whether its value must not be shown to anybody, in no log and no answer."""
        return self.kind is Kind.PASSWORD

    def limits(self) -> str:
        """The valid values in a form for tables, empty if there is no limit."""
        if self.valid:
            return ", ".join(self.valid)
        if self.least is None and self.most is None:
            return ""
        least, most = ("" if bound is None else str(bound) for bound in (self.least, self.most))
        return ", ".join([f"{least}..{most}", *map(str, self.besides)])

    def _tidied(self, value: object) -> object:
        if isinstance(value, tuple) and (self.distinct or self.valid):
            return tuple(dict.fromkeys(value))
        if isinstance(value, str) and self.any_case:
            return next((valid for valid in self.valid if valid.lower() == value.lower()), value)
        return value

    def _complaint(self, value: T) -> str | None:
        if isinstance(value, (int, float)) and value not in self.besides:
            if self.least is not None and value < self.least:
                return f"must be at least {self.least}"
            if self.most is not None and value > self.most:
                return f"must be no more than {self.most}"
        if self.distinct and isinstance(value, tuple) and "" in value:
            return "an entry is empty"
        for name in (value if isinstance(value, tuple) else (value,)) if self.valid else ():
            if name not in self.valid:
                which = f"{name!r} " if isinstance(value, tuple) else ""
                return f"{which}must be one of: {', '.join(self.valid)}"
        return self.refuses(value) if self.refuses else None


def setting(key: Key[T]) -> T:
    """Declares an attribute of a dataclass: its default is the key's. `keys_of` finds the key again."""
    return field(default=key.default, metadata={_KEY: key})


def keys_of(config: type[Any]) -> dict[str, Key[Any]]:
    """The keys that a dataclass declares with `setting`, by name, in the order of declaration."""
    metadata = (attribute.metadata for attribute in config.__dataclass_fields__.values())
    return {each[_KEY].name: each[_KEY] for each in metadata if _KEY in each}


def attribute_of(name: str) -> str:
    """The attribute that holds the setting of this name."""
    return name.replace(".", "_")


def _invalid(name: str, text: str, complaint: str) -> InvalidConfig:
    shown = text if text.isprintable() else repr(text)  # in one line, whatever it is
    return InvalidConfig(f"Invalid value {shown} for configuration {name}: {complaint}")


def _read_boolean(name: str, text: str) -> bool:
    lower = text.lower()
    if lower not in ("true", "false"):
        raise _invalid(name, text, "must be either true or false")
    return lower == "true"


def _read_string(name: str, text: str) -> str:
    return text


def _read_int(name: str, text: str) -> int:
    return _read_integer(name, text, Kind.INT, 32)


def _read_short(name: str, text: str) -> int:
    return _read_integer(name, text, Kind.SHORT, 16)


def _read_long(name: str, text: str) -> int:
    return _read_integer(name, text, Kind.LONG, 64)


def _read_integer(name: str, text: str, kind: Kind, bits: int) -> int:
    if not _INTEGER.fullmatch(text):
        raise _invalid(name, text[:40], f"must be a whole number of type {kind.name}")
    # Twenty characters hold every int64; int() would take its time over a text that is far longer.
    value = int(text) if len(text) <= 20 else 1 << 64
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise _invalid(name, text[:40], f"does not fit into a number of type {kind.name}")
    return value


def _read_double(name: str, text: str) -> float:
    if not _DECIMAL.fullmatch(text):
        raise _invalid(name, text[:40], "must be a number of type DOUBLE")
    return float(text)


def _read_list(name: str, text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in text.split(",")) if text else ()


_READERS: dict[Kind, Callable[[str, str], object]] = {
    Kind.BOOLEAN: _read_boolean,
    Kind.STRING: _read_string,
    Kind.INT: _read_int,
    Kind.SHORT: _read_short,
    Kind.LONG: _read_long,
    Kind.DOUBLE: _read_double,
    Kind.LIST: _read_list,
    Kind.CLASS: _read_string,
    Kind.PASSWORD: _read_string,
}
