"""Members of a group with confluent-kafka, each in a thread of its own: see README.md."""

import json
import sys
import threading
import time
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

_POLL_S = 0.05
_RECORDS_MAX = 100


class Member:
    def __init__(self, name: str, topic: str, settings: dict[str, Any]) -> None:
        self.is_stopping = False
        self._name = name
        self._topic = topic
        self._next: dict[int, int] = {}
        self._is_behind = False  # with its commits
        self._consumer = Consumer({**settings, "client.id": name})
        calls = {"on_assign": self._assigned, "on_revoke": self._revoked, "on_lost": self._lost}
        self._consumer.subscribe([topic], **calls)
        threading.Thread(target=self._run, name=name).start()

    def _run(self) -> None:
        try:
            self._play()
        except BaseException as error:
            self._tell("failed", error=repr(error))
            raise
        finally:
            self._consumer.close()
        self._tell("stopped")

    def _play(self) -> None:
        while not self.is_stopping:
            self._take_some()
        # Whatever waits to be called is called before it is closed: `close` may hang on it, see docs/clients.md.
        self._consumer.unsubscribe()
        while self._take_some() or self._consumer.assignment():
            pass

    def _take_some(self) -> int:
        """How many records it processed, and tried to commit."""
        timeout_s = _POLL_S
        processed = 0
        while processed < _RECORDS_MAX and (message := self._consumer.poll(timeout_s)) is not None:
            if (error := message.error()) is not None:
                # Members that join while the group moves between protocols are told to join again.
                self._tell("refused", error=error.name())
                if error.fatal():
                    raise KafkaException(error)
                continue
            self._process(message)
            processed += 1
            timeout_s = 0
        if self._is_behind and self._next:
            self._is_behind = not self._commit(self._next)
        return processed

    def _process(self, message: Message) -> None:
        partition, offset, value = message.partition(), message.offset(), message.value()
        if partition is None or offset is None or value is None:
            raise ValueError("a record without its place or its value")
        self._next[partition] = offset + 1
        self._is_behind = True
        self._tell("processed", partition=partition, offset=offset, value=value.decode())

    def _commit(self, offsets: dict[int, int]) -> bool:
        asked = [TopicPartition(self._topic, partition, offset) for partition, offset in offsets.items()]
        try:
            answered = self._consumer.commit(offsets=asked, asynchronous=False)
        except KafkaException as refused:
            self._tell("refused", error=refused.args[0].name())
            return False
        failed = [each.error.name() for each in answered if each.error is not None]
        for name in failed:
            self._tell("refused", error=name)
        if failed:
            return False
        self._tell("committed", offsets=dict(sorted(offsets.items())))
        return True

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._tell("assigned", partitions=sorted(each.partition for each in partitions))

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        gone = sorted(each.partition for each in partitions)
        last = {partition: self._next.pop(partition) for partition in gone if partition in self._next}
        if last:
            self._commit(last)
        self._tell("revoked", partitions=gone)

    def _lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        gone = sorted(each.partition for each in partitions)
        for partition in gone:
            self._next.pop(partition, None)
        self._tell("lost", partitions=gone)

    def _tell(self, what: str, **fields: Any) -> None:
        event = {"who": self._name, "what": what, "at": time.monotonic_ns(), **fields}
        sys.stdout.write(json.dumps(event) + "\n")  # one call: lines of threads do not mix
        sys.stdout.flush()


def main() -> None:
    bootstrap, topic, given = sys.argv[1:]
    settings = {**json.loads(given), "bootstrap.servers": bootstrap}
    members: dict[str, Member] = {}
    for line in sys.stdin:
        command, name = line.split()
        if command == "start":
            members[name] = Member(name, topic, settings)
        else:
            members.pop(name).is_stopping = True
    for member in members.values():
        member.is_stopping = True


if __name__ == "__main__":
    main()
