"""Reading bodies as the JSON standard has it: no NaN, no lone surrogates, no bottomless nesting."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute


class StrictJson(Request):
    """A request whose body is parsed strictly; its error is the framework's own kind."""

    async def json(self) -> Any:
        """The parsed body."""
        return orjson.loads(await self.body())


class StrictRoute(APIRoute):
    """A route that reads its body through `StrictJson`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler, given our request."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictJson(request.scope, request.receive))

        return strictly
