"""The addresses that the page of one fit knows; nothing else of the machine can be asked for.

Every address begins with a token that cannot be guessed. A request is served only if it asks for this machine by its
loopback name (so that no other site's name can be pointed here) and, where it carries questions, is JSON from this very
page (which other sites cannot send without being asked first).
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from relbounds.errors import InfeasibleError, RelboundsError
from relbounds.show.explorer.answers import Answers, Lane, Superseded
from relbounds.show.templates import render, source

FILES = {
    "explorer.css": "text/css; charset=utf-8",
    "explorer.js": "text/javascript; charset=utf-8",
    "bars.js": "text/javascript; charset=utf-8",
}
# Questions are small: a few numbers a term.
MOST_BYTES = 1_000_000
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {frames}"
)
# A notebook on this machine may show the page inside its own.
NOTEBOOKS = "http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:* vscode-webview:"


def make_app(
    answers: Answers, token: str, port: Callable[[], int], seen: Callable[[str, bool], None], framed: bool
) -> Any:
    """Return the WSGI application.

    Parameters
    ----------
    answers : Answers
    token : str
        The first part of every address.
    port : callable
        Where it is served; known once the server listens.
    seen : callable
        Told of every sign of life of a page, by its name: True while it is open, False when it says that it closes.
    framed : bool
        Whether a notebook on this machine may show the page inside its own.
    """
    import bottle

    app = bottle.Bottle(catchall=True)
    policy = POLICY.format(frames=NOTEBOOKS if framed else "'none'")

    def refused(message: str, status: int = 403) -> Any:
        # an error response forgets the headers that were set before
        named = {**HEADERS, "Content-Security-Policy": policy, "Content-Type": "text/plain; charset=utf-8"}
        return bottle.HTTPResponse(message + "\n", status=status, **named)

    def guard(given: str, asks: bool = False) -> None:
        hosts = {f"{name}:{port()}" for name in ("127.0.0.1", "localhost")}
        host, origin = bottle.request.get_header("Host", ""), bottle.request.get_header("Origin")
        if host not in hosts or not hmac.compare_digest(given.encode(), token.encode()):
            raise refused("This address is not known. Use the one that the explorer printed.")
        if asks:
            kind = bottle.request.get_header("Content-Type", "").partition(";")[0].strip()
            if kind != "application/json" or (origin is not None and origin != f"http://{host}"):
                raise refused("Only the page of this explorer may ask.")

    def question(given: str) -> dict[str, Any]:
        guard(given, asks=True)
        try:
            asked = json.loads(bottle.request.body.read(MOST_BYTES))
        except ValueError:
            asked = None
        if not isinstance(asked, dict):
            raise refused("A question must be a JSON object.", 400)
        asked["page"] = str(asked.get("page", ""))[:64]
        seen(asked["page"], True)
        return asked

    def answered(lane: Lane, what: str, asked: dict[str, Any], work: Callable[[], Any]) -> dict[str, Any]:
        number = asked.get("number", 0)
        if not isinstance(number, int):
            raise refused("The number of a question must be whole.", 400)
        try:
            # only a question of the same kind is superseded by a newer one
            return {"answer": lane.run(f"{asked['page']} {what}", number, work)}
        except Superseded:
            return {"superseded": True}
        except RelboundsError as error:
            kind = "infeasible" if isinstance(error, InfeasibleError) else "error"
            return {"refused": str(error), "kind": kind}

    @app.hook("after_request")
    def _headers() -> None:
        for name, value in {**HEADERS, "Content-Security-Policy": policy}.items():
            bottle.response.set_header(name, value)

    @app.get("/<given>/")
    def _page(given: str) -> str:
        guard(given)
        return render("explorer.html", response=answers.start()["response"])

    @app.get("/<given>/<name>")
    def _file(given: str, name: str) -> str:
        guard(given)
        if name not in FILES:
            raise refused("There is no such file here.", 404)
        bottle.response.content_type = FILES[name]
        return source(name)

    @app.post("/<given>/start")
    def _start(given: str) -> dict[str, Any]:
        question(given)
        return {"answer": answers.start()}

    @app.post("/<given>/bounds")
    def _bounds(given: str) -> dict[str, Any]:
        asked = question(given)
        return answered(answers.quick, "bounds", asked, lambda: answers.bounds(asked.get("wishes")))

    @app.post("/<given>/classes")
    def _classes(given: str) -> dict[str, Any]:
        asked = question(given)
        return answered(answers.slow, "classes", asked, lambda: answers.classes(asked.get("wishes")))

    @app.post("/<given>/cheapest")
    def _cheapest(given: str) -> dict[str, Any]:
        asked = question(given)
        work = partial(answers.cheapest, asked.get("wishes"), asked.get("costs"))
        return answered(answers.slow, "cheapest", asked, work)

    @app.post("/<given>/export")
    def _export(given: str) -> dict[str, Any]:
        asked = question(given)
        work = partial(answers.export, asked.get("wishes"), str(asked.get("kind", "")))
        return answered(answers.slow, "export", asked, work)

    @app.post("/<given>/open")
    def _open(given: str) -> dict[str, Any]:
        question(given)
        return {"answer": True}

    @app.post("/<given>/closed")
    def _closed(given: str) -> dict[str, Any]:
        seen(question(given)["page"], False)
        return {"answer": True}

    def other(error: Any) -> str:
        bottle.response.content_type = "text/plain; charset=utf-8"
        # whoever does not know the token learns nothing of what there is
        known = bottle.request.path.startswith(f"/{token}/")
        bottle.response.status = error.status_code if known else 403
        return "This address is not known. Use the one that the explorer printed.\n"

    for status in (404, 405):
        app.error(status)(other)
    return app
