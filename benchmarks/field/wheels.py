"""Wheels of public packages by exact version: fetched with pip into a folder each, and imported without their dependencies."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.field.corpus import Package


def cache_folder() -> Path:
    """The folder of the wheels: `WORKBENCH_FIELD_CACHE`, else one in the user's cache."""
    return Path(
        os.environ.get("WORKBENCH_FIELD_CACHE") or Path.home() / ".cache" / "grader-workbench" / "field"
    )


def fetch(requirement: str, cache: Path) -> Path:
    """The folder of one package, such as "verl==0.9.1"; pip fills it if it does not exist.

    Raises:
        RuntimeError: pip did not find this version.
    """
    folder = cache / requirement.replace("==", "-")
    if folder.is_dir():
        return folder
    part = folder.with_suffix(".part")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
        "--target",
        str(part),
    ]
    done = subprocess.run([*command, requirement], capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(part, ignore_errors=True)
        raise RuntimeError(f"pip could not install {requirement}: {done.stderr.strip()[-400:]}")
    part.rename(folder)
    return folder


def fetch_all(package: Package, version: str, cache: Path) -> list[Path]:
    """The folders of a package and of what its functions need."""
    return [fetch(one, cache) for one in (f"{package.name}=={version}", *package.needs)]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages without their `__init__`, and empty modules instead of those that are imported but not used."""

    def __init__(self, bare: Sequence[str], stands_in: Sequence[str]) -> None:
        self._bare, self._stands_in = frozenset(bare), tuple(stands_in)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        if any(fullname == name or fullname.startswith(f"{name}.") for name in self._stands_in):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        if fullname not in self._bare:
            return None
        real = importlib.machinery.PathFinder.find_spec(fullname, path)
        if real is None or real.submodule_search_locations is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        spec.submodule_search_locations = list(real.submodule_search_locations)
        return spec

    def create_module(self, spec: Any) -> types.ModuleType:
        return _Empty(spec.name) if spec.name not in self._bare else types.ModuleType(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run nothing."""


class _Empty(types.ModuleType):
    """A module whose every name is a class without content."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        body = {
            "__class_getitem__": classmethod(lambda cls, _: cls),
            "__init__": lambda *_, **__: None,
            "__module__": self.__name__,
        }
        made = type(name, (), body)
        setattr(self, name, made)
        return made


def prepare_imports(package: Package, folders: Sequence[Path]) -> None:
    """Make a package importable in this process."""
    sys.path[:0] = [str(folder) for folder in folders]
    sys.meta_path.insert(0, _Finder(package.bare, package.stands_in))
    importlib.invalidate_caches()


def load(target: str) -> Any:
    """The object at `module:attribute`.

    Raises:
        ImportError, AttributeError: This version does not contain it.
    """
    module, _, names = target.partition(":")
    found: Any = importlib.import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found
