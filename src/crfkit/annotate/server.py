"""The server behind the page: a Starlette application over a session, and uvicorn to run it.

    GET  /TOKEN/              the page; its styles and scripts are beside it
    GET  /TOKEN/state         the current sentence, the labels and the progress, as JSON
    POST /TOKEN/answer        {"sentence": 7, "spans": [[0, 2, "PER"]], "unknown": [4]}
    POST /TOKEN/undo
    POST /TOKEN/order         {"order": "token"}
    GET  /TOKEN/export        everything labelled so far, as a column file

Each POST returns the new state. An error is {"error": "…"} with a status from 400 on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from crfkit.annotate.guard import App, Guard
from crfkit.annotate.session import OutdatedError, Session
from crfkit.annotate.state import colour_sheet, marks_of, state_of
from crfkit.annotate.store import conll
from crfkit.exceptions import InputError
from crfkit.optional import needed

HOST = "127.0.0.1"
_MOST = 1 << 20  # bytes of a request
_PAGE = Path(__file__).parent / "page"
_FRAME = Path(__file__).parent.parent / "report" / "templates"  # colours and type of all pages
_FILES = {
    "": (_PAGE / "page.html", "text/html"),
    "base.css": (_FRAME / "base.css", "text/css"),
    "page.css": (_PAGE / "page.css", "text/css"),
    **{f"{name}.js": (_PAGE / f"{name}.js", "text/javascript") for name in ("page", "marks", "curve")},
}


def check_libraries() -> None:
    """Raise an error if a library is missing: before the data is read."""
    for library in ("starlette", "uvicorn"):
        needed(library, "crfkit annotate")


def application(session: Session, token: str, port: int) -> App:
    """Return the guarded ASGI application of a session. It refits in the background."""
    applications = needed("starlette.applications", "crfkit annotate")
    responses = needed("starlette.responses", "crfkit annotate")
    routing = needed("starlette.routing", "crfkit annotate")

    def file_response(name: str) -> Callable[[Any], Awaitable[Any]]:
        path, kind = _FILES[name]

        async def send(request: Any) -> Any:
            return responses.Response(path.read_bytes(), media_type=kind)

        return send

    refits: set[asyncio.Task[None]] = set()

    def answered() -> Any:
        """Start a fit if one is due, and return the state."""
        if session.due and not session.fitting:
            task = asyncio.create_task(asyncio.to_thread(session.refit))
            refits.add(task)
            task.add_done_callback(refits.discard)
        return responses.JSONResponse(state_of(session))

    def action(change: Callable[[Any], None]) -> Callable[[Any], Awaitable[Any]]:
        async def respond(request: Any) -> Any:
            try:
                change(await _content(request))
            except OutdatedError as error:
                return responses.JSONResponse({"error": str(error)}, 409)
            except InputError as error:
                return responses.JSONResponse({"error": str(error)}, 400)
            except OSError as error:  # a full disk: the page keeps the answer
                return responses.JSONResponse({"error": f"{error.strerror or error}"}, 507)
            return answered()

        return respond

    def answer(content: Any) -> None:
        session.answer(*marks_of(content))

    def undo(content: Any) -> None:
        session.undo()

    def order(content: Any) -> None:
        session.choose(str(content.get("order")))

    async def state(request: Any) -> Any:
        return answered()

    async def export(request: Any) -> Any:
        try:
            text = conll(session.store.answers)
        except InputError as error:  # a cell with a tab or a line break in it
            return responses.JSONResponse({"error": str(error)}, 400)
        headers = {"content-disposition": 'attachment; filename="annotations.txt"'}
        return responses.Response(text, media_type="text/plain", headers=headers)

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        yield
        await asyncio.gather(*refits, return_exceptions=True)

    async def colours(request: Any) -> Any:
        return responses.Response(colour_sheet(), media_type="text/css")

    routes = [routing.Route(f"/{token}/{name}", file_response(name)) for name in _FILES]
    routes += [routing.Route(f"/{token}/state", state), routing.Route(f"/{token}/export", export)]
    routes.append(routing.Route(f"/{token}/colours.css", colours))
    for name, change in (("answer", answer), ("undo", undo), ("order", order)):
        routes.append(routing.Route(f"/{token}/{name}", action(change), methods=["POST"]))
    return Guard(applications.Starlette(routes=routes, lifespan=lifespan), token, port)


async def _content(request: Any) -> dict[str, Any]:
    """Return the JSON object that a request has sent."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise InputError("expected content of the type application/json")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST:
            raise InputError(f"expected at most {_MOST:,} bytes")
    try:
        content = json.loads(body)
    except ValueError as error:
        raise InputError(f"expected JSON: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"expected a JSON object, got {type(content).__name__}")
    return content


def listening_socket(port: int) -> socket.socket:
    """Return a socket on 127.0.0.1; port 0: any that is free."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
    except OSError as error:
        found.close()
        raise InputError(
            f"port {port} of {HOST} cannot be used ({error.strerror}): name another with --port, or leave "
            "--port out for any that is free"
        ) from error
    return found


def new_token() -> str:
    """Return a token that cannot be guessed: 128 random bits."""
    return secrets.token_urlsafe(16)


def server(session: Session, listening: socket.socket, token: str, ready: Callable[[], None]) -> Any:
    """Return uvicorn's server of the page, which ``run(sockets=[listening])`` starts.

    ``ready`` is called when the page can be opened.
    """
    uvicorn = needed("uvicorn", "crfkit annotate")
    app = application(session, token, listening.getsockname()[1])
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)

    class Server(uvicorn.Server):  # type: ignore[name-defined, misc]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready()

    return Server(config)


def serve(session: Session, listening: socket.socket, token: str, ready: Callable[[], None]) -> None:
    """Serve the page until Ctrl-C or SIGTERM."""
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again when all is closed
        server(session, listening, token, ready).run(sockets=[listening])
