"""Compiles writers: for a message and a version, a function that adds the bytes of the value to a buffer.

As readers, they are one straight line of code that packs neighbours of a fixed size by one call. Records are not
copied: the buffer before them, the records themselves and a new buffer become parts to be sent one after the other.
"""

from collections.abc import Callable
from functools import cache
from struct import Struct as Packing

from odradek.model.buffer import Buffer
from odradek.model.errors import UnsupportedVersion
from odradek.records.varint import write_unsigned
from odradek.wire.schema import InFile, M, Slot, Struct
from odradek.wire.source import FORMATS, RECORDS, Pack, Source, pack

Parts = list[Buffer | InFile]
Writer = Callable[[M, bytearray, Parts], bytearray]


def compile_writer(kind: type[M], version: int) -> Writer[M]:
    """Takes a message, the buffer to go on with, and the parts before it. Returns the buffer to go on with then."""
    return writer_source(kind, version).compile("write")


def writer_source(kind: type[M], version: int) -> Source:
    return _Writer(kind, version).whole()


class _Writer:
    def __init__(self, kind: type[M], version: int) -> None:
        self._source = source = Source(kind, version)
        self._fixed = source.run
        self._out = "out"
        source.names |= _NAMES

    def whole(self) -> Source:
        source = self._source
        with source.block("def write(message, out, parts):"):
            self._struct(source.kind, "message")
            self._flush()
            source.line("return out")
        return source

    # --- structs

    def _struct(self, kind: type[Struct], value: str) -> None:
        """May leave a run open."""
        source = self._source
        slots = source.slots(kind)
        for slot in slots:
            if not slot.is_present:
                self._absent(kind, slot, f"{value}.{slot.name}")
            elif slot.tag is None:
                self._field(slot, f"{value}.{slot.name}")
        if source.flexible:
            tagged = [slot for slot in slots if slot.is_present and slot.tag is not None]
            self._tags(sorted(tagged, key=lambda slot: slot.tag or 0), value)

    def _absent(self, kind: type[Struct], slot: Slot, value: str) -> None:
        if not slot.is_ignorable:
            with self._source.block(f"if {self._differs(slot, value)}:"):
                self._source.line(f"raise unsupported({kind.__name__!r}, {slot.name!r}, {self._source.version})")

    def _differs(self, slot: Slot, value: str) -> str:
        """Whether `value` is not the field's default, as an expression."""
        if slot.default is None:
            return f"{value} is not None"
        if isinstance(slot.default, Struct):  # nearly always the very object
            default = self._source.literal(slot.default)
            return f"({value} is not {default} and {value} != {default})"
        if slot.default in (0, (), "") and not slot.is_nullable:
            return value
        return f"{value} != {self._source.literal(slot.default)}"

    def _tags(self, tagged: list[Slot], value: str) -> None:
        source = self._source
        if not tagged:
            self._fixed.append(("x", ""))
            return
        self._flush()
        differs = {slot.name: self._differs(slot, f"{value}.{slot.name}") for slot in tagged}
        with source.block(f"if {' or '.join(differs.values())}:"):
            tags, before = source.fresh("tags"), self._out
            source.line(f"{tags} = []")
            for slot in tagged:
                with source.block(f"if {differs[slot.name]}:"):
                    self._out = source.fresh("out")
                    source.line(f"{self._out} = bytearray()")
                    self._field(slot, f"{value}.{slot.name}")
                    self._flush()
                    source.line(f"{tags}.append(({slot.tag}, {self._out}))")
            self._out = before
            source.line(f"write_tags({self._out}, {tags})")
        with source.block("else:"):
            source.line(f"{self._out}.append(0)")

    def _field(self, slot: Slot, value: str) -> None:
        if slot.is_array:
            self._array(slot, value)
        elif slot.struct is not None:
            self._nested(slot, slot.struct, value)
        elif slot.kind in FORMATS:
            self._fixed.append((FORMATS[slot.kind], value))
        else:
            self._sized(slot, value)

    def _nested(self, slot: Slot, kind: type[Struct], value: str) -> None:
        source = self._source
        inner = source.fresh("struct")
        if not slot.is_nullable:
            source.line(f"{inner} = {value}")
            self._struct(kind, inner)
            return
        self._flush()
        source.line(f"{inner} = {value}")
        with source.block(f"if {inner} is None:"):
            source.line(f"{self._out}.append({255 if slot.tag is None else 0})")  # the first is -1
        with source.block("else:"):
            self._fixed.append(("b", "1"))
            self._struct(kind, inner)
            self._flush()

    # --- strings and bytes

    def _sized(self, slot: Slot, value: str) -> None:
        """A string or bytes, behind its length: that length plus one if compact."""
        source = self._source
        if slot.is_compact or slot.is_nullable or slot.kind in RECORDS:
            self._flush()
        part = source.fresh("part")
        source.line(f"{part} = {value}")
        if slot.is_nullable:
            with source.block(f"if {part} is None:"):
                source.line(f"{self._out} += {self._null(slot)}")
            with source.block("else:"):
                self._part(slot, part)
        else:
            self._part(slot, part)

    def _null(self, slot: Slot) -> str:
        if slot.is_compact:
            return "b'\\x00'"
        is_string = slot.kind == "str" and not slot.is_array
        return "b'\\xff\\xff'" if is_string else "b'\\xff\\xff\\xff\\xff'"

    def _part(self, slot: Slot, part: str) -> None:
        source = self._source
        form = "h" if slot.kind == "str" else "i"
        if slot.kind in RECORDS:
            size = source.fresh("size")
            source.line(f"{size} = size_of({part})")
            self._length(slot, size, form)
            self._flush()
            source.line(f"{self._out} = write_records({self._out}, parts, {part}, {size})")
            return
        if slot.kind == "str":
            source.line(f"{part} = {part}.encode()")
        self._length(slot, f"len({part})", form)
        self._flush()
        source.line(f"{self._out} += {part}")

    def _length(self, slot: Slot, value: str, form: str) -> None:
        """A length or count."""
        source = self._source
        if not slot.is_compact:
            self._fixed.append((form, value))
            return
        length = source.fresh("length")
        source.line(f"{length} = {value} + 1")
        with source.block(f"if {length} < 128:"):
            source.line(f"{self._out}.append({length})")
        with source.block("else:"):
            source.line(f"{self._out} += write_unsigned({length})")

    # --- arrays

    def _array(self, slot: Slot, value: str) -> None:
        source = self._source
        self._flush()
        items = source.fresh("items")
        source.line(f"{items} = {value}")
        if slot.is_nullable:
            with source.block(f"if {items} is None:"):
                source.line(f"{self._out} += {self._null(slot)}")
            with source.block("else:"):
                self._items(slot, items)
        else:
            self._items(slot, items)

    def _items(self, slot: Slot, items: str) -> None:
        source = self._source
        if slot.kind in FORMATS:
            count = source.fresh("count")
            source.line(f"{count} = len({items})")
            pack_numbers = source.name("pack", _numbers(FORMATS[slot.kind], slot.is_compact))
            length = f"{count} + 1" if slot.is_compact else count
            source.line(f"{self._out} += {pack_numbers}[{count}]({length}, *{items})")
            return
        self._length(slot, f"len({items})", "i")
        self._flush()
        item = source.fresh("item")
        with source.block(f"for {item} in {items}:"):
            if slot.struct is not None:
                self._struct(slot.struct, item)
            else:
                self._part(slot, item)
            self._flush()

    # --- numbers

    def _flush(self) -> None:
        """Ends the run: packs what it has."""
        source, run = self._source, self._fixed
        if not run:
            return
        form = "".join(form for form, _ in run)
        values = ", ".join(value for _, value in run if value)
        if not values:
            source.line(f"{self._out} += {bytes(len(run))!r}")
        else:
            source.line(f"{self._out} += {source.name('pack', pack(form))}({values})")
        run.clear()


