"""Two brokers, one table: what every benchmark against Apache Kafka shares."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, NamedTuple

import harness
from contenders import ApacheKafka, Contender, Odradek, Running
from raw import Raw

OURS, THEIRS = Odradek.name, ApacheKafka.name
_PAIRS_MIN = 4


class Bar(NamedTuple):
    text: str
    is_met: Callable[[float, float], bool]
    """Given ours and Kafka's."""


NO_BAR = Bar("", lambda _ours, _theirs: True)


def at_least(ratio: float, text: str = "") -> Bar:
    return Bar(text or f"at least {ratio}x", lambda ours, theirs: ours >= ratio * theirs)


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
    load_cpu: tuple[float, float] | None = None
    """The cores that the load took, against either: where it is near 1, the figure says more of the load."""
    broker_cpu: tuple[float, float] | None = None
    """The cores that either broker took."""
    each_us: tuple[float, float] | None = None
    """The CPU of either broker for each `per`, in microseconds: what else runs on the machine hardly shows in it."""
    per: str = ""
    pairs: tuple[float, float] | None = None
    """The ratio by pairs of the same round, and its standard error; see `by_pairs`."""
    each_pairs: tuple[float, float] | None = None
    """The same of `each_us`."""

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def by_pairs(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float] | None:
    """The geometric mean of what each round gave, and its standard error; None for too few rounds to tell, and where a
    figure has no ratio.

    Where rounds differ more from each other than the two in a round do, as while Java compiles, it tells more than the
    medians. The bar is held against those all the same.
    """
    if len(ours) != len(theirs) or len(ours) < _PAIRS_MIN or min(*ours, *theirs) <= 0:
        return None
    logs = [log(mine / other) for mine, other in zip(ours, theirs, strict=True)]
    ratio = exp(fmean(logs))
    return ratio, ratio * stdev(logs) / sqrt(len(logs))


class BrokerCpu(NamedTuple):
    """What a broker took while a load ran."""

    cores: float
    each_us: float
    per: str


class Table:
    """Figures by row and broker, over the rounds; or by row and whatever else is compared."""

    def __init__(self, ours: str = OURS, theirs: str = THEIRS) -> None:
        self.ours, self.theirs = ours, theirs
        self._values: _Values = defaultdict(lambda: defaultdict(list))
        self._load: _Values = defaultdict(lambda: defaultdict(list))
        self._cores: _Values = defaultdict(lambda: defaultdict(list))
        self._each_us: _Values = defaultdict(lambda: defaultdict(list))
        self._per: dict[str, str] = {}

    def add(
        self, what: str, broker: str, value: float, load_cpu: float | None = None, cpu: BrokerCpu | None = None
    ) -> None:
        self._values[what][broker].append(value)
        if load_cpu is not None:
            self._load[what][broker].append(load_cpu)
        if cpu is not None:
            self._cores[what][broker].append(cpu.cores)
            self._each_us[what][broker].append(cpu.each_us)
            self._per[what] = cpu.per

    def has(self, what: str) -> bool:
        return what in self._values

    def has_both(self, what: str) -> bool:
        """Whether there are figures to compare: not where a part failed half-way."""
        return all(self._values[what][name] for name in (self.ours, self.theirs))

    def row(self, what: str, unit: str, bar: Bar) -> Row:
        values = [self._values[what][name] for name in (self.ours, self.theirs)]
        ours, theirs = map(median, values)
        return Row(
            what,
            unit,
            ours,
            theirs,
            bar.text,
            bar.is_met(ours, theirs) if bar.text else None,
            self._both(self._load, what),
            self._both(self._cores, what),
            self._both(self._each_us, what),
            self._per.get(what, ""),
            by_pairs(*values),
            by_pairs(*(self._each_us[what][name] for name in (self.ours, self.theirs))) if what in self._per else None,
        )

    def _both(self, values: "_Values", what: str) -> tuple[float, float] | None:
        if what not in values:
            return None
        return median(values[what][self.ours]), median(values[what][self.theirs])


_Values = defaultdict[str, defaultdict[str, list[float]]]


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
    lines: list[tuple[str, ...]] = [
        ("", ours, theirs, "ratio", "by pairs", "bar", "CPU of the broker", "its cores", "the load's")
    ]
    for row in rows:
        pairs = "" if row.pairs is None else f"{row.pairs[0]:.2f} +- {row.pairs[1]:.2f}"
        cpu = each(row) and f"{each(row)} us for {row.per}"
        lines.append(
            (
                row.what,
                *figures(row),
                f"{row.ratio:.2f}",
                pairs,
                verdict(row),
                cpu,
                *map(_cores, (row.broker_cpu, row.load_cpu)),
            )
        )
    harness.print_table(lines)


def markdown(rows: list[Row], ours: str, theirs: str, *, with_cores: bool) -> str:
    """The table as README.md and docs/speed.md have it."""
    titles = [
        "",
        ours,
        theirs,
        "ratio",
        "bar",
        "CPU of the broker",
        *(["its cores", "the load's"] if with_cores else []),
    ]
    lines = [titles, ["---"] * len(titles)]
    for row in rows:
        cpu = each(row) and f"{each(row)} us for {row.per}"
        cores = [_cores(row.broker_cpu), _cores(row.load_cpu)] if with_cores else []
        lines.append(
            [row.what, *figures(row), f"{row.ratio:.2f}", verdict(row).replace("MISSED", "**missed**"), cpu, *cores]
        )
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)


def figures(row: Row) -> list[str]:
    return [f"{harness.number(value)} {row.unit}" for value in (row.ours, row.theirs)]


def verdict(row: Row) -> str:
    return row.bar if row.met is None else f"{row.bar}: {'met' if row.met else 'MISSED'}"


def each(row: Row) -> str:
    return "" if row.each_us is None else " next to ".join(f"{value:,.1f}" for value in row.each_us)


def _cores(both: tuple[float, float] | None) -> str:
    return "" if both is None else " / ".join(f"{value:.2f}" for value in both)
