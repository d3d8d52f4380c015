"""./run: its help, its tasks and what the documents say about them agree. What is set up here is not real."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_TASK_IN_HELP = re.compile(r"^  ([a-z]+) ", re.MULTILINE)
_TASK_IN_CODE = re.compile(r"^  ([a-z]+)(?: \| [^)]*)?\)", re.MULTILINE)
_TASK_IN_TEXT = re.compile(r"\./run ([a-z]+)")


def _run(script: Path, *arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **variables}
    return subprocess.run([script, *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def tasks(root: Path) -> set[str]:
    return set(_TASK_IN_HELP.findall(_run(root / "run", cwd=root).stdout))


def test_help_lists_exactly_the_tasks_that_exist(root: Path, tasks: set[str]) -> None:
    assert tasks == set(_TASK_IN_CODE.findall((root / "run").read_text(encoding="utf-8")))


def test_documents_name_only_tasks_that_exist(root: Path, tasks: set[str]) -> None:
    documents = [*root.glob("*.md"), *root.glob("docs/**/*.md"), root / ".ci/run"]
    for document in documents:
        named = set(_TASK_IN_TEXT.findall(document.read_text(encoding="utf-8")))
        assert named <= tasks, document


def test_works_from_elsewhere_through_a_link(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "first").symlink_to(root / "run")
    (tmp_path / "second").symlink_to("a folder/first")
    there = _run(tmp_path / "second", "bench", "no-such-benchmark", cwd=tmp_path)
    assert (there.returncode, there.stderr) == (2, "run: no benchmark no-such-benchmark; ./run bench lists them\n")


def test_unknown_task_is_one_line_and_status_2(root: Path) -> None:
    result = _run(root / "run", "no-such-task", cwd=root)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "run: no task 'no-such-task'; ./run help lists them\n"


def test_unsupported_python_is_named_with_its_version(root: Path, tmp_path: Path) -> None:
    old = tmp_path / "old python"
    old.write_text("#!/bin/sh\necho 3.9.1 /usr/bin/python3.9\n", encoding="utf-8")
    old.chmod(0o755)
    asked = _run(root / "run", "lock", cwd=root, PYTHON=str(old))
    assert asked.returncode == 1
    assert asked.stderr.startswith(f"run: odradek needs Python 3.11 to 3.14, found 3.9.1 ({old})")
    assert asked.stderr.count("\n") == 1


_UV = """#!/bin/sh
echo "$*" >>"$UV_CALLS"
for last; do :; done
if [ "$1" = venv ]; then mkdir -p "$last/bin" && ln -s {python} "$last/bin/python"; fi
"""


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """The project without its code, and a uv that only writes down what it is called with."""
    copy = tmp_path / "project"
    for name in ("run", "pyproject.toml", "requirements.lock", "requirements-spark.lock", "src/odradek/__init__.py"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, copy / name)
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(_UV.format(python=sys.executable), encoding="utf-8")
    uv.chmod(0o755)
    return copy


def _locks_installed(copy: Path, *arguments: str) -> list[str]:
    calls = copy.parent / "calls"
    calls.write_text("")
    path = f"{copy.parent / 'bin'}:{os.environ['PATH']}"
    ended = _run(copy / "run", *arguments, cwd=copy, PATH=path, UV_CALLS=str(calls), PYTHON=sys.executable)
    assert ended.returncode == 0, ended.stderr
    return [Path(line.split()[-1]).name for line in calls.read_text().splitlines() if line.startswith("pip sync")]


def test_spark_is_set_up_for_what_needs_it_and_stays(copy: Path) -> None:
    nothing = ("python", "-c", "pass")
    assert _locks_installed(copy, *nothing) == ["requirements.lock"]
    assert _locks_installed(copy, *nothing) == []
    (copy / "bench").mkdir()
    (copy / "bench" / "spark.py").write_text("")
    assert _locks_installed(copy, "bench", "spark") == ["requirements-spark.lock"]
    assert _locks_installed(copy, *nothing) == []
    (copy / "pyproject.toml").write_text("# changed\n")
    assert _locks_installed(copy, *nothing) == ["requirements-spark.lock"]
