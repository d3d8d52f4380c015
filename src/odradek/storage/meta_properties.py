"""`meta.properties`, one in each log directory: whose directory it is."""

import re
from typing import NamedTuple

from odradek.model.errors import CorruptFile, NewerVersion
from odradek.process.files import Files, replace_file
from odradek.storage import names

VERSION = "1"

_NODE_ID = re.compile(r"[0-9]{1,10}")


class MetaProperties(NamedTuple):
    cluster_id: str
    node_id: int
    directory_id: str | None
    """None in directories from before Kafka 3.7, until they get one."""
    others: tuple[tuple[str, str], ...] = ()
    """Fields that we do not know, from a newer Kafka: kept as they are."""


def parse(data: bytes, path: str) -> MetaProperties:
    fields = parse_properties(data, path)
    version = fields.pop("version", None)
    if version is None:
        raise CorruptFile(f"{path}: no version")
    if version != VERSION:
        raise NewerVersion(f"{path}: version {version} of meta.properties is not known")
    for name in ("cluster.id", "node.id"):
        if name not in fields:
            raise CorruptFile(f"{path}: no {name}")
    node_id = fields.pop("node.id")
    if not _NODE_ID.fullmatch(node_id):
        raise CorruptFile(f"{path}: node.id {node_id[:40]!r} is no number")
    return MetaProperties(
        fields.pop("cluster.id"), int(node_id), fields.pop("directory.id", None), tuple(fields.items())
    )


def parse_properties(data: bytes, path: str) -> dict[str, str]:
    """The plain part of Java's property files: comments, name=value, a backslash before a character that stands out."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise CorruptFile(f"{path} at {error.start}: not text") from None
    fields = {}
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "!")):
            continue
        name, equals, value = stripped.partition("=")
        if not equals:
            raise CorruptFile(f"{path}, line {number}: {stripped!r} has no '='")
        fields[name.strip()] = value.strip().replace("\\:", ":").replace("\\=", "=").replace("\\\\", "\\")
    return fields


def pack(meta: MetaProperties) -> bytes:
    fields = [("cluster.id", meta.cluster_id), ("node.id", str(meta.node_id)), ("version", VERSION)]
    if meta.directory_id is not None:
        fields.append(("directory.id", meta.directory_id))
    lines = [f"{name}={_escape(value)}" for name, value in (*fields, *meta.others)]
    return "\n".join([*lines, ""]).encode()


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace(":", "\\:").replace("=", "\\=")


def read(files: Files, directory: str) -> MetaProperties | None:
    """None where the directory was never formatted."""
    path = f"{directory}/{names.META_PROPERTIES}"
    try:
        return parse(files.read_whole(path), path)
    except FileNotFoundError:
        return None


def write(files: Files, directory: str, meta: MetaProperties) -> None:
    replace_file(files, f"{directory}/{names.META_PROPERTIES}", pack(meta))
