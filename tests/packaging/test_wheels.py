"""What is published works where nothing but the wheels and their own requirements is installed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import switchboard
from tests.docs.code_blocks import ROOT, code_blocks
from tests.docs.terminal import checkout_with_service, typed
from tests.packaging.installation import Installation, build_wheels, install, locked

SERVICE = "switchboard-service"
LIBRARY = "switchboard-agent-transport"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build_wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def service(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install(tmp_path_factory.mktemp("service") / "environment", *wheels.values())


@pytest.fixture(scope="module")
def library(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install(tmp_path_factory.mktemp("library") / "environment", wheels[LIBRARY])


@pytest.mark.parametrize(
    ("distribution", "package"),
    [(SERVICE, "switchboard"), (LIBRARY, "agent_transport")],
)
def test_a_wheel_holds_every_file_of_its_package_and_the_licence(
    wheels: dict[str, Path], distribution: str, package: str
) -> None:
    source = next((ROOT / "packages").glob(f"*/src/{package}"))
    kept = {
        str(path.relative_to(source.parent))
        for path in source.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    with zipfile.ZipFile(wheels[distribution]) as wheel:
        held = set(wheel.namelist())
    assert f"{package}/py.typed" in kept
    assert not kept - held
    assert [name for name in held - kept if name.endswith("/licenses/LICENSE")]
    assert not [name for name in held - kept if ".dist-info/" not in name]


def test_the_service_needs_nothing_that_is_not_locked(service: Installation) -> None:
    theirs = {name: v for name, v in service.packages.items() if name not in (SERVICE, LIBRARY)}
    assert theirs
    assert theirs.items() <= locked().items()


def test_the_installed_programs_say_the_version_of_their_wheels(service: Installation) -> None:
    version = switchboard.__version__
    assert service.run("switchboard", "version") == f"switchboard {version}\n"
    assert service.run("agent-transport", "--version") == f"agent-transport {version}\n"
    assert service.packages[SERVICE] == service.packages[LIBRARY] == version


async def test_the_readmes_first_run_works_with_the_installed_service(
    service: Installation, tmp_path: Path
) -> None:
    """It opens a database, so that the SQL is there, and serves until /readyz says 200."""
    _, run = code_blocks(ROOT / "README.md", "sh")
    async with (
        checkout_with_service(tmp_path, service.directory) as running,
        typed(run.text, tmp_path) as terminal,
    ):
        await terminal.read_until("completed td_")
        await terminal.press_ctrl_c()
        assert "done" in await terminal.finish()
        assert await running.stop() == 0


def test_the_library_alone_brings_no_other_package(library: Installation) -> None:
    assert set(library.packages) == {LIBRARY}


def test_the_library_alone_has_its_admission_its_sessions_and_its_fakes(
    library: Installation,
) -> None:
    modules = "adapters.function, adapters.command, admission, lifecycle, local_session, testing"
    imports = "; ".join(f"import agent_transport.{module}" for module in modules.split(", "))
    code = f"{imports}; print(agent_transport.__file__)"
    assert library.python("-c", code).startswith(str(library.directory))
