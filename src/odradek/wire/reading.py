"""Compiles readers: for a message and a version, a function that makes the value from bytes.

The function is one straight line of code, with a loop for each array. What makes it fast, and what keeps it safe:

- Neighbours of a fixed size are unpacked by one call, together with the length or count that follows them.
- A length is not compared with what is left. Positions only grow, and a slice past the end is short, so one that runs
  too far shows at the next number, or at the end: the last position must be that of the last byte.
- A count is compared with what is left before anything is made for it: every item takes a byte at least.
"""

from collections.abc import Callable
from functools import cache
from struct import Struct as Packing
from struct import error as StructError

from odradek.model.buffer import Buffer
from odradek.model.errors import BadRequest, CorruptBatch
from odradek.records.varint import read_unsigned
from odradek.wire.schema import M, Slot, Struct
from odradek.wire.source import BYTES, FORMATS, RECORDS, Source, Unpack, fixed_size, has_records, unpack

_TEXT_BYTES_MAX = 32_767
"""In versions with compact lengths too, as with Kafka: what is read from one may be written with an int16."""


def compile_reader(kind: type[M], version: int) -> Callable[[Buffer], M]:
    return reader_source(kind, version).compile("read")


def reader_source(kind: type[M], version: int) -> Source:
    return _Reader(kind, version).whole()


