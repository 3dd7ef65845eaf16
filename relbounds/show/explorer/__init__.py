"""The explorer: a page on this machine where the bars of a fit are dragged and all others answer.

Gets a `Fitted`. `answers` turns questions of the page into what-ifs and these into plain lists, `code` writes the same
constraints as Python and as R, `app` is the few addresses that the page knows, `server` starts and ends. The page is in
``show/templates``: ``explorer.html``, ``explorer.css``, ``explorer.js``, and ``bars.js``, which the report uses too.
"""

from relbounds.show.explorer.server import Explorer, open_explorer

__all__ = ["Explorer", "open_explorer"]
