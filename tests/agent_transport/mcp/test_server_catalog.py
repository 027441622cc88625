"""One agent session as an MCP server: what it advertises, and catalogs it cannot serve."""

from typing import Any

import pytest

from agent_transport.errors import (
    CatalogInvalid,
    ConfigurationError,
)
from agent_transport.mcp.catalog import SubmissionTool
from agent_transport.mcp.server import create_agent_mcp_server
from agent_transport.session import (
    RuntimeTool,
)
from agent_transport.testing import FakeSession
from agent_transport.testing.fake_session import ECHO
from tests.agent_transport.mcp.agent_server import INITIALIZE, Agent, Answered, error_of
from tests.specification import requirement


def tool(name: Any, parameters: Any = None) -> RuntimeTool:
    return RuntimeTool(name, "A tool", {"type": "object"} if parameters is None else parameters)


# --- what is advertised


@requirement("agent-transport/catalog/tools-only")
async def test_the_server_has_tools_and_nothing_else() -> None:
    agent = await Agent.of(FakeSession())
    opened = await agent.ask("initialize", INITIALIZE)
    assert opened["capabilities"] == {"tools": {}}
    for method in ("resources/list", "resources/templates/list", "prompts/list"):
        assert (await error_of(agent.ask(method, {}))).code == -32601


@requirement("agent-transport/catalog/canonical-names", "agent-transport/catalog/no-command-route")
async def test_the_list_is_the_catalog_in_its_order_and_the_submission_tool_last() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "x-own": 1}
    session = FakeSession([tool("z.last"), RuntimeTool("a_first", "Does it", schema)])
    listed = await (await Agent.of(session)).list()
    assert [entry["name"] for entry in listed] == ["z.last", "a_first", "agent_submit"]
    assert listed[1] == {"name": "a_first", "description": "Does it", "inputSchema": schema}
    assert listed[2]["inputSchema"] == {
        "type": "object",
        "properties": {"prompt": {"type": "string", "minLength": 1}},
        "required": ["prompt"],
        "additionalProperties": False,
    }


@requirement("agent-transport/catalog/submission-identity")
async def test_the_host_chooses_the_name_of_the_submission_tool() -> None:
    chosen = SubmissionTool("ask_scout", "Ask the scout")
    agent = await Agent.of(FakeSession([]), submission=chosen)
    (listed,) = await agent.list()
    assert (listed["name"], listed["description"]) == ("ask_scout", "Ask the scout")
    assert await agent.call("ask_scout", {"prompt": "go"}) == Answered("heard: go", False)
    assert (await agent.call("agent_submit", {"prompt": "go"})).is_error


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ä", "x" * 129, "a\n"])
def test_a_submission_name_that_is_no_tool_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"submission\.name"):
        SubmissionTool(name)
    with pytest.raises(ConfigurationError, match="description"):
        SubmissionTool("x" * 128, "")


# --- a catalog that cannot be served

BAD_CATALOGS: list[tuple[list[RuntimeTool], str]] = [
    ([ECHO, tool("agent_submit")], "'agent_submit' has the name of the submission tool"),
    ([ECHO, tool("a"), ECHO], "'echo' stands in the catalog twice"),
    ([tool("a b")], "'a b' has a name"),
    ([tool("")], "'' has a name"),
    ([tool("x" * 129)], "has a name"),
    ([tool(7)], "'7' has a name"),
    ([tool("a", {})], "'a' has a schema whose root is no object"),
    ([tool("a", {"type": "array"})], "'a' has a schema"),
    ([tool("a", {"type": ["object"]})], "'a' has a schema"),
    ([tool("a", [])], "'a' has a schema"),
    ([RuntimeTool("a", None, {"type": "object"})], "'a' has no description"),  # type: ignore[arg-type]  # what a careless session gives
]


@requirement(
    "agent-transport/catalog/checked-first", "agent-transport/catalog/collision-fails-start"
)
@pytest.mark.parametrize(("tools", "complaint"), BAD_CATALOGS)
async def test_a_bad_catalog_builds_no_server_and_names_the_tool(
    tools: list[RuntimeTool], complaint: str
) -> None:
    with pytest.raises(CatalogInvalid, match=complaint):
        await Agent.of(FakeSession(tools))


@requirement("agent-transport/catalog/later-collision-visible")
@pytest.mark.parametrize(("tools", "complaint"), BAD_CATALOGS)
async def test_a_catalog_that_goes_bad_fails_lists_and_calls_and_the_runtime_is_not_called(
    tools: list[RuntimeTool], complaint: str
) -> None:
    session = FakeSession()
    agent = await Agent.of(session)
    session.tools[:] = tools
    listed = await error_of(agent.list())
    assert complaint in listed.message
    for name, arguments in (("echo", {"text": "x"}), ("agent_submit", {"prompt": "x"})):
        called = await agent.call(name, arguments)
        assert called.is_error
        assert complaint in called.text
    assert (session.invoked, session.turns) == ([], [])
    session.tools[:] = [ECHO]
    assert not (await agent.call("echo", {"text": "x"})).is_error


async def test_a_schema_that_is_altered_in_place_is_noticed() -> None:
    altered = tool("a")
    agent = await Agent.of(FakeSession([altered]))
    altered.parameters["type"] = "array"
    assert "no object" in (await error_of(agent.list())).message
    assert (await agent.call("a")).is_error


async def test_a_tool_that_comes_later_is_listed_and_called_and_one_that_went_is_unknown() -> None:
    session = FakeSession()
    agent = await Agent.of(session)
    session.tools[:] = [tool("new")]
    assert [entry["name"] for entry in await agent.list()] == ["new", "agent_submit"]
    assert not (await agent.call("new")).is_error
    assert await agent.call("echo", {"text": "x"}) == Answered("Unknown tool: echo", True)


async def test_the_schema_of_a_tool_that_mirrors_arguments_in_headers_is_known_to_the_carrier() -> (
    None
):
    mirrored = {"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "R"}}}
    session = FakeSession([ECHO, tool("routed", mirrored)])
    server = await create_agent_mcp_server(session)
    lookup = server.get_tool_input_schema
    assert lookup is not None
    assert (lookup("routed"), lookup("echo"), lookup("nothing")) == (mirrored, None, None)
    session.tools[:] = [ECHO]
    await Agent(server).list()
    assert lookup("routed") is None
