"""How messages are declared: a class for each, with its newest fields, and the versions of each field.

    class HeartbeatRequest(Message, key=12, versions=(0, 4), flexible=4):
        group_id: str
        generation_id: int32
        member_id: str
        group_instance_id: str | None = field(default=None, since=3)

A field without a default is in every version and must be given. Objects have slots; type checkers take them for
immutable, and so may everyone else. Declaring a class does little: constructor, readers and writers are made at their
first use, since most classes are never used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar, cast, dataclass_transform

from odradek.model.buffer import Buffer

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# --- the types of fields
#
# They say how a value is written. To a type checker they are what the value is in Python; the codec goes by their
# names. Beside them there are str, bytes, bool, structs, and tuples of any of these: `tuple[int32, ...] | None`.

int8: TypeAlias = int
int16: TypeAlias = int
int32: TypeAlias = int
int64: TypeAlias = int
uint16: TypeAlias = int
uint32: TypeAlias = int
float64: TypeAlias = float

uuid: TypeAlias = bytes
"""Its 16 bytes. To make a UUID object of them takes longer than to read a small message."""

NO_UUID: uuid = bytes(16)


class InFile(Protocol):
    """Records that lie in a file, and are sent from there: of them, a message has only the size."""

    @property
    def size(self) -> int: ...


records: TypeAlias = Buffer
"""Batches of records. Reading gives a view on the bytes that were read, not a copy."""

sendable_records: TypeAlias = Buffer | InFile
"""The same in a message that may be sent without having the records in memory."""

# --- fields

LATEST = sys.maxsize
"""As an upper bound: no end yet."""

BLANK: Any = object()
"""As the default of a field that is a struct: that struct with its own defaults."""

REQUIRED: Any = object()
"""In place of a default: the field must be given."""


class Field(NamedTuple):
    default: Any
    since: int = 0
    until: int = LATEST
    nullable: int = 0
    tag: int | None = None
    ignorable: bool = False
    compact: bool = True


def field(  # noqa: PLR0913 - a parameter for each column of the protocol's own tables
    *,
    default: T,
    since: int = 0,
    until: int = LATEST,
    nullable: int = 0,
    tag: int | None = None,
    ignorable: bool = False,
    compact: bool = True,
) -> T:
    """A field that is not the same in all versions. Read from a version without it, it has its default.

    `since` and `until` are the first and the last version that have it. A type with `| None` is nullable, but only
    from version `nullable` on. With a `tag` it is a tagged field. An `ignorable` one is left out where the version has
    no place for it; any other raises UnsupportedVersion there, unless it has its default. A string that is not
    `compact` is written in flexible versions as in older ones.
    """
    return cast("T", Field(default, since, until, nullable, tag, ignorable, compact))


class Spec:
    """What a message is beside its fields, and the functions compiled for it, by version."""

    __slots__ = ("flexible", "key", "readers", "versions", "writers")

    def __init__(self, versions: tuple[int, int], flexible: int | None = None, key: int | None = None) -> None:
        self.versions = versions
        self.flexible = LATEST if flexible is None else flexible
        """The first version with compact lengths and tagged fields."""
        self.key = key
        self.readers: dict[int, Callable[[Any], Any]] = {}
        self.writers: dict[int, Callable[[Any, bytearray, list[Any]], bytearray]] = {}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class StructType(type):
    """Makes slots of annotations."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> StructType:
        kinds = namespace.get("__annotations__", {})
        names = tuple([name for name, kind in kinds.items() if not kind.startswith("ClassVar")])
        namespace["__slots__"] = names
        namespace["declared"] = {name: namespace.pop(name, REQUIRED) for name in names}
        if options:
            namespace["spec"] = Spec(**options)
        return super().__new__(mcs, name, bases, namespace)


class Struct(metaclass=StructType):
    """A value with named fields: a whole message, or a part of one."""

    declared: ClassVar[dict[str, Any]]
    """Each field with what follows its `=`, or REQUIRED."""

    if not TYPE_CHECKING:  # which sees a constructor for each class

        def __init__(self, **values: object) -> None:
            kind = type(self)
            kind.__init__ = _constructor(kind)
            kind.__init__(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.declared)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Without the fields that have their default."""
        defaults = defaults_of(type(self))
        values = ((name, getattr(self, name)) for name in self.declared)
        shown = ", ".join(f"{name}={value!r}" for name, value in values if value != defaults[name])
        return f"{type(self).__name__}({shown})"


class Message(Struct):
    """A whole request, response or stored record."""

    spec: ClassVar[Spec]


M = TypeVar("M", bound=Message)
S = TypeVar("S", bound=Struct)


def replace(struct: S, **changes: Any) -> S:
    """A copy with other values in some fields."""
    return type(struct)(**{name: getattr(struct, name) for name in struct.declared} | changes)


def has_field(kind: type[Struct], name: str, version: int) -> bool:
    """Whether it has a field of this name, in this version."""
    about = kind.declared.get(name)
    if type(about) is Field:
        return about.since <= version <= about.until
    return name in kind.declared


class Slot(NamedTuple):
    """A field as one version has it."""

    name: str
    kind: str
    """The name of its type, or of that of its items."""
    struct: type[Struct] | None
    default: Any
    is_array: bool
    is_nullable: bool
    is_present: bool
    is_ignorable: bool
    is_compact: bool
    tag: int | None


def slots_of(kind: type[Struct], version: int, *, flexible: bool) -> list[Slot]:
    return [_slot(kind, name, version, flexible) for name in kind.declared]


def _slot(kind: type[Struct], name: str, version: int, flexible: bool) -> Slot:
    declared = kind.declared[name]
    about = declared if type(declared) is Field else Field(declared)
    type_name, is_array, is_nullable = _parse(kind.__annotations__[name])
    struct = vars(sys.modules[kind.__module__])[type_name] if type_name[0].isupper() else None
    return Slot(
        name=name,
        kind=type_name,
        struct=struct,
        default=_blank(struct) if about.default is BLANK else about.default,
        is_array=is_array,
        is_nullable=is_nullable and version >= about.nullable,
        is_present=about.since <= version <= about.until,
        is_ignorable=about.ignorable,
        is_compact=flexible and about.compact,
        tag=about.tag,
    )


def _parse(annotation: str) -> tuple[str, bool, bool]:
    """The name of the type, whether it is an array, whether it can be null: `tuple[int32, ...] | None`."""
    inner = annotation.removesuffix(" | None")
    item = inner.removeprefix("tuple[").removesuffix(", ...]")
    return item, item != inner, inner != annotation


_blanks: dict[type[Struct], Struct] = {}


def _blank(kind: type[Struct] | None) -> Struct:
    """The one object that stands for a struct that was not given, so that comparing with it is cheap."""
    assert kind is not None
    if kind not in _blanks:
        _blanks[kind] = kind()
    return _blanks[kind]


def defaults_of(kind: type[Struct]) -> dict[str, Any]:
    return {slot.name: slot.default for slot in slots_of(kind, 0, flexible=False)}


def _constructor(kind: type[Struct]) -> Callable[..., None]:
    defaults = defaults_of(kind)
    names = {f"default_{name}": value for name, value in defaults.items() if value is not REQUIRED}
    parameters = [f"{name}=default_{name}" if f"default_{name}" in names else name for name in defaults]
    body = [f"self.{name} = {name}" for name in defaults] or ["pass"]
    source = f"def __init__({', '.join(['self', *(['*'] if parameters else []), *parameters])}):\n    "
    exec(compile(source + "\n    ".join(body), f"<constructor of {kind.__name__}>", "exec"), names)
    made: Callable[..., None] = names["__init__"]
    return made
