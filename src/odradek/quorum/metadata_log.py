"""The log `__cluster_metadata-0` with a quorum of one: append, sync, commit, publish.

    commit(records) -> replayed onto the latest image -> appended as one batch -> synced -> published to listeners

There are two images. `image` is committed: it is what clients are told. `latest` contains what is appended and not yet
synced, too: it is what the next command decides on. One sync serves all who wait for it.
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from odradek.metadata.bootstrap import activation_records
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.metadata.replay import Batch, Replay
from odradek.model.numbers import LeaderEpoch, Offset
from odradek.quorum import batches, snapshot_file, vote_file
from odradek.quorum.batches import BatchStamp
from odradek.quorum.opening import MetadataSetting, open_log, read_bootstrap
from odradek.quorum.publisher import MetadataPublisher
from odradek.quorum.snapshot_file import SnapshotId, SnapshotWriter
from odradek.quorum.snapshots import Retention, Snapshots
from odradek.quorum.vote_file import Vote
from odradek.records.batch import parse_head
from odradek.storage.flush import Flusher
from odradek.storage.log import Log, Origin
from odradek.storage.log_dir import LogDir
from odradek.wire.records.control import LeaderChangeMessage, LeaderChangeVoter
from odradek.wire.schema import Message

if TYPE_CHECKING:
    from odradek.storage.recovery import Event


class _Pending(NamedTuple):
    """A batch that is appended but not yet committed."""

    end_offset: Offset
    delta: Delta
    replayed: Replay
    size: int


class _Begun(NamedTuple):
    """A snapshot that is being written."""

    id: SnapshotId
    writer: SnapshotWriter
    parts: Iterator[bytearray]
    bytes_covered: int


class MetadataLog:
    def __init__(self, log: Log, setting: MetadataSetting, pool: Executor, publisher: MetadataPublisher) -> None:
        self.events: list[Event] = []
        """What opening found and mended, for the node's log."""
        self.epoch = LeaderEpoch(0)
        """In which this node leads."""
        self._log = log
        self._setting = setting
        self._pool = pool
        self._publisher = publisher
        self._flusher = Flusher(pool)
        self._snapshots = Snapshots(log)
        self._committed = self._appended = Replay()
        self._pending: deque[_Pending] = deque()
        self._bytes_since_snapshot = 0
        self._snapshot_ms = log.log_dir.clock.now_ms()

    # --- opening

    @classmethod
    def open(
        cls, log_dir: LogDir, setting: MetadataSetting, pool: Executor, publisher: MetadataPublisher
    ) -> "MetadataLog":
        """Recover the log in a directory that is open already, load it, and begin to lead. Blocks.

        Raises InvalidConfig where the directory is not formatted or belongs to a larger quorum; CorruptFile,
        CorruptBatch or Inconsistent where the log makes no sense; UnsupportedVersion where a newer Kafka wrote it;
        StorageFailed where the disk fails.
        """
        events: list[Event] = []
        log = open_log(log_dir, setting, events)
        opened = cls(log, setting, pool, publisher)
        opened.events += events
        try:
            opened._load()
            opened._lead(log_dir)
        except OSError as error:
            log.abandon()
            raise log_dir.take_offline(error) from error
        except BaseException:
            log.abandon()
            raise
        return opened

    def _load(self) -> None:
        """The newest snapshot that is whole, and the records after it."""
        start = Offset(0)
        found = self._snapshots.load(self.events)
        if found is not None:
            if self._is_past_the_log(found.id):
                self._log.start_anew(found.id.end_offset)
            self._appended = Replay(found.image)
            start = found.id.end_offset
        for head, view in batches.in_log(self._log, start):
            self._appended, _ = self._appended.apply(batches.read(view, head, start))
            self._bytes_since_snapshot += head.size
        self._committed = self._appended

    def _is_past_the_log(self, snapshot: SnapshotId) -> bool:
        """A crash took the end of the log, but not the snapshot of it."""
        latest = max(self._log.epochs.latest, 0)
        return snapshot.epoch > latest or (snapshot.epoch == latest and snapshot.end_offset > self._log.end_offset)

    def _lead(self, log_dir: LogDir) -> None:
        """Begin a new epoch, in which this node is the leader, and write what a new leader has to."""
        files, directory = self._log.log_dir.files, self._log.directory
        vote = vote_file.read(files, directory)
        voters = self.image.voters
        voters.check(self._setting.node_id, vote.voters)
        bootstrap = () if self.image.features else read_bootstrap(log_dir)
        self.epoch = LeaderEpoch(max(vote.epoch, self._log.epochs.latest, self.image.epoch, 0) + 1)
        # Crash after this: the next start begins the epoch after it.
        vote = Vote(self.epoch, self._setting.node_id, (self._setting.node_id,))
        vote_file.write(files, directory, vote, version=min(voters.kraft_version, 1))
        self._append_control(self._first_control_records())
        records = activation_records(self._appended, bootstrap, self._setting.min_insync_replicas)
        if records:
            self._append(records)
        self._sync()

    def _first_control_records(self) -> tuple[Message, ...]:
        me = (LeaderChangeVoter(voter_id=self._setting.node_id),)
        change = LeaderChangeMessage(version=0, leader_id=self._setting.node_id, voters=me, granting_voters=me)
        # Formatting leaves the first voters in a snapshot of the empty log: from there they go into the log.
        return (change, *self.image.voters.records()) if self.image.end_offset == 0 else (change,)

    # --- images

    @property
    def image(self) -> Image:
        """All that is committed."""
        return self._committed.image

    @property
    def latest(self) -> Image:
        """All that is appended: what a command has to decide on, so that two do not take the same name."""
        return self._appended.image

    @property
    def high_watermark(self) -> Offset:
        return self.image.end_offset

    # --- committing

    async def commit(self, records: Sequence[Message]) -> Image:
        """Append records as one batch; returns when they, and all before them, are committed and published.

        Raises StorageFailed where the disk fails, and MetadataNotPublished where a listener failed: then the node must
        stop. The records are committed even if the one who waits for them is cancelled.
        """
        if records:
            self._append(records)
        if self._pending:
            synced = self._flusher.request(self._log)
            synced.add_done_callback(self._synced)
            await asyncio.shield(synced)
        self._publisher.check()
        return self.image

    def _sync(self) -> None:
        """Commit what is appended. Blocks: for opening and closing."""
        if self._pending:
            self._log.sync()
            self._publish()

    def _synced(self, synced: "asyncio.Future[None]") -> None:
        if not synced.cancelled() and synced.exception() is None:
            self._publish()

    def _append(self, records: Sequence[Message]) -> None:
        place = BatchStamp(self._log.log_dir.clock.now_ms())
        batch = batches.build(records, self.latest.metadata_version, place)
        end = Offset(self._log.end_offset + len(records))
        self._apply(batch, Batch(self._log.end_offset, Offset(end - 1), self.epoch, place.timestamp, tuple(records)))

    def _append_control(self, records: Sequence[Message]) -> None:
        place = BatchStamp(self._log.log_dir.clock.now_ms())
        end = Offset(self._log.end_offset + len(records))
        batch = batches.build_control(records, place)
        at = Batch(self._log.end_offset, Offset(end - 1), self.epoch, place.timestamp, (), tuple(records))
        self._apply(batch, at)

    def _apply(self, data: bytearray, batch: Batch) -> None:
        """Replayed before it is appended: a record that does not fit must not get into the log."""
        replayed, delta = self._appended.apply(batch)
        view = memoryview(data)
        self._log.append_checked(view, parse_head(view), self.epoch, Origin.COORDINATOR)
        self._appended = replayed
        self._pending.append(_Pending(self._log.end_offset, delta, replayed, len(data)))

    def _publish(self) -> None:
        while self._pending and self._pending[0].end_offset <= self._log.recovery_point:
            _, delta, self._committed, size = self._pending.popleft()
            self._bytes_since_snapshot += size
            self._log.advance_high_watermark(self.image.end_offset)
            self._publisher.publish(delta, self.image)

    # --- snapshots

    @property
    def snapshot_due(self) -> bool:
        """Enough was written since the last one, or it is old; never within a transaction."""
        if self._bytes_since_snapshot == 0 or self._committed.transaction is not None:
            return False
        age_ms = self._log.log_dir.clock.now_ms() - self._snapshot_ms
        return (
            self._bytes_since_snapshot >= self._setting.log_max_record_bytes_between_snapshots
            or 0 < self._setting.log_max_snapshot_interval_ms <= age_ms
        )

    async def maintain(self) -> None:
        """Write a snapshot if one is due, and let go of what older ones hold. To be called now and then, by one task.

        The image is written piece by piece, so that requests are served in between.
        """
        try:
            if self.snapshot_due:
                await self.write_snapshot()
            retention = Retention(self._setting.max_retention_bytes, self._setting.max_retention_ms)
            self._snapshots.clean(retention, self._log.log_dir.clock.now_ms())
        except OSError as error:
            raise self._log.log_dir.take_offline(error) from error

    async def write_snapshot(self) -> SnapshotId:
        """A snapshot of the committed image."""
        begun = self._begin_snapshot()
        try:
            for part in begun.parts:
                begun.writer.write(part)
                await asyncio.sleep(0)
        except BaseException:
            begun.writer.abandon()
            raise
        job = asyncio.get_running_loop().run_in_executor(self._pool, begun.writer.finish)
        await asyncio.shield(job)  # it comes to its end even if nobody waits for it
        return self._end_snapshot(begun)

    def write_snapshot_now(self) -> SnapshotId:
        """The same at once. Blocks."""
        begun = self._begin_snapshot()
        try:
            for part in begun.parts:
                begun.writer.write(part)
        except BaseException:
            begun.writer.abandon()
            raise
        begun.writer.finish()
        return self._end_snapshot(begun)

    def _begin_snapshot(self) -> _Begun:
        assert self._committed.transaction is None, "no snapshot can be taken within a transaction"
        image, now = self.image, self._log.log_dir.clock.now_ms()
        snapshot = SnapshotId(image.end_offset, image.epoch)
        writer = SnapshotWriter(self._log.log_dir.files, self._log.directory, snapshot)
        return _Begun(snapshot, writer, snapshot_file.parts(image, now), self._bytes_since_snapshot)

    def _end_snapshot(self, begun: _Begun) -> SnapshotId:
        self._snapshots.add(begun.id, begun.writer.size)
        self._bytes_since_snapshot -= begun.bytes_covered
        self._snapshot_ms = self._log.log_dir.clock.now_ms()
        return begun.id

    # --- the end

    def close(self) -> None:
        """A clean stop: what is appended is committed. The log directory is closed after this, by its owner."""
        self._sync()
        self._log.close()

    def abandon(self) -> None:
        """Let go of everything as a crash would leave it."""
        self._log.abandon()
