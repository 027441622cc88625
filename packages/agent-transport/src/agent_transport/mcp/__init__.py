"""MCP carriers on the official SDK's kernel. The only package here that imports the SDK."""

from agent_transport.mcp.call import Call, CallEnded, EndReason, EndSignal
from agent_transport.mcp.catalog import SubmissionTool
from agent_transport.mcp.http import McpHttpCarrier
from agent_transport.mcp.limits import CarrierLimits
from agent_transport.mcp.loopback import LoopbackListening, McpLoopbackHost
from agent_transport.mcp.remote import McpRemoteHost, RemoteListening
from agent_transport.mcp.server import create_agent_mcp_server
from agent_transport.mcp.sessions import SessionRecord, SessionStore
from agent_transport.mcp.standard_streams import Wire, take_standard_streams
from agent_transport.mcp.stdio import create_mcp_transport
from agent_transport.mcp.stream import (
    CarrierObserver,
    NotificationStream,
    notification_frame,
    stamped,
)

__all__ = [
    "Call",
    "CallEnded",
    "CarrierLimits",
    "CarrierObserver",
    "EndReason",
    "EndSignal",
    "LoopbackListening",
    "McpHttpCarrier",
    "McpLoopbackHost",
    "McpRemoteHost",
    "NotificationStream",
    "RemoteListening",
    "SessionRecord",
    "SessionStore",
    "SubmissionTool",
    "Wire",
    "create_agent_mcp_server",
    "create_mcp_transport",
    "notification_frame",
    "stamped",
    "take_standard_streams",
]
