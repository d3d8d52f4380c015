"""`odradek log`: check, print and measure the files of a data directory, without changing anything."""

import argparse

from odradek.cli import log_dump, log_handover, log_sizes, log_verify


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    log_verify.add_arguments(
        verbs.add_parser(
            "verify",
            help="check whole data directories",
            description="Check data directories of Apache Kafka or odradek: every batch and its CRC, all indexes, "
            "producer snapshots, checkpoints. Nothing is written, and a broker may be running.",
        )
    )
    log_dump.add_arguments(
        verbs.add_parser(
            "dump",
            help="print segments, indexes, snapshots and checkpoints",
            description="Print what is in files of a data directory, in the form of Kafka's DumpLogSegments.",
        )
    )
    log_handover.add_arguments(
        verbs.add_parser(
            "handover",
            help="check whether Apache Kafka can take over, and print the settings that it needs",
            description="Check the log directories of a node that is stopped, and print the server.properties with "
            "which Apache Kafka 4.3 runs on them. What was found goes to standard error. Nothing is written.",
        )
    )
    log_sizes.add_arguments(
        verbs.add_parser(
            "sizes",
            help="show how large logs are",
            description="Show how large the logs of topics are: on the brokers of a cluster, or in data directories, "
            "without a broker. A size is that of the segments, without their indexes.",
        )
    )
