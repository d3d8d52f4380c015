"""The import contracts in pyproject.toml hold."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_import_contracts_hold(root: Path) -> None:
    # In a process of its own: the linter configures logging for the whole process.
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()"]
    options = ["--no-logo", "--cache-dir", ".cache/import-linter"]
    result = subprocess.run([*command, *options], cwd=root, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
