"""`odradek log handover`: whether Apache Kafka can take over a node's directories, and the settings that it needs."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

from odradek.cli import lock_probe
from odradek.cli.handover.checks import check_directories, check_node
from odradek.cli.handover.node import Directory, Node
from odradek.cli.handover.properties import Addresses, server_properties
from odradek.cli.log_verify import EXIT_ERRORS, EXIT_NO_DIRECTORY, Progress, as_text, text_summary
from odradek.cli.streams import complain, lenient
from odradek.metadata.draft import Inconsistent
from odradek.model.address import Address, parse_address
from odradek.model.errors import CorruptBatch, CorruptFile, InvalidConfig, UnsupportedVersion
from odradek.process.files import Files, OsFiles
from odradek.quorum.opening import PARTITION as METADATA_PARTITION
from odradek.quorum.reading import read_metadata
from odradek.storage.verify import Finding, NotADataDirectory, Severity, Verification


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directories", nargs="+", metavar="DIR", help="a log directory, or one that holds several")
    parser.add_argument(
        "--listen",
        type=_address,
        metavar="HOST:PORT",
        help="where Kafka is to listen for clients (default: where clients know the node)",
    )
    parser.add_argument(
        "--controller",
        type=_address,
        metavar="HOST:PORT",
        help="where its controller is to listen (default: the port after the clients' one)",
    )
    parser.add_argument("--deep", action="store_true", help="also decompress every batch and read every record")
    parser.add_argument("--progress", action="store_true", help="show progress even if standard error is no terminal")
    parser.set_defaults(handler=run)


def _address(text: str) -> Address:
    try:
        return parse_address(text)
    except InvalidConfig as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(arguments: argparse.Namespace) -> int:
    """0 and the settings on standard output if Kafka can take over, 1 if something is in the way, 2 if a path is no
    log directory. What was found goes to standard error."""
    files, err = OsFiles(), lenient(sys.stderr)
    progress = Progress(err, shown=arguments.progress or err.isatty())
    verification = Verification(
        files, deep=arguments.deep, is_held=lock_probe.is_held, on_progress=progress.update, one_node=True
    )
    progress.tally = verification.tally
    try:
        for directory in arguments.directories:
            verification.add(directory)
    except NotADataDirectory as error:
        complain(error)
        return EXIT_NO_DIRECTORY
    if verification.partitions:
        complain(f"{verification.partitions[0]} is a partition's directory; name the log directory that it is in")
        return EXIT_NO_DIRECTORY
    handover = Handover(files, verification)
    counts: Counter[Severity] = Counter()
    try:
        for finding in handover.findings():
            counts[finding.severity] += 1
            progress.clear()
            print(as_text(finding), file=err)
    finally:
        progress.clear()
    print(text_summary(verification.tally, counts, progress.elapsed_s()), file=err)
    if counts[Severity.ERROR] or handover.node is None:
        return EXIT_ERRORS
    print(f"# For Apache Kafka 4.3 on the directories of node {handover.node.id}.")
    print("# Settings that the node was started with are not in its directories: add those that are to stay.")
    for line in server_properties(handover.node, Addresses(arguments.listen, arguments.controller)):
        print(line)
    return 0


class Handover:
    def __init__(self, files: Files, verification: Verification) -> None:
        self.node: Node | None = None
        """Once all findings are made; None where they are such that nothing can be said of it."""
        self._files = files
        self._verification = verification

    def findings(self) -> Iterator[Finding]:
        yield from self._verification.run()
        directories = [Directory.of(check) for check in self._verification.log_dirs]
        yield from check_directories(self._files, directories)
        with_metadata = next((each for each in directories if each.has_metadata), None)
        if with_metadata is None or with_metadata.meta is None:
            return
        path = f"{with_metadata.path}/{METADATA_PARTITION}"
        try:
            metadata = read_metadata(self._files, path)
        except (CorruptFile, CorruptBatch, Inconsistent, UnsupportedVersion) as error:
            yield Finding(Severity.ERROR, path, str(error).removeprefix(f"{path}: "))
            return
        node = Node(directories, with_metadata, metadata)
        yield from check_node(node)
        self.node = node
