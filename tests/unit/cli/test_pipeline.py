"""`odradek pipeline`, as far as it goes without Spark."""

import json
import subprocess
import sys

import pytest

from odradek.cli.main import main
from odradek.pipelines.registry import JOBS

_WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = None
from odradek.cli.main import main
sys.exit(main(["pipeline", "run", "all", "--checkpoint", "nowhere"]))
"""


def test_list_has_a_line_for_each_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["NAME", "READS", "WRITES", "ABOUT"]
    assert [line.split()[0] for line in lines[1:]] == list(JOBS)
    assert len(JOBS) == 8


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "list", "--json"]) == 0
    jobs = {job["name"]: job for job in map(json.loads, capsys.readouterr().out.splitlines())}
    assert jobs["truck-positions"]["source"] == {"subscribe": "trucks_gps"}
    assert jobs["truck-positions"]["configs"] == {"cleanup.policy": "compact"}
    assert jobs["operations-with-plan"]["table"] == "tenant_plans"
    assert jobs["latency-trends"]["watermark"] == "62 minutes"


def test_a_job_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "run", "lottery", "--checkpoint", "nowhere"]) == 1
    assert capsys.readouterr().err.startswith("odradek: no job lottery; there are truck-positions, driver-alerts, ")


def test_without_spark_one_line_says_what_to_install() -> None:
    result = subprocess.run([sys.executable, "-c", _WITHOUT_SPARK], capture_output=True, text=True, check=False)
    expected = "odradek: jobs run on Spark, and pyspark is not installed: pip install 'odradek[spark]'\n"
    assert (result.returncode, result.stderr) == (2, expected)


def test_a_list_needs_no_spark() -> None:
    code = "import sys; from odradek.cli.main import main; main(['pipeline', 'list']); print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"pyspark", "pyarrow", "numba", "pandas"}.isdisjoint(result.stdout.split())
