"""An environment into which our wheels, and what they ask for, were installed and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOUND_S = 100.0
"""For one `make`; with a cold cache it fetches some forty packages."""


@dataclass(frozen=True, slots=True)
class Installation:
    """`directory` is the environment's, with its programs in `bin`."""

    directory: Path

    def python(self, *arguments: str) -> str:
        """Run its interpreter, which finds nothing of this checkout; what it printed."""
        return _output_of(str(self.directory / "bin" / "python"), "-I", *arguments)

    def run(self, program: str, *arguments: str) -> str:
        """Run one of its programs; what it printed."""
        return _output_of(str(self.directory / "bin" / program), *arguments)

    @property
    def packages(self) -> dict[str, str]:
        """Name and version of all that is installed."""
        uv = str(ROOT / ".tools" / "uv" / "bin" / "uv")
        listed = _output_of(uv, "pip", "list", "--format=json", "--python", str(self.directory))
        return {package["name"]: package["version"] for package in json.loads(listed)}


def build_wheels(directory: Path) -> dict[str, Path]:
    """Both wheels, by the name of their distribution, as `make wheels` builds them."""
    _make("wheels", f"DIST={directory}")
    return {path.name.split("-")[0].replace("_", "-"): path for path in directory.glob("*.whl")}


def install(directory: Path, *wheels: Path) -> Installation:
    """A new environment in `directory` with these wheels, and from the index what they ask for."""
    _make("install-wheels", f"INTO={directory}", f"WHEELS={' '.join(map(str, wheels))}")
    return Installation(directory)


def locked() -> dict[str, str]:
    """Name and version of everything in the lock file."""
    lock = (ROOT / "requirements" / "lock.txt").read_text("utf-8")
    return dict(re.findall(r"^([\w.-]+)==([^ ]+)", lock, re.M))


def _make(*arguments: str) -> None:
    """`-o`: the environment that runs this test is not to be made again by it."""
    _output_of("make", "--silent", "-C", str(ROOT), "-o", ".venv/stamp", *arguments)


def _output_of(*command: str) -> str:
    ended = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, check=False)
    assert ended.returncode == 0, f"{command}: {ended.stderr}"
    return ended.stdout
