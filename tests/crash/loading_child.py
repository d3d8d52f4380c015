"""A process that keeps a broker busy, whatever happens to the broker, and remembers what it was told.

    python loading_child.py PORT SEED LEDGER

For each answer a line is printed. When standard input ends, what was begun is finished, and what was acknowledged is
written to the file LEDGER as JSON.
"""

import asyncio
import json
import logging
import sys
from pathlib import Path
from random import Random

from support.ledger import Ledger
from support.load import Load, run_all


def print_progress() -> None:
    sys.stdout.write("answered\n")
    sys.stdout.flush()


async def main(port: int, seed: int) -> Ledger:
    load = Load(port, Random(seed), print_progress)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run_all(load))
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
        load.stop.set()
    return load.ledger


if __name__ == "__main__":
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of writing to connections that are lost
    told = asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
    Path(sys.argv[3]).write_text(json.dumps(vars(told)), encoding="utf-8")
