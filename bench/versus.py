"""Two brokers, one table: what every benchmark against Apache Kafka shares."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import harness
from contenders import ApacheKafka, Contender, Odradek, Running
from raw import Raw

OURS, THEIRS = Odradek.name, ApacheKafka.name


class Bar(NamedTuple):
    text: str
    is_met: Callable[[float, float], bool]
    """Given ours and Kafka's."""


NO_BAR = Bar("", lambda _ours, _theirs: True)


def at_least(ratio: float) -> Bar:
    return Bar(f"at least {ratio}x", lambda ours, theirs: ours >= ratio * theirs)


def at_most(ratio: float, text: str = "") -> Bar:
    return Bar(text or f"at most {ratio:.2g}x", lambda ours, theirs: ours <= ratio * theirs)


@dataclass(frozen=True)
class Row:
    what: str
    unit: str
    ours: float
    theirs: float
    bar: str = ""
    met: bool | None = None
    load_cpu: float | None = None
    """The share of a CPU that the load generator took, against us."""

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


class Table:
    """Figures by row and broker, over the rounds; or by row and whatever else is compared."""

    def __init__(self, ours: str = OURS, theirs: str = THEIRS) -> None:
        self.ours, self.theirs = ours, theirs
        self._values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._load: dict[str, list[float]] = defaultdict(list)

    def add(self, what: str, broker: str, value: float, load_cpu: float | None = None) -> None:
        self._values[what][broker].append(value)
        if load_cpu is not None and broker == self.ours:
            self._load[what].append(load_cpu)

    def has(self, what: str) -> bool:
        return what in self._values

    def row(self, what: str, unit: str, bar: Bar) -> Row:
        ours, theirs = (median(self._values[what][name]) for name in (self.ours, self.theirs))
        load = median(self._load[what]) if self._load[what] else None
        return Row(what, unit, ours, theirs, bar.text, bar.is_met(ours, theirs) if bar.text else None, load)


@contextmanager
def work_directory() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="odradek-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def run_load(script: str, name: str, **parameters: Any) -> dict[str, float]:
    """In a process of its own."""
    command = [sys.executable, str(Path(__file__).with_name(script)), name, json.dumps(parameters)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{name} failed: {done.stderr}")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def prepared(contender: Contender, root: Path) -> Path:
    directory = root / contender.name.replace(" ", "-").lower()
    directory.mkdir()
    contender.prepare(directory)
    return directory


def new_topic(broker: Running, name: str, partitions: int) -> str:
    raw = Raw(broker.address)
    raw.create_topics([name], partitions)
    raw.wait_for_leaders(name, partitions)
    raw.close()
    return name


def show(rows: list[Row], ours: str = OURS, theirs: str = THEIRS) -> None:
    lines: list[tuple[str, ...]] = [("", ours, theirs, "ratio", "bar", "load's CPU")]
    for row in rows:
        bar = row.bar if row.met is None else f"{row.bar}: {'met' if row.met else 'MISSED'}"
        load = "" if row.load_cpu is None else f"{row.load_cpu:.2f}"
        values = [f"{harness.number(value)} {row.unit}" for value in (row.ours, row.theirs)]
        lines.append((row.what, *values, f"{row.ratio:.2f}", bar, load))
    harness.print_table(lines)