class _Reader:
    def __init__(self, kind: type[M], version: int) -> None:
        self._source = source = Source(kind, version)
        self._fixed = source.run
        self._on_view = has_records(kind, version)
        source.names |= _NAMES

    def whole(self) -> Source:
        source = self._source
        what = f"{source.kind.__name__} version {source.version}"
        with source.block("def read(data):"):
            # Parts of bytes are made faster than parts of views, and stay when a buffer is used again. But records are
            # not to be copied: what holds them is read through a view.
            source.line("data = memoryview(data)" if self._on_view else "data = bytes(data)")
            source.line("size = len(data)")
            source.line("at = 0")
            with source.block("try:"):
                self._struct(source.kind, "message")
                self._flush()
            with source.block("except (StructError, IndexError):"):
                source.line(f"raise bad({what!r}, 'ends too early') from None")
            with source.block("except CorruptBatch as error:"):
                source.line(f"raise bad({what!r}, str(error)) from None")
            # Kafka does not look at what follows a request, and some clients leave bytes there: librdkafka does, when
            # it asks for the metadata of all topics. Nor at what follows the words of a consumer to others of its
            # group, where later versions have more fields.
            name = source.kind.__name__
            beyond = ">" if name.endswith("Request") or name.startswith("ConsumerProtocol") else "!="
            with source.block(f"if at {beyond} size:"):
                source.line(f"raise bad({what!r}, f'ends at {{at}}, not at {{size}}')")
            source.line("return message")
        return source

    # --- structs

    def _struct(self, kind: type[Struct], target: str) -> None:
        """A struct from here on, in the variable `target`. May leave a run open."""
        source = self._source
        source.line(f"{target} = new({source.name('Kind', kind)})")
        slots = source.slots(kind)
        tagged = [slot for slot in slots if slot.is_present and slot.tag is not None]
        for slot in slots:
            if slot.is_present and slot.tag is None:
                self._field(slot, f"{target}.{slot.name}")
            else:
                source.line(f"{target}.{slot.name} = {source.literal(slot.default)}")
        if source.flexible:
            self._tags(sorted(tagged, key=lambda slot: slot.tag or 0), target)

    def _tags(self, tagged: list[Slot], target: str) -> None:
        source = self._source
        count = source.fresh("tags")
        self._fixed.append(("B", count))
        self._flush()
        if not tagged:
            with source.block(f"if {count}:"):
                source.line("at = skip_tags(data, at - 1)")
            return
        with source.block(f"if {count}:"):
            self._long(count)
            tag, length, end = source.fresh("tag"), source.fresh("length"), source.fresh("end")
            with source.block(f"for _ in range({count}):"):
                source.line(f"{tag}, at = read_unsigned(data, at)")
                source.line(f"{length}, at = read_unsigned(data, at)")
                source.line(f"{end} = at + {length}")
                for slot in tagged:
                    with source.block(f"if {tag} == {slot.tag}:"):
                        self._field(slot, f"{target}.{slot.name}")
                        self._flush()
                        with source.block(f"if at != {end}:"):
                            source.line(f"raise bad({slot.name!r}, 'has not the size of its tag')")
                source.line(f"at = {end}")

    def _field(self, slot: Slot, target: str) -> None:
        if slot.is_array:
            self._array(slot, target)
        elif slot.struct is not None:
            self._nested(slot, slot.struct, target)
        elif slot.kind in FORMATS:
            self._fixed.append((FORMATS[slot.kind], target))
        else:
            self._sized(slot, target)

    def _nested(self, slot: Slot, kind: type[Struct], target: str) -> None:
        source = self._source
        inner = source.fresh("struct")
        if not slot.is_nullable:
            self._struct(kind, inner)
            source.line(f"{target} = {inner}")
            return
        marker = source.fresh("marker")
        if slot.tag is None:
            self._fixed.append(("b", marker))
            self._flush()
            is_null = f"{marker} < 0"
        else:  # a number here
            source.line(f"{marker}, at = read_unsigned(data, at)")
            is_null = f"not {marker}"
        with source.block(f"if {is_null}:"):
            source.line(f"{target} = None")
        with source.block("else:"):
            self._struct(kind, inner)
            self._flush()
            source.line(f"{target} = {inner}")

    # --- strings and bytes

    def _sized(self, slot: Slot, target: str) -> None:
        """A string or bytes, behind its length: that length plus one if compact."""
        source = self._source
        length = source.fresh("length")
        is_text = slot.kind == "str"
        self._length(slot, length, "h" if is_text else "i", slot.name if is_text else None)
        if slot.is_nullable:
            with source.block(f"if {length}:" if slot.is_compact else f"if {length} >= 0:"):
                self._part(slot, target, length)
            with source.block("else:"):
                source.line(f"{target} = None")
        else:
            with source.block(f"if not {length}:" if slot.is_compact else f"if {length} < 0:"):
                source.line(f"raise null({slot.name!r})")
            self._part(slot, target, length)

    def _length(self, slot: Slot, variable: str, form: str, text: str | None = None) -> None:
        """Ends the run with a length or count."""
        self._fixed.append(("B" if slot.is_compact else form, variable))
        self._flush()
        if slot.is_compact:
            self._long(variable, text)

    def _long(self, variable: str, text: str | None = None) -> None:
        """`variable` is a byte that may be only the first of a number: of the length of `text`, if that is named."""
        source = self._source
        with source.block(f"if {variable} > 127:"):
            source.line(f"{variable}, at = read_unsigned(data, at - 1)")
            if text is not None:
                with source.block(f"if {variable} > {_TEXT_BYTES_MAX + 1}:"):
                    source.line(f"raise too_long({text!r}, {variable} - 1)")

    def _part(self, slot: Slot, target: str, length: str) -> None:
        source = self._source
        source.line(f"end = at + {length} - 1" if slot.is_compact else f"end = at + {length}")
        if slot.kind in RECORDS:
            source.line(f"{target} = data[at:end]")
        elif slot.kind in BYTES:
            source.line(f"{target} = bytes(data[at:end])" if self._on_view else f"{target} = data[at:end]")
        elif self._on_view:
            source.line(f"{target} = str(data[at:end], 'utf-8', 'replace')")
        else:
            source.line(f"{target} = data[at:end].decode('utf-8', 'replace')")
        source.line("at = end")

    # --- arrays

    def _array(self, slot: Slot, target: str) -> None:
        source = self._source
        count = source.fresh("count")
        self._length(slot, count, "i")
        with source.block(f"if {count} > 1:" if slot.is_compact else f"if {count} > 0:"):
            if slot.is_compact:
                source.line(f"{count} -= 1")
            with source.block(f"if {count} > (size - at) // {self._least(slot)}:"):
                source.line(f"raise too_many({slot.name!r}, {count}, size - at)")
            self._items(slot, target, count)
        with source.block(f"elif {count}:" if slot.is_compact else f"elif {count} == 0:"):
            source.line(f"{target} = ()")
        with source.block("else:"):
            source.line(f"{target} = None" if slot.is_nullable else f"raise null({slot.name!r})")

    def _items(self, slot: Slot, target: str, count: str) -> None:
        source = self._source
        if slot.kind == "uuid":
            source.line(f"end = at + 16 * {count}")
            source.line(f"{target} = tuple([bytes(data[i:i + 16]) for i in range(at, end, 16)])")
            source.line("at = end")
        elif slot.kind in FORMATS:
            form = FORMATS[slot.kind]
            source.line(f"{target} = {source.name('unpack', _numbers(form))}[{count}](data, at)")
            source.line(f"at += {fixed_size(form)} * {count}")
        else:
            items, item = source.fresh("items"), source.fresh("item")
            source.line(f"{items} = []")
            with source.block(f"for _ in range({count}):"):
                if slot.struct is not None:
                    self._struct(slot.struct, item)
                else:
                    self._sized(slot._replace(is_nullable=False), item)
                self._flush()
                source.line(f"{items}.append({item})")
            source.line(f"{target} = tuple({items})")

    def _least(self, slot: Slot) -> int:
        """The fewest bytes that an item takes."""
        if slot.struct is not None:
            return max(self._least_struct(slot.struct), 1)  # no struct is empty, but the bound must not hang on that
        if slot.kind in FORMATS:
            return fixed_size(FORMATS[slot.kind])
        return 1 if slot.is_compact else 2 if slot.kind == "str" else 4

    def _least_struct(self, kind: type[Struct]) -> int:
        least = 1 if self._source.flexible else 0
        for slot in self._source.slots(kind):
            if slot.is_present and slot.tag is None:
                if slot.is_array:
                    least += 1 if slot.is_compact else 4
                elif slot.struct is not None and slot.is_nullable:
                    least += 1
                else:
                    least += self._least_struct(slot.struct) if slot.struct is not None else self._least(slot)
        return least

    # --- numbers

    def _flush(self) -> None:
        """Ends the run: unpacks what it has."""
        source, run = self._source, self._fixed
        if not run:
            return
        form = "".join(form for form, _ in run)
        if form == "B":
            source.line(f"{run[0][1]} = data[at]")
            source.line("at += 1")
        else:
            targets = ", ".join(target for _, target in run) + ("," if len(run) == 1 else "")
            source.line(f"{targets} = {source.name('unpack', unpack(form))}(data, at)")
            source.line(f"at += {fixed_size(form)}")
        run.clear()


