"""The example of docs/testing.md, in an environment that has nothing but what pip installs with the wheel."""

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OFFLINE = re.compile(r"Failed to fetch|error sending request|dns error|Could not connect|network", re.IGNORECASE)


def run(command: Sequence[str | Path], directory: Path) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "VIRTUAL_ENV"))}
    return subprocess.run(command, cwd=directory, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_example_for_users_passes_where_only_the_wheel_is_installed(tmp_path: Path) -> None:
    built = run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], ROOT)
    assert built.returncode == 0, built.stderr
    wheel = next(tmp_path.glob("*.whl"))
    uv, venv = Path(sys.executable).with_name("uv"), tmp_path / "venv"
    made = run([uv, "venv", "--quiet", "--no-project", "--python", sys.executable, venv], tmp_path)
    assert made.returncode == 0, made.stderr
    installed = run([uv, "pip", "install", "--quiet", "--python", venv / "bin" / "python", wheel, "pytest"], tmp_path)
    if installed.returncode and OFFLINE.search(installed.stderr):
        pytest.skip("the registry that has what the wheel depends on does not answer")
    assert installed.returncode == 0, installed.stderr
    example = PYTHON.findall((ROOT / "docs" / "testing.md").read_text(encoding="utf-8"))[0]
    (tmp_path / "test_orders.py").write_text(example, encoding="utf-8")
    ended = run([venv / "bin" / "python", "-m", "pytest", "-p", "no:cacheprovider", "test_orders.py"], tmp_path)
    assert "1 passed" in ended.stdout, ended.stdout + ended.stderr


@pytest.mark.slow
def test_the_wheel_has_the_module_that_spark_finds_by_its_name(tmp_path: Path) -> None:
    built = run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], ROOT)
    assert built.returncode == 0, built.stderr
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    assert {"pyspark_odradek/__init__.py", "odradek/spark/source.py"} <= set(names)
