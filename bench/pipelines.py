"""How much the jobs keep up with on this machine: ./run bench pipelines

The broker, the load, Spark and its Python share the cores of the machine. One Spark runs all parts, so it is warm;
every measurement has a broker and a checkpoint of its own.

- alone, together: events a second that are read while no job may be more than a bound behind
- bar: all jobs at 5,000 events a second; the lag must not grow
- latency: from the time in an event to the end of the batch that has its result committed
- keys: what state and checkpoint grow to
- catch-up: all jobs stand for a minute while events come, and are started again

One event in five is a truck's. In the parts with keys there are three events for each.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import chain, count
from pathlib import Path
from statistics import mean
from typing import Any

import harness
from contenders import Odradek, Running, running
from harness import Figure
from pipelines_events import OPERATIONS, TICK_S, Keys, Load, create_event_topics
from pipelines_jobs import Batch, Jobs, spark_jobs
from versus import prepared, progress, work_directory

from odradek.pipelines.contract import TRUCKS_GPS
from odradek.pipelines.registry import JOBS

ALL = list(JOBS)
TRUCKS = ("truck-positions", "driver-alerts")
KEYED = {"truck-positions": "trucks", "driver-alerts": "trucks", "active-users": "users"}
"""Jobs whose state grows with keys, and what these are."""
BAR = 5_000
LAG_MAX = 50_000
SLOW = 1_000
PER_BATCH = 250
"""Events of a batch to each partition where the load follows the jobs."""


@dataclass(frozen=True)
class Times:
    warm_s: float = 10
    alone_s: float = 15
    steady_s: float = 40
    stop_s: float = 60
    keys: tuple[int, ...] = (1_000, 100_000)


WHOLE = Times()
QUICK = Times(warm_s=3, alone_s=5, steady_s=8, stop_s=5, keys=(1_000,))


@dataclass
class Stage:
    """What the parts share."""

    root: Path
    jobs: Jobs
    times: Times
    figures: list[Figure] = field(default_factory=list)
    together: float | None = None
    """Events a second, once they are known."""
    _numbers: Iterator[int] = field(default_factory=count)

    def add(self, what: str, value: float, unit: str, bar: str = "", met: bool | None = None) -> None:
        self.figures.append(Figure(what, value, unit, bar=bar, met=met))
        progress(f"  {what:70} {value:12,.1f} {unit} {'' if met is None else 'met' if met else 'MISSED'}")

    @contextmanager
    def scene(self, names: list[str], per_batch: int, keys: Keys = Keys()) -> Iterator["Scene"]:  # noqa: B008
        """A broker with jobs that have read their first events, and a load that stands."""
        directory = self.root / f"{next(self._numbers)}"
        directory.mkdir()
        topics = sorted(set(chain.from_iterable(map(topics_of, names))))
        with running(Odradek(), prepared(Odradek(), directory)) as broker:
            create_event_topics(broker.address)
            scene = Scene(self, names, broker, Load(broker.address, topics, per_batch, keys), directory / "checkpoint")
            yield scene
            self.jobs.stop()


@dataclass
class Scene:
    stage: Stage
    names: list[str]
    broker: Running
    load: Load
    checkpoint: Path

    def start(self, **setting: Any) -> None:
        self.stage.jobs.start(self.names, self.broker.address, self.checkpoint, **setting)

    def start_warm(self) -> None:
        """First events are read, and their results written."""
        self.load.send()
        self.start()
        self.wait_for_all()

    def wait_for_all(self) -> None:
        """All events that were sent so far."""
        self.stage.jobs.wait_until_read({name: self.load.sent(topics_of(name)) for name in self.names})

    def lags(self) -> dict[str, int]:
        return {name: self.load.sent(topics_of(name)) - read for name, read in self.stage.jobs.read().items()}

    def lag(self) -> int:
        return max(self.lags().values())

    def batches(self, job: str, since_ms: float) -> list[Batch]:
        return [each for each in self.stage.jobs.batches[job] if each.done_ms >= since_ms]

    def rate(self, job: str, since_ms: float) -> float:
        """Of this job's own events, between the ends of two of its batches."""
        first, *others = self.batches(job, since_ms)
        return (others[-1].read - first.read) / (others[-1].done_ms - first.done_ms) * 1000

    def latencies_ms(self, job: str, since_ms: float) -> list[tuple[float, int]]:
        """From each event to the end of the batch that had it, and how many events there are with it."""
        lanes = {f"{lane.topic}/{lane.partition}": lane for lane in self.load.lanes}
        return [
            (batch.done_ms - sent_ms, events)
            for batch in self.batches(job, since_ms)
            for place, end in batch.ends.items()
            for sent_ms, events in lanes[place].sent_between(batch.starts.get(place, 0), end)
        ]


