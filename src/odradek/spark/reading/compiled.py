"""Kernels as machine code: compiled by numba once on a machine, kept on disk, loaded without numba.

To import numba takes as long as to read a million rows, and every worker of Spark would do so. LLVM alone loads what
numba has made in a few milliseconds. For this, the code must call nothing of numba's: an optimisation over the whole of
it removes the paths by which numba would raise, as a kernel never does, and the result is looked at before it is kept.
"""

import fcntl
import hashlib
import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from ctypes import CFUNCTYPE, c_int64, c_void_p
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import llvmlite.binding as llvm

from odradek.spark.reading.layout import PARAMETERS

_log = logging.getLogger("odradek.spark")
_SYMBOL = "odradek_kernel"
_ENVIRONMENT = "ODRADEK_CACHE_DIR"
_DIGEST_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A function to compile. It is named, not given: its module imports numba."""

    module: str
    function: str
    parameters: tuple[tuple[str, str], ...]
    """Names and types, as `layout.PARAMETERS` has them."""
    files: tuple[Path, ...]
    """All that the code depends on, but for this module."""


DECODE = KernelSource(
    "odradek.spark.reading.kernel",
    "decode",
    tuple(PARAMETERS.items()),
    tuple(Path(__file__).with_name(name) for name in ("kernel.py", "layout.py")),
)


class Kernel(Protocol):
    def __call__(self, *arguments: int) -> int:
        """Addresses and numbers, as its parameters are. The lock of the interpreter is free meanwhile."""


@cache
def load_kernel(source: KernelSource = DECODE) -> Kernel:
    """From disk, else compiled and kept there. Without a directory to keep it in, it is compiled in every process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    folder = cache_folder()
    return _link(source, _compile(source) if folder is None else _code(source, folder))


def _code(source: KernelSource, folder: Path) -> bytes:
    path = folder / f"{source.function}-{_fingerprint(source)}.o"
    code = _kept(path)
    if code is not None:
        return code
    with _one_at_a_time(folder):
        code = _kept(path)  # another may have compiled it meanwhile
        if code is None:
            code = _compile(source)
            _keep(path, code)
        return code


def cache_folder() -> Path | None:
    """The first of these that is ours to write to: the one of the environment, that of the user, a temporary one."""
    named = os.environ.get(_ENVIRONMENT)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    spare = os.path.join(tempfile.gettempdir(), f"odradek-{os.getuid()}")
    refused = ""
    for folder in (*([named] if named else ()), os.path.join(home, "odradek"), spare):
        reason = _refusal(Path(folder))
        if reason is None:
            if named and folder != named:
                _log.warning("compiled code is kept in %s, not in %s: %s", folder, named, refused)
            return Path(folder)
        refused = refused or reason
    _log.warning("compiled code cannot be kept, and every process takes seconds to compile it: %s", refused)
    return None


def _refusal(folder: Path) -> str | None:
    """What lies there is run: nobody else may be able to put it there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        return str(error)
    if status.st_uid != os.getuid():
        return f"{folder} belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to {folder}; chmod go-w makes it fit"
    return None if os.access(folder, os.W_OK) else f"{folder} cannot be written to"


def _fingerprint(source: KernelSource) -> str:
    """Of all that the code depends on. A home directory may be shared by machines that are not alike."""
    digest = hashlib.sha256()
    for file in (Path(__file__), *source.files):
        digest.update(file.read_bytes())
    for text in (llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()):
        digest.update(text.encode())
    digest.update(f"numba {version('numba')} llvmlite {version('llvmlite')}".encode())
    return digest.hexdigest()[:32]


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Workers start together: one compiles, the others wait for what it leaves."""
    with ExitStack() as held:
        try:
            file = held.enter_context((folder / "compiling.lock").open("a"))
        except OSError:  # a full disk: each compiles for itself
            pass
        else:
            fcntl.flock(file, fcntl.LOCK_EX)  # goes away with the process, however that ends
        yield


def _kept(path: Path) -> bytes | None:
    """None where there is none, and where it is not what was kept: LLVM ends the process that links such code."""
    try:
        found = path.read_bytes()
    except OSError:
        return None
    digest, code = found[:_DIGEST_BYTES], found[_DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == digest else None


def _keep(path: Path, code: bytes) -> None:
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        temporary.write_bytes(hashlib.sha256(code).digest() + code)
        temporary.rename(path)  # what a lost power leaves of it is found by its digest
    except OSError as error:
        _log.warning("compiled code cannot be kept in %s: %s", path.parent, error)
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _link(source: KernelSource, code: bytes) -> Kernel:
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    kinds = [c_int64 if kind == "number" else c_void_p for _, kind in source.parameters]
    function: Any = CFUNCTYPE(c_int64, *kinds)(engine.get_function_address(_SYMBOL))
    function.engine = engine  # the code goes when it goes
    return function  # type: ignore[no-any-return]


def _machine() -> llvm.TargetMachine:
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        codemodel="jitdefault",
        jit=True,
    )


def _compile(source: KernelSource) -> bytes:
    from numba import cfunc, types

    function = getattr(import_module(source.module), source.function)
    items = {"u1": types.uint8, "i4": types.int32, "i8": types.int64}
    kinds: list[Any] = [
        types.CPointer(items[kind]) if kind in items else types.int64  # type: ignore[no-untyped-call]
        for _, kind in source.parameters
    ]
    entry = cfunc(types.int64(*kinds), error_model="numpy")(function.py_func)
    module = llvm.parse_assembly(entry.inspect_llvm())
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name == entry.native_name else "internal"
        if function.name == entry.native_name:
            function.name = _SYMBOL
    return _optimise(module)


def _optimise(module: llvm.ModuleRef) -> bytes:
    machine = _machine()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    sweep = llvm.create_new_module_pass_manager()
    sweep.add_global_dead_code_eliminate_pass()
    sweep.run(module, builder)
    missing = [each.name for each in module.functions if each.is_declaration and not each.name.startswith("llvm.")]
    if missing:  # LLVM ends the process when it is told to link such code
        raise RuntimeError(f"the compiled kernel calls {', '.join(sorted(missing))}")
    return bytes(machine.emit_object(module))
