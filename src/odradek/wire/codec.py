"""Buffer to values and back, for every message and stored record, in every version.

Readers and writers are compiled at the first use of a message in a version.
"""

from odradek.model.buffer import Buffer
from odradek.model.errors import UnsupportedVersion
from odradek.wire.reading import compile_reader
from odradek.wire.schema import M, Message
from odradek.wire.writing import Parts, compile_writer


def decode(kind: type[M], version: int, data: Buffer) -> M:
    """The message that `data` is, all of it.

    Raises BadRequest for bytes that are no such message, and nothing else for any bytes. Fields of records are views
    on `data`; all else is copied.
    """
    read = kind.spec.readers.get(version)
    if read is None:
        _check_version(kind, version)
        read = kind.spec.readers[version] = compile_reader(kind, version)
    message: M = read(data)
    return message


def encode(message: Message, version: int) -> bytes:
    """Raises UnsupportedVersion if this version has no place for the value of a field, unless it may be ignored.

    Records that lie in a file are not read: such a message can only be encoded in parts.
    """
    parts: Parts = []
    last = encode_onto(bytearray(), parts, message, version)
    return b"".join((*parts, last))  # type: ignore[arg-type]  # a part in a file raises TypeError


def encode_onto(out: bytearray, parts: Parts, message: Message, version: int) -> bytearray:
    """Writes behind what is in `out`, and returns the buffer that has the end of the message.

    That is `out` itself, unless there are large records: then `out`, the records and what is between them were added
    to `parts`, and the returned buffer follows on the last of them.
    """
    write = message.spec.writers.get(version)
    if write is None:
        _check_version(type(message), version)
        write = message.spec.writers[version] = compile_writer(type(message), version)
    return write(message, out, parts)


def _check_version(kind: type[Message], version: int) -> None:
    least, most = kind.spec.versions
    if not least <= version <= most:
        raise UnsupportedVersion(f"{kind.__name__} has versions {least} to {most}, not {version}")