def topics_of(job: str) -> tuple[str, ...]:
    if job == "dead-letters":
        return (TRUCKS_GPS, *OPERATIONS)
    return (TRUCKS_GPS,) if job in TRUCKS else OPERATIONS


def now_ms() -> float:
    return time.time_ns() / 1e6


def quantile(weighted: list[tuple[float, int]], share: float) -> float:
    wanted = share * sum(events for _, events in weighted)
    for value, events in sorted(weighted):
        wanted -= events
        if wanted <= 0:
            return value
    raise RuntimeError("no event was read")


# --- the parts


def sustained(stage: Stage, names: list[str]) -> tuple[float, float]:
    """Events a second of all topics, and CPU seconds of Spark for a million events."""
    with stage.scene(names, PER_BATCH) as scene:
        scene.start_warm()
        scene.load.begin_behind(scene.lag, LAG_MAX)
        time.sleep(stage.times.warm_s)
        since_ms, sent, cpu_s = now_ms(), scene.load.sent(topics_of("dead-letters")), stage.jobs.cpu_s()
        time.sleep(stage.times.alone_s)
        stage.jobs.wait_for_batches(3, since_ms)
        cpu_s = stage.jobs.cpu_s() - cpu_s
        sent = scene.load.sent(topics_of("dead-letters")) - sent
        scene.load.stop()
        # Jobs read different shares of the same load: the slowest one decides.
        lanes = len(scene.load.lanes)
        shares = {name: sum(lane.topic in topics_of(name) for lane in scene.load.lanes) / lanes for name in names}
        rate = min(scene.rate(name, since_ms) / shares[name] for name in names)
        return rate, cpu_s / sent * 1e6


def measure_alone(stage: Stage) -> None:
    for name in ALL:
        rate, cpu_s = sustained(stage, [name])
        stage.add(f"{name} alone", rate, "events/s")
        stage.add(f"{name} alone, CPU of Spark", cpu_s, "us/event")


def measure_together(stage: Stage) -> None:
    stage.together, cpu_s = sustained(stage, ALL)
    stage.add("all jobs together", stage.together, "events/s", f"at least {BAR:,}", stage.together >= BAR)
    stage.add("all jobs together, CPU of Spark", cpu_s, "us/event")


def steady(stage: Stage, rate: float) -> tuple[Scene, float, list[tuple[float, int]]]:
    """All jobs at a steady rate: since when it counts, and how far behind the furthest was, with the time."""
    with stage.scene(ALL, per_batch_at(rate)) as scene:
        scene.start_warm()
        scene.load.begin_steady()
        time.sleep(stage.times.warm_s)
        since_ms, lags = now_ms(), list[tuple[float, int]]()
        while now_ms() - since_ms < stage.times.steady_s * 1000:
            time.sleep(TICK_S)
            lags.append((now_ms(), scene.lag()))
        scene.load.stop()
        scene.wait_for_all()
        return scene, since_ms, lags


def per_batch_at(rate: float) -> int:
    lanes = len(OPERATIONS) + 2
    return max(round(rate * TICK_S / lanes), 1)


