"""Runs a program written against `torch.distributed` on gloo: real, and one process per rank."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import tempfile
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import torch
import torch.distributed

dist: Any = torch.distributed  # its stubs leave out the stores
c10d: Any = torch.distributed.distributed_c10d

_TIMEOUT = timedelta(seconds=60)


def run(program: Callable[[], Any], ranks: int) -> list[Any]:
    """Run `program` in as many processes as `ranks`, and return what each returned.

    `program` calls `init_process_group` like any other, and so makes new groups; whichever backend it names, it gets
    gloo. The processes are forked, so that `program` may be a closure and torch need not be imported again. Raises
    RuntimeError with the traceback of a rank that failed.
    """
    context = multiprocessing.get_context("fork")
    end = context.Barrier(ranks)
    with tempfile.TemporaryDirectory() as folder:
        connections, processes = [], []
        for rank in range(ranks):
            here, there = context.Pipe(duplex=False)
            process = context.Process(
                target=_child, args=(program, rank, ranks, Path(folder) / "store", there, end)
            )
            process.start()
            there.close()
            connections.append(here)
            processes.append(process)
        answers = [pickle.loads(connection.recv_bytes()) for connection in connections]
        for process in processes:
            process.join()
    if failures := [answer for failed, answer in answers if failed]:
        raise RuntimeError("\n".join(failures))
    return [answer for _, answer in answers]


def _child(
    program: Callable[[], Any], rank: int, size: int, store: Path, answers: Connection, end: Barrier
) -> None:
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size))
    initialise, new_group = c10d.init_process_group, c10d.new_group

    def init_process_group(backend: str | None = None, *_: Any, **__: Any) -> None:
        file_store = dist.FileStore(str(store), size)
        initialise("gloo", store=file_store, rank=rank, world_size=size, timeout=_TIMEOUT)

    def new_gloo_group(*arguments: Any, **keywords: Any) -> Any:
        return new_group(*arguments, **{**keywords, "backend": "gloo"})

    for module in (dist, c10d):
        module.init_process_group = init_process_group
        module.new_group = new_gloo_group
    try:
        answer = program()
        end.wait()  # a rank that leaves early breaks the connections of the others
        answers.send_bytes(pickle.dumps((False, answer)))
    except BaseException:
        end.abort()
        answers.send_bytes(pickle.dumps((True, traceback.format_exc())))
    finally:
        answers.close()
        os._exit(0)
