"""How lines of the log look in a process of Spark's."""

import re
import subprocess
import sys

import pytest

TELL = """
import logging
from odradek.spark.runtime.told import told_in_one_line
{before}
for _ in range(2):
    with told_in_one_line():
        logging.getLogger("odradek.spark.streams.progress").warning("group %s", "mine")
"""


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} WARNING odradek\.spark\.streams\.progress: group mine\n"),
        ("logging.basicConfig(format='theirs %(message)s')", "theirs group mine\n"),
    ],
)
def test_lines_have_time_and_level_where_nobody_has_said_how_they_look(before: str, line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TELL.format(before=before)], capture_output=True, text=True, check=True
    )
    assert re.fullmatch(line * 2, done.stderr), done.stderr