def measure_bar(stage: Stage) -> None:
    _, _, lags = steady(stage, BAR)
    thirds = [mean(lag for _, lag in part) / BAR for part in in_thirds(lags)]
    # A lag that grows is larger in each third; the noise of batches is less than a second.
    keeps_up = thirds[2] <= thirds[1] + 1 and thirds[2] <= thirds[0] + 1
    stage.add(f"all jobs at {BAR:,} events/s, lag", mean(thirds), "s", "must not grow", keeps_up)
    stage.add(f"all jobs at {BAR:,} events/s, largest lag", max(lag for _, lag in lags) / BAR, "s")


def in_thirds(values: list[tuple[float, int]]) -> list[list[tuple[float, int]]]:
    size = len(values) // 3
    return [values[number * size : (number + 1) * size] for number in range(3)]


def measure_latency(stage: Stage) -> None:
    if stage.together is None:
        measure_together(stage)
    assert stage.together is not None
    for rate in (SLOW, 0.8 * stage.together):
        scene, since_ms, _ = steady(stage, rate)
        for job in ALL:
            found = scene.latencies_ms(job, since_ms)
            for name, share in (("p50", 0.5), ("p99", 0.99)):
                stage.add(f"{job}, {rate:,.0f} events/s, {name}", quantile(found, share), "ms")


def measure_keys(stage: Stage) -> None:
    for job, kind in KEYED.items():
        for number in stage.times.keys:
            with stage.scene([job], PER_BATCH, Keys(**{kind: number})) as scene:
                while scene.load.sent(topics_of(job)) < 3 * number:
                    scene.load.send()
                begin = time.perf_counter()
                scene.start(events_per_batch=20_000)
                scene.wait_for_all()
                taken = time.perf_counter() - begin
                scene.load.stop()
                last = stage.jobs.batches[job][-1]
                what = f"{job}, {number:,} {kind}"
                stage.add(f"{what}: rows of state", last.state_rows, "rows")
                stage.add(f"{what}: memory of state", last.state_bytes / 1e6, "MB")
                stage.add(f"{what}: checkpoint", size_of(scene.checkpoint) / 1e6, "MB")
                stage.add(f"{what}: time to read them", taken, "s")


def size_of(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def measure_catch_up(stage: Stage) -> None:
    with stage.scene(ALL, per_batch_at(BAR)) as scene:
        scene.start_warm()
        scene.load.begin_steady()
        time.sleep(stage.times.warm_s)
        stage.jobs.stop()
        time.sleep(stage.times.stop_s)
        begin = time.perf_counter()
        scene.start()
        while scene.lag() > LAG_MAX:
            time.sleep(TICK_S)
        taken = time.perf_counter() - begin
        scene.load.stop()
    what = f"all jobs at {BAR:,} events/s: caught up after {stage.times.stop_s:.0f} s of standing"
    stage.add(what, taken, "s")


PARTS: dict[str, Callable[[Stage], None]] = {
    "alone": measure_alone,
    "together": measure_together,
    "bar": measure_bar,
    "latency": measure_latency,
    "keys": measure_keys,
    "catch-up": measure_catch_up,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help="keep the figures under bench/results")
    parser.add_argument("--quick", action="store_true", help="short times: it shows that all of it runs")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part of it; may be given again")
    options = parser.parse_args()
    times = QUICK if options.quick else WHOLE
    with work_directory() as root, spark_jobs(root) as jobs:
        stage = Stage(root, jobs, times)
        for name, part in PARTS.items():
            if not options.only or name in options.only:
                progress(name)
                part(stage)
    harness.report("pipelines", stage.figures, save_them=False)
    if options.save:
        found = [asdict(figure) for figure in stage.figures]
        figures = {"figures": harness.with_kept("pipelines", "figures", found) if options.only else found}
        harness.save("pipelines", {"spark": version("pyspark"), "times": asdict(times), **figures})


if __name__ == "__main__":
    main()
