"""The tools that the conformance suite looks for, by its names, and what each one answers."""

from __future__ import annotations

from typing import Any

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "additionalProperties": False}
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
"""One pixel, and silence: small media that a decoder takes."""

_IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _embedded(uri: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


CONTENT: dict[str, list[dict[str, Any]]] = {
    "test_simple_text": [_text("This is a simple text response for testing.")],
    "test_image_content": [_IMAGE],
    "test_audio_content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        _text("Multiple content types test:"),
        _IMAGE,
        _embedded("test://mixed-content-resource", "application/json", '{"test":"data"}'),
    ],
    "test_tool_with_progress": [_text("Reported 0, 50 and 100 of 100.")],
    "test_reconnection": [_text("Answered at once: nothing here needs a second connection.")],
    "test_logging_tool": [_text("Logged nothing, for no level was asked for.")],
    "test_streaming_elicitation": [_text("Asked nothing: this server never asks its clients.")],
    "test_trigger_tool_change": [_text("Told everyone who listens.")],
    "test_x_mcp_header": [_text("The header and the argument agree.")],
    "json_schema_2020_12_tool": [_text("Accepted.")],
}
"""What a tool answers when it succeeds. The two that never do are in `SCHEMAS` alone."""

SCHEMAS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(CONTENT, NO_ARGUMENTS),
    "test_error_handling": NO_ARGUMENTS,
    "test_missing_capability": NO_ARGUMENTS,
    "test_x_mcp_header": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    },
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {
            "properties": {"contactMethod": {"const": "phone"}},
            "required": ["contactMethod"],
        },
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}


def listed() -> list[dict[str, Any]]:
    """All tools as `tools/list` shows them, in a stable order."""
    return [
        {"name": name, "description": f"Fixture {name}", "inputSchema": schema}
        for name, schema in sorted(SCHEMAS.items())
    ]
