"""Kernels for widget tests: `kernel`, `oldest`, `threaded`, and `anykernel`, which is each of the first two.

Each test finds a kernel without widgets and names; the process is that of the test before where that left it alive.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.kernel.harness import Kernel
    from tests.kernel.starting import SharedKernel

FETCHED = {"oldest", "threaded"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on a kernel that must be fetched first are marked."""
    for item in items:
        if FETCHED & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.install)


@pytest.fixture(scope="session")
def _cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where fetched kernels are: kept on a laptop (`--cache-clear` removes them), anew for each run of CI."""
    kept = getattr(request.config, "cache", None)
    if kept is None or os.environ.get("CI", "").lower() == "true":
        return tmp_path_factory.mktemp("kernels")
    return Path(kept.mkdir("kernels"))


def _made(make: Callable[[Path], Any], cache: Path) -> Any:
    """What is installed; without a network, a skip that says so. On a build server that is a failure."""
    from tests.kernel.starting import CannotInstall

    try:
        return make(cache)
    except CannotInstall as error:
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(f"this kernel's environment cannot be made, and CI=true:\n{error}", pytrace=False)
        pytest.skip(f"this kernel's environment cannot be made: {str(error).strip().splitlines()[-1]}")


@pytest.fixture(scope="session")
def oldest_python(_cache: Path) -> str:
    """The interpreter with the lowest versions the package allows."""
    from tests.kernel.starting import oldest_python

    return str(_made(oldest_python, _cache))


@pytest.fixture(scope="session")
def threaded_path(_cache: Path) -> Path:
    """The folder with the ipykernel whose callbacks run in threads."""
    from tests.kernel.starting import threaded_path

    return Path(_made(threaded_path, _cache))


@pytest.fixture(scope="package")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., SharedKernel]]:
    """Kernels that tests share, each started when it is first asked for: starting one takes longer than most tests."""
    pytest.importorskip("ipykernel")
    pytest.importorskip("jupyter_client")
    from tests.kernel.starting import SharedKernel

    kernels: dict[str, SharedKernel] = {}

    def shared(name: str, **settings: Any) -> SharedKernel:
        if name not in kernels:
            kernels[name] = SharedKernel(tmp_path_factory.mktemp(name), **settings)
        return kernels[name]

    yield shared
    for kernel in kernels.values():
        kernel.close()


@pytest.fixture
def kernel(_shared: Callable[..., SharedKernel]) -> Iterator[Kernel]:
    """A kernel of this environment, spoken to as JupyterLab does."""
    with _shared("newest").page() as found:
        yield found


@pytest.fixture
def oldest(_shared: Callable[..., SharedKernel], oldest_python: str) -> Iterator[Kernel]:
    """A kernel with the lowest versions the package allows."""
    with _shared("oldest", python=oldest_python).page() as found:
        yield found


@pytest.fixture
def threaded(_shared: Callable[..., SharedKernel], threaded_path: Path) -> Iterator[Kernel]:
    """A kernel whose widget callbacks run in another thread, as ipykernel 7.1 to 7.3 do under JupyterLab."""
    with _shared("threaded", path=threaded_path).page() as found:
        yield found


@pytest.fixture(params=["newest", pytest.param("oldest", marks=pytest.mark.install)])
def anykernel(request: pytest.FixtureRequest) -> Kernel:
    """Each of `kernel` and `oldest` in turn."""
    return request.getfixturevalue("kernel" if request.param == "newest" else "oldest")
