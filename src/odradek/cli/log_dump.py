"""`odradek log dump`: what is in files of a data directory, line by line."""

import argparse
import os
import sys

from odradek.cli.dump import batches, decoders, indexes, texts
from odradek.cli.dump.printer import Printer
from odradek.cli.streams import lenient
from odradek.model.errors import CorruptFile
from odradek.process.files import Files, OsFiles
from odradek.storage import names

EXIT_USAGE = 2
_MARKS = (names.DELETED, names.CLEANED, names.SWAP)
_DECODERS = {
    # In the order in which Kafka's tool looks for them, should there be two.
    "--offsets-decoder": (decoders.offsets, "__consumer_offsets"),
    "--transaction-log-decoder": (decoders.transaction_log, "__transaction_state"),
    "--cluster-metadata-decoder": (decoders.cluster_metadata, "the metadata log and its snapshots"),
    "--share-group-state-decoder": (decoders.share_group_state, "__share_group_state"),
}
_REFUSED = {
    "--remote-log-metadata-decoder": "there is no tiered storage here",
    "--key-decoder-class": "Java classes cannot be run here",
    "--value-decoder-class": "Java classes cannot be run here",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="FILE", help="a segment, index, snapshot or checkpoint")
    parser.add_argument(
        "--files", metavar="FILE,FILE", help="the same, separated by commas, as Kafka's tool takes them"
    )
    parser.add_argument("--print-data-log", action="store_true", help="print records with their keys and values")
    parser.add_argument("--deep-iteration", action="store_true", help="print records, without their keys and values")
    parser.add_argument(
        "--skip-record-metadata",
        action="store_true",
        help="of records, print keys and values only; skip control records",
    )
    parser.add_argument(
        "--max-bytes", type=_size, default=batches.MAX_BYTES, metavar="SIZE", help="of each segment, read only so much"
    )
    parser.add_argument(
        "--index-sanity-check", action="store_true", help="only tell whether a broker would take an index or rebuild it"
    )
    parser.add_argument(
        "--verify-index-only", action="store_true", help="compare indexes with their segments, print no entries"
    )
    parser.add_argument("--max-message-size", type=_size, help=argparse.SUPPRESS)  # there is no such limit here
    for option, (_, what) in _DECODERS.items():
        parser.add_argument(option, action="store_true", help=f"print the records of {what} as JSON")
    for option in _REFUSED:
        parser.add_argument(option, nargs="?", const=True, help=argparse.SUPPRESS)
    parser.set_defaults(handler=run)


def _size(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def run(arguments: argparse.Namespace) -> int:
    """0 if all was printed, 1 if something could not be read or is wrong, 2 for what cannot be asked."""
    paths = [*arguments.paths, *(path.strip() for path in (arguments.files or "").split(",") if path.strip())]
    refusal = _refuse(arguments, paths)
    if refusal is not None:
        print(f"odradek: {refusal}", file=sys.stderr)
        return EXIT_USAGE
    printer = Printer(lenient(sys.stdout), lenient(sys.stderr))
    dump = Dump(OsFiles(), printer, arguments)
    for path in paths:
        dump.file(path)
    return 1 if printer.failed else 0


def _refuse(arguments: argparse.Namespace, paths: list[str]) -> str | None:
    for option, why in _REFUSED.items():
        if _is_set(arguments, option):
            return f"{option}: {why}; --print-data-log prints keys and values as text"
    if not paths:
        return "which files? odradek log dump FILE..."
    for path in paths:
        if os.path.isdir(path):
            return f"{path} is a directory, dump takes files; odradek log verify {path} checks it whole"
    return None


def _is_set(arguments: argparse.Namespace, option: str) -> bool:
    return bool(getattr(arguments, option[2:].replace("-", "_")))


class Dump:
    def __init__(self, files: Files, printer: Printer, arguments: argparse.Namespace) -> None:
        self._files = files
        self._printer = printer
        decoder = next((decoder for option, (decoder, _) in _DECODERS.items() if _is_set(arguments, option)), None)
        contents = arguments.print_data_log or decoder is not None
        self._batches = batches.DumpOptions(
            records=contents or arguments.deep_iteration,
            contents=contents,
            metadata=not arguments.skip_record_metadata,
            max_bytes=arguments.max_bytes,
            decoder=decoder,
        )
        self._index = indexes.IndexDumpOptions(
            sanity_only=arguments.index_sanity_check, verify_only=arguments.verify_index_only
        )

    def file(self, path: str) -> None:
        """Print one file. One that cannot be read does not keep the others from being printed."""
        self._printer.line(f"Dumping {path}")
        try:
            self._dispatch(path)
        except CorruptFile as error:
            self._printer.complain(path, str(error).removeprefix(path).removeprefix(": ").lstrip(", "))
        except BrokenPipeError:
            raise  # not the file: the one who reads our output has seen enough
        except OSError as error:
            self._printer.complain(path, error.strerror or str(error))

    def _dispatch(self, path: str) -> None:
        files, printer = self._files, self._printer
        name = os.path.basename(path)
        for mark in _MARKS:
            name = name.removesuffix(mark)
        suffix = name[name.rfind(".") :] if "." in name else ""
        if name in texts.FILES:
            texts.dump(files, path, name, printer)
        elif suffix in (names.LOG, ".checkpoint"):
            self._dump_batches(path)
        elif suffix == names.INDEX:
            indexes.dump_offset_index(files, path, printer, self._index)
        elif suffix == names.TIME_INDEX:
            indexes.dump_time_index(files, path, printer, self._index)
        elif suffix == names.TXN_INDEX:
            indexes.dump_txn_index(files, path, printer)
        elif suffix == names.SNAPSHOT:
            indexes.dump_producer_snapshot(files, path, printer)
        else:
            printer.complain(path, "ignoring a file of an unknown kind")

    def _dump_batches(self, path: str) -> None:
        file = self._files.open_to_read(path)
        try:
            batches.dump(file, self._printer, self._batches)
        finally:
            file.close()
