"""./run: its help, its tasks and what the documents say about them agree. No test here sets anything up."""

import os
import re
import subprocess
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
