"""The records of a topic, read as a member of a group."""

import argparse
import threading
from collections.abc import Iterator

from confluent_kafka import KafkaError, KafkaException, Message

from odradek.cli import librdkafka
from odradek.cli.polling import BATCH, Polling
from odradek.cli.streams import complain

PROTOCOLS = ("classic", "consumer")
_CLOSE_S = 5


class GroupReader:
    """Partitions come from the group. What was printed is committed: every few seconds, when they go, and in the end.

    So what is killed in between is printed again by whoever gets the partition; nothing is left out.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._polling = Polling(options, settings(options))
        self._at_end: set[int] = set()

    def close(self) -> None:
        """Commits, and leaves the group; says so if nobody is there to hear of it."""
        # A thread, since librdkafka waits for the session's timeout without hearing of Ctrl-C.
        closing = threading.Thread(target=self._polling.consumer.close, daemon=True)
        closing.start()
        closing.join(_CLOSE_S)
        if closing.is_alive():
            complain("no broker took the last commit: what was printed since the one before will be read again")

    def batches(self) -> Iterator[list[Message]]:
        """Raises KafkaException for what ends it. A batch is never empty; who asks for the next has printed it."""
        options = self._options
        self._polling.consumer.subscribe([options.topic])
        left = options.max
        while (left is None or left > 0) and not (options.until_end and self._is_through()):
            found = self._polling.take(BATCH if left is None else min(left, BATCH))
            messages = [message for message in found if self._is_record(message)]
            if messages:
                left = None if left is None else left - len(messages)
                yield messages
                self._mark(messages)

    def _is_through(self) -> bool:
        """Whether all partitions that the group gave us were read to their ends; not without any."""
        mine = {each.partition for each in self._polling.consumer.assignment()}
        return bool(mine) and mine <= self._at_end

    def _is_record(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            return True
        if error.code() == KafkaError._PARTITION_EOF:
            self._at_end.add(message.partition() or 0)
        elif error.code() == KafkaError._MAX_POLL_EXCEEDED:
            complain("what was printed was not taken for so long that the group gave the partitions to others")
        else:
            raise KafkaException(error)
        return False

    def _mark(self, messages: list[Message]) -> None:
        """From now on they may be committed."""
        for message in {message.partition(): message for message in messages}.values():
            try:
                self._polling.consumer.store_offsets(message=message)
            except KafkaException as error:
                # The partition went to another member meanwhile, which will print these records again.
                if error.args[0].code() != KafkaError._STATE:
                    raise


def settings(options: argparse.Namespace) -> dict[str, object]:
    """For librdkafka. The file of `--command-config` wins over our defaults, and what the call says over the file."""
    given = {"group.id": options.group, "enable.auto.commit": True}
    if options.protocol is not None:
        given["group.protocol"] = options.protocol
    if options.from_beginning:
        given["auto.offset.reset"] = "earliest"
    defaults = librdkafka.settings(
        options, group_protocol=PROTOCOLS[0], auto_offset_reset="latest", fetch_queue_backoff_ms=10
    )
    return {**defaults, **given, "enable.auto.offset.store": False, "enable.partition.eof": True}
