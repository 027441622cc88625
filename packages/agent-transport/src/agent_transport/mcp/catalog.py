"""What a session's tools must look like to be served, and the one tool that is served beside them.

The catalog is checked when a transport starts and again whenever it is read: a session may change
its tools while it is being served.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any

from agent_transport.errors import CatalogInvalid, ConfigurationError
from agent_transport.session import JsonObject, RuntimeTool, RuntimeTools

NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""Tool names as every revision of the protocol accepts them."""

_HEADER_MARK = '"x-mcp-header"'
_DEFAULT_DESCRIPTION = "Give the agent a prompt and wait for its response."


@dataclass(frozen=True, slots=True)
class SubmissionTool:
    """The tool by which a prompt is submitted, named by the host.

    Raises:
        ConfigurationError: the name is no tool name, or the description is empty.
    """

    name: str = "agent_submit"
    description: str = _DEFAULT_DESCRIPTION

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            rule = "must be 1 to 128 letters, digits, '_', '.' or '-'"
            raise ConfigurationError("submission.name", rule)
        if not self.description:
            raise ConfigurationError("submission.description", "may not be empty")

    def as_json(self) -> JsonObject:
        """The tool as it stands in a list."""
        schema = {
            "type": "object",
            "properties": {"prompt": {"type": "string", "minLength": 1}},
            "required": ["prompt"],
            "additionalProperties": False,
        }
        return {"name": self.name, "description": self.description, "inputSchema": schema}


@dataclass(frozen=True, slots=True)
class Catalog:
    """A checked catalog: the session's tools in its order, and the submission tool after them."""

    tools: tuple[RuntimeTool, ...]
    submission: SubmissionTool
    names: frozenset[str] = field(repr=False)
    mirrored: Mapping[str, JsonObject] = field(repr=False)
    """Schemas of the tools that have arguments repeated in headers, for proxies to route by."""

    def as_json(self) -> list[JsonObject]:
        """The list as clients see it."""
        return [*map(_listed, self.tools), self.submission.as_json()]


class CatalogReader:
    """Reads and checks the catalog of one session.

    Most reads find the very tools of the read before; then only what can have been altered in
    place is looked at again.
    """

    def __init__(self, session: RuntimeTools, submission: SubmissionTool) -> None:
        self._session = session
        self._submission = submission
        self._last: Catalog | None = None

    def mirrored_schema(self, name: str) -> JsonObject | None:
        """The schema of a tool whose arguments also stand in headers, as it was last read."""
        return None if self._last is None else self._last.mirrored.get(name)

    async def read(self) -> Catalog:
        """The catalog as it is now.

        Raises:
            CatalogInvalid: naming the first tool that cannot be served.
        """
        tools = tuple(await self._session.list_runtime_tools())
        last = self._last
        if last is not None and _are_the_same(tools, last.tools):
            _check_schemas(tools)
            return last
        self._last = catalog = check_catalog(tools, self._submission)
        return catalog


def check_catalog(tools: Sequence[RuntimeTool], submission: SubmissionTool) -> Catalog:
    """Check names and schemas.

    Raises:
        CatalogInvalid: naming the first tool that cannot be served.
    """
    seen: set[str] = set()
    for tool, problem in _name_problems(tools, submission, seen):
        raise CatalogInvalid(_shown(tool.name), problem)
    _check_schemas(tools)
    mirrored = {tool.name: tool.parameters for tool in tools if _is_mirrored(tool)}
    return Catalog(tuple(tools), submission, frozenset(seen), mirrored)


def _name_problems(
    tools: Sequence[RuntimeTool], submission: SubmissionTool, seen: set[str]
) -> Iterator[tuple[RuntimeTool, str]]:
    for tool in tools:
        name: Any = tool.name  # a session is foreign code: its types are claims
        if not isinstance(name, str) or not NAME.fullmatch(name):
            yield tool, "has a name that is not 1 to 128 letters, digits, '_', '.' or '-'"
        elif name == submission.name:
            yield tool, "has the name of the submission tool"
        elif name in seen:
            yield tool, "stands in the catalog twice"
        elif not isinstance(tool.description, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # as above
            yield tool, "has no description"
        seen.add(tool.name)


def _check_schemas(tools: Sequence[RuntimeTool]) -> None:
    for tool in tools:
        schema: Any = tool.parameters
        if not isinstance(schema, dict) or schema.get("type") != "object":  # pyright: ignore[reportUnknownMemberType]  # foreign
            raise CatalogInvalid(_shown(tool.name), "has a schema whose root is no object")


def _is_mirrored(tool: RuntimeTool) -> bool:
    return _HEADER_MARK in json.dumps(tool.parameters, default=str, skipkeys=True)


def _are_the_same(tools: tuple[RuntimeTool, ...], last: tuple[RuntimeTool, ...]) -> bool:
    return len(tools) == len(last) and all(map(is_, tools, last))


def _shown(name: Any) -> str:
    """A name that may be any text, or no text at all, in a message."""
    return str(name)[:128]


def _listed(tool: RuntimeTool) -> JsonObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.parameters,
    }
