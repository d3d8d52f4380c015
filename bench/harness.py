"""What every benchmark here shares: the machine's description, rounds, a table, results kept as JSON."""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from typing import Any

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Figure:
    """One measured number, with the machine's own limit for the same work beside it."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    limit_is: str = ""
    bar: str = ""
    met: bool | None = None


def environment() -> dict[str, str]:
    """Of processes that are measured: Python keeps compiled modules from the first start on, whatever this shell says,
    as those have them who installed with pip."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


class Watch:
    """Wall and CPU time of this process."""

    def __init__(self) -> None:
        self._cpu = time.process_time()
        self._wall = time.perf_counter()

    def stop(self) -> dict[str, float]:
        seconds = time.perf_counter() - self._wall
        return {"seconds": seconds, "own_cpu": (time.process_time() - self._cpu) / seconds}


def percentiles(times: list[float]) -> dict[str, float]:
    cuts = quantiles(times, n=100)
    return {"p50_us": cuts[49], "p99_us": cuts[98]}


def medians(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The median time of each piece of work, done in turn, round by round: what disturbs one disturbs all."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for taken, work in zip(times, works, strict=True):
            taken.append(seconds(work))
    return [median(taken) for taken in times]


def machine() -> dict[str, str]:
    cpu = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "unknown"
    )
    memory = next((line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0")
    return {
        "cpu": cpu,
        "cores": str(os.cpu_count()),
        "memory_gib": f"{int(memory) / (1 << 20):.0f}",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "crc32c": version("crc32c"),
        "cramjam": version("cramjam"),
        "uvloop": version("uvloop"),
        "confluent_kafka": version("confluent-kafka"),
        "commit": _commit(),
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if os.path.exists(path) else []


def _commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def parser(description: str, rounds: int = 5) -> argparse.ArgumentParser:
    """For the command line of a benchmark, which from now on stops what it has started when it is told to end."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--rounds", type=int, default=rounds, help=f"how often each piece of work is timed (default {rounds})"
    )
    parser.add_argument("--save", action="store_true", help="keep the figures under bench/results")
    return parser


def report(name: str, figures: list[Figure], *, save_them: bool) -> None:
    rows: list[tuple[str, ...]] = [("", "measured", "machine's limit", "of it", "bar")]
    for figure in figures:
        limit = f"{number(figure.limit)} {figure.unit} {figure.limit_is}" if figure.limit is not None else ""
        share = f"{figure.value / figure.limit:.2f}" if figure.limit else ""
        bar = figure.bar if figure.met is None else f"{figure.bar} {'met' if figure.met else 'MISSED'}"
        rows.append((figure.what, f"{number(figure.value)} {figure.unit}", limit, share, bar))
    print_table(rows)
    if save_them:
        save(name, {"figures": [asdict(figure) for figure in figures]})


def print_table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def save(name: str, results: dict[str, object]) -> None:
    """Keep results with the machine that they are from."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **results}, indent=1) + "\n")
    print(f"kept in {path.relative_to(Path(__file__).parent.parent)}", file=sys.stderr)


def publish(name: str, path: Path, table: str) -> None:
    """Put a table of Markdown where the page has the last one, between two comments."""
    text = path.read_text()
    begin, end = f"<!-- {name}: a table of ./run bench {name} --save -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{path} has no place for the table of {name}")
    path.write_text(f"{before}{begin}{table}{end}{after}")


def with_kept(name: str, key: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """These rows in their places among those that are kept: for a run of a part alone, which says nothing of others."""
    path = RESULTS / f"{name}.json"
    kept = json.loads(path.read_text()).get(key, []) if path.exists() else []
    new = {row["what"]: row for row in rows}
    return [new.pop(row["what"], row) for row in kept] + list(new.values())


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
