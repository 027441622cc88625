"""A page that people can read the API's OpenAPI document by. It loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

_HEAD = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'


def description_page(document: dict[str, Any]) -> str:
    """The document as one page of plain HTML: no script, no style, no link elsewhere."""
    title = escape(f"{document['info']['title']} API {document['info']['version']}")
    operations = "".join(_operations(document["paths"]))
    schemas = "".join(
        _schema(name, schema) for name, schema in document["components"]["schemas"].items()
    )
    return (
        f"{_HEAD.format(title=title)}<body><h1>{title}</h1>"
        "<p>Send an operator token with each request: <code>Authorization: Bearer sbo_…</code>. "
        'For programs: <a href="/api/v1/openapi.json">openapi.json</a>.</p>'
        f"<h2>Operations</h2>{operations}<h2>Documents</h2>{schemas}</body></html>"
    )


def _operations(paths: dict[str, Any]) -> Iterator[str]:
    for path, methods in paths.items():
        for method, operation in methods.items():
            yield f"<h3><code>{method.upper()} {escape(path)}</code></h3>"
            yield f"<p>{escape(operation.get('description', operation['summary']))}</p>"
            parameters = [
                f"<li><code>{escape(one['name'])}</code> ({one['in']})</li>"
                for one in operation.get("parameters", ())
            ]
            yield f"<ul>{''.join(parameters)}</ul>" if parameters else ""
            yield "".join(_named("Takes", name) for name in _references(operation, "requestBody"))
            yield "".join(_named("Gives", name) for name in _successes(operation))


def _successes(operation: dict[str, Any]) -> Iterator[str]:
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            yield from _schema_names(answer)


def _references(operation: dict[str, Any], part: str) -> Iterator[str]:
    yield from _schema_names(operation.get(part, {}))


def _schema_names(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():  # pyright: ignore[reportUnknownVariableType] - JSON
            if key == "$ref":
                yield str(value).rpartition("/")[2]  # pyright: ignore[reportUnknownArgumentType] - JSON
            else:
                yield from _schema_names(value)
    elif isinstance(node, list):
        for value in node:  # pyright: ignore[reportUnknownVariableType] - JSON
            yield from _schema_names(value)


def _named(word: str, name: str) -> str:
    shown = escape(name)
    return f'<p>{word} <a href="#{shown}">{shown}</a></p>'


def _schema(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code></td><td>{_kind(one)}</td>"
        f"<td>{'always' if field in required else ''}</td>"
        f"<td>{escape(one.get('description', ''))}</td></tr>"
        for field, one in schema.get("properties", {}).items()
    )
    values = ", ".join(escape(str(value)) for value in schema.get("enum", ()))
    return (
        f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{escape(schema.get("description", ""))}</p>'
        + (f"<p>{values}</p>" if values else f"<table>{rows}</table>")
    )


def _kind(schema: dict[str, Any]) -> str:
    names = list(_schema_names(schema))
    if names:
        return ", ".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in names)
    kinds = [one.get("type", "any") for one in schema.get("anyOf", (schema,))]
    return escape(" or ".join(kinds))