# --- what compiled readers call


class _Numbers(dict[int, Unpack]):
    """Unpacks so many numbers, by their count. Only small counts are kept: a client chooses them."""

    def __init__(self, form: str) -> None:
        self._form = form

    def __missing__(self, count: int) -> Unpack:
        if count > _KEPT_MAX:
            return Packing(f">{count}{self._form}").unpack_from
        made = self[count] = unpack(f"{count}{self._form}")
        return made


_KEPT_MAX = 32

_numbers = cache(_Numbers)


def skip_tags(data: Buffer, at: int) -> int:
    """Where tagged fields end that nobody here knows. May be past the end of `data`."""
    count, at = read_unsigned(data, at)
    for _ in range(count):
        _, at = read_unsigned(data, at)
        length, at = read_unsigned(data, at)
        at += length
    return at


def _bad(what: str, why: str) -> BadRequest:
    return BadRequest(f"{what} {why}")


def _null(name: str) -> BadRequest:
    return BadRequest(f"{name} may not be null")


def _too_long(name: str, size: int) -> BadRequest:
    return BadRequest(f"{name} has {size} bytes; a string has {_TEXT_BYTES_MAX} at most")


def _too_many(name: str, count: int, left: int) -> BadRequest:
    return BadRequest(f"{name} has {count} items, with {left} bytes left")


_NAMES = {
    "new": object.__new__,
    "read_unsigned": read_unsigned,
    "skip_tags": skip_tags,
    "bad": _bad,
    "null": _null,
    "too_long": _too_long,
    "too_many": _too_many,
    "StructError": StructError,
    "CorruptBatch": CorruptBatch,
}
