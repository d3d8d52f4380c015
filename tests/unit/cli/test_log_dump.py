"""`odradek log dump`: lines as Kafka's DumpLogSegments prints them; tests/interop holds them against the original."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from odradek.cli.dump import control
from odradek.cli.dump.printer import Printer
from odradek.cli.main import main
from odradek.model.numbers import LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.records.batch import Codec, TimestampType
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.control import ControlType, control_key
from odradek.records.record import Record
from support.logs import NOW

FIRST = "00000000000000000000"


def build(*records: Record, **fields: Any) -> bytes:
    return bytes(build_batch(records, BatchSpec(**fields)))


def record(offset: int, key: bytes | None, value: bytes | None, *headers: tuple[str, bytes | None]) -> Record:
    return Record(Offset(offset), TimestampMs(NOW + offset), key, value, headers)


PLAIN = build(record(0, b"k0", b"v0", ("h", b"1"), ("i", None)), record(1, None, b""))
IDEMPOTENT = build(
    record(2, b"\xff\xfe", None),
    base_offset=2,
    leader_epoch=LeaderEpoch(5),
    producer_id=ProducerId(7),
    producer_epoch=1,
    base_sequence=0x7FFF_FFFF,
    codec=Codec.ZSTD,
    transactional=True,
)
MARKER = build(
    Record(Offset(3), TimestampMs(NOW), control_key(ControlType.ABORT), bytes((0, 0, 0, 0, 0, 9))),
    base_offset=3,
    producer_id=ProducerId(7),
    producer_epoch=1,
    transactional=True,
    control=True,
)
APPEND_TIME = build(
    record(4, b"k", b"v"),
    base_offset=4,
    timestamp_type=TimestampType.LOG_APPEND_TIME,
    max_timestamp=TimestampMs(NOW + 99),
    delete_horizon_ms=TimestampMs(NOW - 5),
)
BATCHES = (PLAIN, IDEMPOTENT, MARKER, APPEND_TIME)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / f"{FIRST}.log"
    path.write_bytes(b"".join(BATCHES))
    return path


Capture = pytest.CaptureFixture[str]


def dump(capsys: Capture, *arguments: object) -> tuple[int, list[str], list[str]]:
    status = main(["log", "dump", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out.splitlines(), printed.err.splitlines()


def test_batches(log: Path, capsys: Capture) -> None:
    status, out, err = dump(capsys, log)
    assert (status, err) == (0, [])
    assert out[:2] == [f"Dumping {log}", "Log starting offset: 0"]
    assert out[2].startswith(
        "baseOffset: 0 lastOffset: 1 count: 2 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
        "partitionLeaderEpoch: -1 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty "
        f"position: 0 CreateTime: {NOW + 1} size: {len(PLAIN)} magic: 2 compresscodec: none crc: "
    )
    assert out[2].endswith(" isvalid: true")
    assert "baseSequence: 2147483647 lastSequence: 2147483647 producerId: 7 producerEpoch: 1" in out[3]
    assert "partitionLeaderEpoch: 5 isTransactional: true" in out[3]
    assert "compresscodec: zstd" in out[3]
    assert "isControl: true" in out[4]
    assert f"deleteHorizonMs: OptionalLong[{NOW - 5}]" in out[5]
    assert f"LogAppendTime: {NOW + 99} size:" in out[5]
    assert len(out) == 6


def test_records(log: Path, capsys: Capture) -> None:
    _, out, _ = dump(capsys, log, "--print-data-log")
    assert [line for line in out if line.startswith("|")] == [
        f"| offset: 0 CreateTime: {NOW} keySize: 2 valueSize: 2 sequence: -1 headerKeys: [h,i] key: k0 payload: v0",
        f"| offset: 1 CreateTime: {NOW + 1} keySize: -1 valueSize: 0 sequence: -1 headerKeys: [] payload: ",
        f"| offset: 2 CreateTime: {NOW + 2} keySize: 2 valueSize: -1 sequence: 2147483647 headerKeys: [] "
        "key: \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}",
        f"| offset: 3 CreateTime: {NOW} keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] "
        "endTxnMarker: ABORT coordinatorEpoch: 9",
        f"| offset: 4 LogAppendTime: {NOW + 99} keySize: 1 valueSize: 1 sequence: -1 headerKeys: [] key: k payload: v",
    ]


def test_records_without_contents_and_contents_without_records(log: Path, capsys: Capture) -> None:
    _, out, _ = dump(capsys, log, "--deep-iteration")
    assert f"| offset: 0 CreateTime: {NOW} keySize: 2 valueSize: 2 sequence: -1 headerKeys: [h,i]" in out
    _, out, _ = dump(capsys, log, "--print-data-log", "--skip-record-metadata")
    assert [line for line in out if not line.startswith(("Dumping", "Log ", "base"))] == [
        "| key: k0 payload: v0",
        "| payload: ",
        "| key: \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}",
        "",
        "| key: k payload: v",
    ]


def test_files_by_comma_as_kafka_s_tool_takes_them(log: Path, capsys: Capture) -> None:
    assert dump(capsys, "--files", f"{log},{log}")[1] == dump(capsys, log, log)[1]


def test_only_the_first_bytes(log: Path, capsys: Capture) -> None:
    size = len(PLAIN) + len(IDEMPOTENT)
    status, out, err = dump(capsys, log, "--max-bytes", size + 70)
    assert (status, len(out), err) == (0, 4, [])


@pytest.mark.parametrize("missing", [1, 40, 60])
def test_a_batch_that_is_cut(log: Path, capsys: Capture, missing: int) -> None:
    content = log.read_bytes()
    log.write_bytes(content[:-missing])
    position, left = len(content) - len(APPEND_TIME), len(APPEND_TIME) - missing
    status, out, err = dump(capsys, log)
    assert (status, len(out)) == (1, 6)
    assert out[-1] == f"Found {left} invalid bytes at the end of {log.name}"
    [why] = err
    assert why.startswith(f"{log} at {position}: ")


def test_a_crc_that_is_wrong(log: Path, capsys: Capture) -> None:
    content = bytearray(log.read_bytes())
    content[len(PLAIN) + 65] ^= 0xFF
    log.write_bytes(content)
    status, out, err = dump(capsys, log, "--print-data-log")
    assert status == 1
    assert [line.rpartition(" ")[2] for line in out if line.startswith("base")] == ["true", "false", "true", "true"]
    assert err[0] == f"{log} at {len(PLAIN)}: the CRC of the batch is wrong"
    assert err[1].startswith(f"{log} at {len(PLAIN)}: in the batch here: ")


def test_a_head_that_is_none(log: Path, capsys: Capture) -> None:
    content = bytearray(log.read_bytes())
    content[len(PLAIN) + 16] = 9
    log.write_bytes(content)
    status, out, err = dump(capsys, log)
    assert (status, err) == (1, [f"{log} at {len(PLAIN)}: unknown magic 9"])
    assert out[-1] == f"Found {len(content) - len(PLAIN)} invalid bytes at the end of {log.name}"


def test_gaps_are_told_but_no_fault(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "00000000000000000002.log"
    path.write_bytes(IDEMPOTENT + APPEND_TIME)
    status, _, err = dump(capsys, path, "--deep-iteration")
    assert (status, err) == (0, [f"Non-consecutive offsets in {path}", "  2 is followed by 4"])


# --- indexes


@pytest.fixture
def index(log: Path) -> Path:
    path = log.with_suffix(".index")
    path.write_bytes(entry(2, len(PLAIN)) + entry(4, len(b"".join(BATCHES[:3]))))
    return path


def entry(offset: int, position: int) -> bytes:
    return offset.to_bytes(4, "big") + position.to_bytes(4, "big")


def time_entry(timestamp: int, offset: int) -> bytes:
    return timestamp.to_bytes(8, "big") + offset.to_bytes(4, "big")


def test_an_offset_index(index: Path, capsys: Capture) -> None:
    assert dump(capsys, index) == (
        0,
        [f"Dumping {index}", f"offset: 2 position: {len(PLAIN)}", f"offset: 4 position: {len(b''.join(BATCHES[:3]))}"],
        [],
    )
    assert dump(capsys, index, "--verify-index-only") == (0, [f"Dumping {index}"], [])
    assert dump(capsys, index, "--index-sanity-check")[1][1] == f"{index} passed sanity check."


def test_an_offset_index_that_is_wrong(index: Path, capsys: Capture) -> None:
    index.write_bytes(entry(1, len(PLAIN)) + entry(4, 7) + b"abc")
    status, out, err = dump(capsys, index)
    assert (status, len(out)) == (1, 3)
    assert err == [
        f"Mismatches in :{index}",
        "  Index offset: 4, log offset: none, no batch starts there",
        "  Index offset: 1, log offset: 2",
        f"{index}: 3 bytes at the end are no whole entry",
    ]
    assert dump(capsys, index, "--index-sanity-check")[0] == 1


def test_the_index_of_a_broker_that_crashed(index: Path, capsys: Capture) -> None:
    index.write_bytes(index.read_bytes() + bytes(64))
    status, out, err = dump(capsys, index)
    assert (status, len(out)) == (0, 3)
    assert err == [f"{index} at 16: only zeros, the room of a broker that had it open"]
    assert dump(capsys, index, "--index-sanity-check")[0] == 1  # a broker rebuilds it
    index.write_bytes(b"")
    assert dump(capsys, index) == (0, [f"Dumping {index}", f"{index} is empty."], [])


def test_an_index_without_its_segment(index: Path, log: Path, capsys: Capture) -> None:
    log.unlink()
    status, out, err = dump(capsys, index)
    assert (status, len(out)) == (1, 3)
    assert err == [f"{index}: cannot be compared with {log}: No such file or directory"]


@pytest.mark.parametrize("with_index", [True, False])
def test_a_time_index(index: Path, capsys: Capture, with_index: bool) -> None:
    if not with_index:
        index.unlink()
    path = index.with_suffix(".timeindex")
    path.write_bytes(time_entry(NOW + 1, 1) + time_entry(NOW + 99, 4))
    lines = [f"Dumping {path}", f"timestamp: {NOW + 1} offset: 1", f"timestamp: {NOW + 99} offset: 4"]
    assert dump(capsys, path) == (0, lines, [])
    assert dump(capsys, path, "--index-sanity-check")[1][1] == f"{path} passed sanity check."
    path.write_bytes(time_entry(NOW + 9, 1) + time_entry(NOW + 1, 3) + time_entry(NOW + 100, 5))
    status, out, err = dump(capsys, path)
    assert (status, len(out)) == (1, 4)
    assert err == [
        f"Found timestamp mismatch in :{path}",
        f"  Index timestamp: {NOW + 9}, log timestamp: {NOW + 1}",
        f"  Index timestamp: {NOW + 1}, log timestamp: {NOW}",
        f"Found out of order timestamp in :{path}",
        f"  Index timestamp: {NOW + 1}, Previously indexed timestamp: {NOW + 9}",
        f"The following indexed offsets are not found in :{path}",
        "Indexed offset: 5, found log offset: -1",
    ]


def test_other_files_of_a_partition(golden_data: Path, capsys: Capture) -> None:
    clean = golden_data / "clean"
    lines = {
        f"d2/txn-0/{FIRST}.txnindex": "version: 0 producerId: 0 firstOffset: 8 lastOffset: 11 lastStableOffset: 12",
        "d2/opentxn-0/00000000000000000012.snapshot": "producerId: 2 producerEpoch: 0 coordinatorEpoch: -1 "
        "currentTxnFirstOffset: OptionalLong[0] lastTimestamp: 1794771325980 firstSequence: 0 lastSequence: 6 "
        "lastOffset: 6 offsetDelta: 6 timestamp: 1794771325980",
        "d1/bootstrap.checkpoint": "KRaft bootstrap snapshot",
        "d1/__cluster_metadata-0/00000000000000000061-0000000001.checkpoint": "Snapshot end offset: 61, epoch: 1",
        "d1/recovery-point-offset-checkpoint": "topic: configured partition: 0 offset: 0",
        "d2/cleaner-offset-checkpoint": "topic: compacted partition: 0 offset: 250",
        "d1/gzip-0/leader-epoch-checkpoint": "epoch: 0 startOffset: 100",
        "d1/meta.properties": "node.id: 1",
        "d1/.kafka_cleanshutdown": "version: 0",
        "d1/__cluster_metadata-0/quorum-state": "clusterId: ",
        "d1/__cluster_metadata-0/partition.metadata": "topicId: AAAAAAAAAAAAAAAAAAAAAQ",
    }
    for name, expected in lines.items():
        status, out, err = dump(capsys, clean / name)
        assert (status, out[1], err) == (0, expected, [])


def test_files_that_are_being_deleted(golden_data: Path, capsys: Capture) -> None:
    paths = sorted((golden_data / "crashed/d2/compacted-0").glob("*.deleted"))
    status, out, err = dump(capsys, *paths)
    assert (status, err) == (0, [])
    assert f"{paths[0]} is empty." in out


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (f"{FIRST}.snapshot", b"\0\1abc", ": 5 bytes is shorter than the head of a snapshot"),
        (f"{FIRST}.txnindex", bytes(35), ": 35 bytes is no whole number of entries of 34"),
        ("leader-epoch-checkpoint", b"0\n1\nx y\n", ": line 3: 'x' is no number"),
        ("recovery-point-offset-checkpoint", b"7\n0\n", ": line 1: version 7 of a checkpoint is not known"),
        ("quorum-state", b"{", ": not JSON: "),
        ("readme.txt", b"", ": ignoring a file of an unknown kind"),
        ("x.index", b"12345678", ": the name does not begin with the offset of a segment"),
    ],
)
def test_files_that_make_no_sense(
    tmp_path: Path, capsys: Capture, log: Path, name: str, content: bytes, complaint: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    status, out, err = dump(capsys, path, log)  # the second is printed all the same
    assert (status, len(err)) == (1, 1)
    assert err[0].startswith(f"{path}{complaint}")
    assert out[-5] == "Log starting offset: 0"


def test_a_file_that_is_missing_does_not_hide_the_others(log: Path, capsys: Capture) -> None:
    status, out, err = dump(capsys, "no/such.log", log)
    assert (status, err) == (1, ["no/such.log: No such file or directory"])
    assert out[:2] == ["Dumping no/such.log", f"Dumping {log}"]


def test_what_cannot_be_asked_is_one_line_and_status_2(tmp_path: Path, log: Path, capsys: Capture) -> None:
    for arguments, text in (
        ([tmp_path], f"{tmp_path} is a directory, dump takes files; odradek log verify {tmp_path} checks it whole"),
        ([], "which files? odradek log dump FILE..."),
        (["--remote-log-metadata-decoder", log], "--remote-log-metadata-decoder: there is no tiered storage here"),
        ([log, "--value-decoder-class", "x.Y"], "--value-decoder-class: Java classes cannot be run here"),
    ):
        status, out, err = dump(capsys, *arguments)
        assert (status, out, len(err)) == (2, [], 1)
        assert err[0].startswith(f"odradek: {text}")
    with pytest.raises(SystemExit):
        main(["log", "dump", str(log), "--max-bytes", "-1"])


# --- control records, and what a terminal gets


def test_control_records_of_every_kind(golden_control_records: list[dict[str, Any]]) -> None:
    titles = {
        "LeaderChangeMessage": (ControlType.LEADER_CHANGE, "LeaderChange: "),
        "SnapshotHeaderRecord": (ControlType.SNAPSHOT_HEADER, "SnapshotHeader "),
        "SnapshotFooterRecord": (ControlType.SNAPSHOT_FOOTER, "SnapshotFooter "),
        "KRaftVersionRecord": (ControlType.KRAFT_VERSION, "KRaftVersion "),
        "VotersRecord": (ControlType.KRAFT_VOTERS, "KRaftVoters "),
    }
    described = 0
    for golden in golden_control_records:
        made_up = golden["value"].get("version") != golden["version"]
        if golden["name"] not in titles or (golden["name"] == "LeaderChangeMessage" and made_up):
            continue  # of this one, the version that it begins with must be the one it is in
        kind, title = titles[golden["name"]]
        line = control.describe(Record(Offset(0), NOW, control_key(kind), bytes.fromhex(golden["hex"])))
        assert line.startswith(title)
        assert json.loads(line.removeprefix(title)) == golden["value"]
        described += 1
    assert described >= 3 * (len(titles) - 1)


def test_a_control_record_of_the_future() -> None:
    assert control.describe(Record(Offset(0), NOW, b"\0\0\0\x63", b"")) == "controlType: UNKNOWN(99)"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_no_control_characters() -> None:
    hostile = b"\x1b]0;title\x07 a\tb\x9b\r\n caf\xc3\xa9 \xc2\x9b"
    text = Printer(Terminal(), io.StringIO()).decode(hostile)
    assert text == "\\x1b]0;title\\x07 a\tb\N{REPLACEMENT CHARACTER}\\x0d\\x0a café \\x9b"
    assert Printer(io.StringIO(), io.StringIO()).decode(hostile) == hostile.decode(errors="replace")
