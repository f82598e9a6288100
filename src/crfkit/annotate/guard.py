"""Who may talk to the server: pages that it has sent itself, and nobody else.

The server listens on 127.0.0.1, but every page in the browser can send requests there. So a request must know
the random token in the address; its ``Host`` must be the server's (a foreign name that resolves to 127.0.0.1,
DNS rebinding, is refused); if it has an ``Origin``, that must be the server's, and a request that changes
something must have one.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# Nothing from elsewhere is loaded, no script or style inside the page runs, and no page shows it in a frame.
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_SAFE = {"GET", "HEAD"}


class Guard:
    """An ASGI application in front of another: refuses foreign requests, and adds headers to answers."""

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app = app
        self._prefix = f"/{token}/"
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a web socket
            return
        refused = self._refusal(scope)
        if refused is not None:
            await _answer(*refused, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_encoded(_HEADERS)]
            await send(message)

        await self._app(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and words if the request is refused."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts, origins = headers.get("host", []), headers.get("origin", [])
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 403, "Host is not this server's"
        if any(origin not in self._origins for origin in origins):
            return 403, "Origin is not this server's"
        if scope["method"] not in _SAFE and len(origins) != 1:
            return 403, "Origin is missing"
        path = scope["path"].encode("utf-8", "surrogateescape")
        prefix = self._prefix.encode()
        if not hmac.compare_digest(path[: len(prefix)], prefix):
            return 404, "Not found: open the address that crfkit annotate has printed"
        return None


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


async def _answer(status: int, words: str, send: Send) -> None:
    headers = _encoded({**_HEADERS, "content-type": "text/plain; charset=utf-8"})
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": words.encode()})