# --- what compiled writers call


class _Numbers(dict[int, Pack]):
    """Packs a count and so many numbers, by how many they are."""

    def __init__(self, form: str, is_compact: bool) -> None:
        self._form = form
        self._is_compact = is_compact

    def __missing__(self, count: int) -> Pack:
        numbers = self._form * count if self._form == "16s" else f"{count}{self._form}"
        if count > _KEPT_MAX:
            return self._long(Packing(f">{numbers}").pack)
        made = self[count] = pack(f"{'B' if self._is_compact else 'i'}{numbers}")
        return made

    def _long(self, pack_numbers: Pack) -> Pack:
        write_count = write_unsigned if self._is_compact else pack("i")
        return lambda count, *numbers: write_count(count) + pack_numbers(*numbers)


_KEPT_MAX = 32
"""Longer ones are rare, and each would be kept for good. Below 127, so that a compact count is a byte."""

_numbers = cache(_Numbers)

_COPIED_MAX = 1024


def size_of(part: Buffer | InFile) -> int:
    return len(part) if isinstance(part, (bytes, bytearray, memoryview)) else part.size


def _write_records(out: bytearray, parts: Parts, records: Buffer | InFile, size: int) -> bytearray:
    """Small ones are cheaper to copy than to send as a part of their own."""
    if size <= _COPIED_MAX and isinstance(records, (bytes, bytearray, memoryview)):
        out += records
        return out
    parts += (out, records)
    return bytearray()


def _write_tags(out: bytearray, tags: list[tuple[int, bytearray]]) -> None:
    out += write_unsigned(len(tags))
    for tag, value in tags:
        out += write_unsigned(tag)
        out += write_unsigned(len(value))
        out += value


def _unsupported(kind: str, name: str, version: int) -> UnsupportedVersion:
    return UnsupportedVersion(f"{kind} has no {name} in version {version}")


_NAMES = {
    "write_unsigned": write_unsigned,
    "write_records": _write_records,
    "write_tags": _write_tags,
    "size_of": size_of,
    "unsupported": _unsupported,
}
