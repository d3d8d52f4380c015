"""Whose a checkpoint is: the offsets in it name the group that the job commits its progress to."""

import json
import re
from typing import Any

from pyspark.sql import SparkSession

from odradek.model.errors import OdradekError
from odradek.pipelines.registry import Job

_GROUP = re.compile(r"pipeline-(.+)-[0-9a-f]{8}")


class OthersCheckpoint(OdradekError):
    def __init__(self, place: str, job: Job, owner: str) -> None:
        super().__init__(
            f"{place} is the checkpoint of {owner}, not of job {job.name}; give {job.name} another --checkpoint, "
            f"or move that directory to where it belongs"
        )


def group_prefix(job: Job) -> str:
    return f"pipeline-{job.name}"


def checkpoint_of(job: Job, directory: str) -> str:
    return f"{directory.rstrip('/')}/{job.name}"


def check_owner(session: SparkSession, job: Job, place: str) -> None:
    """Raises OthersCheckpoint. What has no offsets yet is anybody's."""
    text = _last_offsets(session, f"{place}/offsets")
    if text is None:
        return
    group = _group(text)
    named = _GROUP.fullmatch(group)
    if named is None or named[1] != job.name:
        raise OthersCheckpoint(place, job, f"job {named[1]}" if named is not None else "another query")


def _group(text: str) -> str:
    """A file of offsets has a version, then settings of Spark, and then a line for each source."""
    for line in text.splitlines()[2:]:
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict):
            return str(told.get("@group", ""))
    return ""


def _last_offsets(session: SparkSession, directory: str) -> str | None:
    """Read through Spark: a checkpoint lies wherever Spark can reach it."""
    context: Any = session.sparkContext
    hadoop, streams = context._jvm.org.apache.hadoop.fs, context._jvm.org.apache.commons.io.IOUtils
    place = hadoop.Path(directory)
    files = place.getFileSystem(context._jsc.hadoopConfiguration())
    if not files.exists(place):
        return None
    numbers = [int(name) for each in files.listStatus(place) if (name := each.getPath().getName()).isdecimal()]
    if not numbers:
        return None
    stream = files.open(hadoop.Path(place, str(max(numbers))))
    try:
        return str(streams.toString(stream, "UTF-8"))
    finally:
        stream.close()
