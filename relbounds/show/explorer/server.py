"""Starting and ending the explorer: one thread that listens on the loopback address, and one that watches.

bottle (one file, no dependencies) reads requests, waitress (pure Python, threads, no dependencies) serves them: both
together are smaller than anything with an event loop of its own, which would have to live beside that of a notebook.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import secrets
import sys
import threading
import time
import webbrowser
from typing import Any

from relbounds.checks import flag, integer, number
from relbounds.errors import MissingExtraError, OptionError
from relbounds.linear.fitted import Fitted
from relbounds.show.escaping import escape_html
from relbounds.show.explorer.answers import Answers
from relbounds.show.explorer.app import MOST_BYTES, make_app

LOOPBACK = "127.0.0.1"
# Threads that answer: two lanes that may be busy, questions that wait in them, and the files of a page.
THREADS = 8
# How often the watcher looks whether a page is still open, in seconds.
WATCH = 0.25
# A page that said goodbye may be reloaded or opened again: so long the server waits for that, in seconds.
GOODBYE = 60.0
FRAME_HEIGHT = 720


class Explorer:
    """A page that is being served; made by ``fit.explorer()``.

    Attributes
    ----------
    url : str
        The address, with the token that opens it.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
    >>> with fit.explorer(open_browser=False, block=False) as page:
    ...     page.running
    Open the explorer in a browser: http://127.0.0.1:...
    True
    >>> page.running
    False
    """

    def __init__(self, fitted: Fitted, port: int, idle: float, framed: bool) -> None:
        waitress = _waitress()
        # it would tell the terminal of every question that waits, and of answers that nobody takes after the end
        logging.getLogger("waitress").setLevel(logging.CRITICAL)
        self._token, self._idle = secrets.token_urlsafe(24), idle
        # pages that are open, by when they were last heard of, and when the last one said goodbye
        self._pages: dict[str, float] = {}
        self._alone_since: float | None = None
        self._guard = threading.Lock()
        self._ended = threading.Event()
        self._stopping = False
        app = make_app(Answers(fitted), self._token, lambda: self.port, self._note, framed)
        try:
            self._server: Any = waitress.server.create_server(
                app, host=LOOPBACK, port=port, threads=THREADS, ident=None, max_request_body_size=MOST_BYTES
            )
        except OSError as error:
            raise _trouble(port, error) from error
        self.port: int = int(self._server.effective_port)
        self.url = f"http://{LOOPBACK}:{self.port}/{self._token}/"
        # daemons: they end with the kernel or the script, whatever they are doing
        for work in (self._serve, self._watch):
            threading.Thread(target=work, name="relbounds-explorer", daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether the page is being served."""
        return not self._ended.is_set()

    def stop(self) -> None:
        """End the server; stopping it twice is fine."""
        with self._guard:
            if self._stopping:
                return
            self._stopping = True
        # ended is said once nobody can ask any more
        with contextlib.suppress(OSError):
            self._server.close()
        self._ended.set()
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=1.0)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the server has ended, or for some seconds; return whether it is still running."""
        self._ended.wait(seconds)
        return self.running

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<relbounds explorer: {self.url if self.running else 'ended'}>"

    def _repr_html_(self) -> str:
        if not self.running:
            return "<p>This explorer has ended; make a new one with <code>fit.explorer()</code>.</p>"
        return (
            f'<iframe src="{escape_html(self.url)}" title="relbounds explorer" width="100%" '
            f'height="{FRAME_HEIGHT}" style="border:0"></iframe>'
        )

    # -- inside --------------------------------------------------------------------------------------------

    def _note(self, page: str, is_open: bool) -> None:
        """Remember a sign of life of a page, or that it is closing."""
        with self._guard:
            if is_open:
                self._pages[page] = time.monotonic()
                self._alone_since = None
            else:
                self._pages.pop(page, None)
                self._alone_since = None if self._pages else time.monotonic()

    def _serve(self) -> None:
        # closing the sockets under it is how this loop is ended
        with contextlib.suppress(OSError, ValueError):
            self._server.run()
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(WATCH):
            now = time.monotonic()
            with self._guard:
                silent = bool(self._pages) and now > max(self._pages.values()) + self._idle
                alone = self._alone_since is not None and now > self._alone_since + min(self._idle, GOODBYE)
            if silent or alone:
                self.stop()


def open_explorer(
    fitted: Fitted,
    *,
    port: int | None = None,
    open_browser: bool = True,
    block: bool | None = None,
    idle: float = 600.0,
) -> Explorer:
    """Serve the page of a fit; see :meth:`relbounds.results.RelboundsResults.explorer`."""
    wanted = 0 if port is None else integer("port", port, least=1, most=65535)
    quiet = number("idle", idle, above=0.0)
    flag("open_browser", open_browser)
    inline = _in_notebook()
    page = Explorer(fitted, wanted, quiet, framed=inline)
    waits = not (inline or _is_interactive()) if block is None else flag("block", block)
    if not inline:
        opened = open_browser and _browse(page.url)
        said = "The explorer is open at" if opened else "Open the explorer in a browser:"
        print(f"{said} {page.url}", flush=True)
    if waits:
        print("It ends with Ctrl-C, or some time after its page is closed.", flush=True)
        with page, contextlib.suppress(KeyboardInterrupt):
            # in slices: a lock that waits for ever hears no Ctrl-C on some systems
            while page.wait(0.5):
                pass
    return page


def _browse(url: str) -> bool:
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _is_interactive() -> bool:
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


def _waitress() -> Any:
    try:
        import bottle  # noqa: F401
        import waitress
        import waitress.server
    except ImportError as error:
        raise MissingExtraError(
            "The explorer needs bottle and waitress: pip install 'relbounds[explorer]'."
        ) from error
    return waitress


def _trouble(port: int, error: OSError) -> OptionError:
    if error.errno == errno.EADDRINUSE:
        why = "is in use by another program; choose another one, or leave it out for a free one."
    elif error.errno == errno.EACCES:
        why = "may not be used by you; choose one above 1023, or leave it out for a free one."
    else:
        why = f"cannot be listened at ({error.strerror or error})."
    return OptionError.about("port", str(port), why)
