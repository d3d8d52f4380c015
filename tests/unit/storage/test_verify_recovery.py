"""What lies below the recovery point is trusted after a crash, so it must have been synced, indexes included."""

from odradek.model.numbers import Offset, ProducerId
from odradek.records.builder import BatchSpec
from odradek.storage import names
from odradek.storage.verify import Severity, Verification
from support.disk import FaultyDisk
from support.logs import append, end_txn, log_of, open_dirs

DIR = "/data/orders-0"


def errors(disk: FaultyDisk) -> list[str]:
    verification = Verification(disk, deep=True)
    verification.add("/data")
    return [str(finding) for finding in verification.run() if finding.severity is Severity.ERROR]


def test_the_index_of_a_segment_that_was_closed_at_the_recovery_point() -> None:
    """While it was written to, a sync left its indexes out; then it was closed, and power went."""
    disk = FaultyDisk("/data")
    dirs = open_dirs(disk)
    log = log_of(dirs)
    for number in range(6):
        append(log, f"value {number}", "x" * 50)
    log.sync()
    log.roll()
    append(log, "next")
    dirs.write_checkpoints()
    disk.crash()
    index = f"{DIR}/{names.file_name(Offset(0), names.INDEX)}"
    whole = disk.read_whole(index)
    disk.put(index, whole[:8] + bytes(8) + whole[16:])  # a block that did not get to the disk
    open_dirs(disk).close()
    assert errors(disk) == []


def test_a_transaction_index_that_was_cut_to_nothing() -> None:
    disk = FaultyDisk("/data")
    dirs = open_dirs(disk)
    log = log_of(dirs)
    append(log, "kept")
    append(
        log, "aborted", spec=BatchSpec(producer_id=ProducerId(1), producer_epoch=0, base_sequence=0, transactional=True)
    )
    end_txn(log, 1, 0, commit=False)
    log.roll()
    log.sync()
    log.truncate_to(Offset(1))
    append(log, "instead")
    log.roll()
    append(log, "next")
    log.sync()
    dirs.write_checkpoints()
    disk.power_loss()
    open_dirs(disk).close()
    assert errors(disk) == []


def test_a_topic_id_that_power_loss_took() -> None:
    """Apache Kafka does not start on an empty partition.metadata; without one it does."""
    disk = FaultyDisk("/data")
    dirs = open_dirs(disk)
    append(log_of(dirs), "kept")
    dirs.close()
    path = f"{DIR}/{names.PARTITION_METADATA}"
    disk.put(path, b"")
    reopened = open_dirs(disk)
    assert not disk.exists(path)
    assert [event.text for event in reopened.events] == ["removed a corrupt partition.metadata"]
    assert log_of(reopened).topic_id is None
    reopened.close()
    assert errors(disk) == []
