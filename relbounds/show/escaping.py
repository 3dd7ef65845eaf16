"""Text from data is text: names and levels, safe in every format that a table or a figure is written to.

A column may be called ``=cmd|' /C calc'!A0``, ``<script>`` or ``$x_1$``. Each function here turns such a name into what
one format shows as exactly these characters.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any

LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "≤": r"\ensuremath{\le}",
    "≥": r"\ensuremath{\ge}",
}
# A spreadsheet takes a cell that begins so for a formula, and runs it.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
# What Markdown (and what Pandoc, which many papers go through) would read as more than a character.
MARKDOWN = r"([\\|_*`\[\]#~^$@])"


def visible(text: Any) -> str:
    r"""Return a text on one line, what cannot be seen written out.

    Line breaks would tear a table apart, control characters can drive a terminal, and those that turn the direction of
    writing can show one name as another.

    Examples
    --------
    >>> print(visible("a\nb"), visible("\x1b[31mred"), visible("TNF-α"))
    a\nb \x1b[31mred TNF-α
    """
    return "".join(
        c if unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp", "Cs") else ascii(c)[1:-1]
        for c in str(text)
    )


def escape_html(text: Any) -> str:
    """Return a text for HTML, between tags or inside an attribute.

    Examples
    --------
    >>> escape_html('<b>"5"</b>')
    '&lt;b&gt;&quot;5&quot;&lt;/b&gt;'
    """
    return html.escape(visible(text), quote=True)


def escape_latex(text: Any) -> str:
    r"""Return a text for LaTeX.

    Examples
    --------
    >>> print(escape_latex("log(x_1) & 5% of $"))
    log(x\_1) \& 5\% of \$
    >>> print(escape_latex("TNF-α"))
    TNF-\ensuremath{\alpha}
    """
    return "".join(LATEX.get(character) or _greek(character) for character in visible(text))


def _greek(character: str) -> str:
    """Return the command of a Greek letter; any other character is set as it is."""
    found = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(character, ""))
    if not found:
        return character
    name = found[2].lower().replace("lamda", "lambda")
    return rf"\ensuremath{{\{name.capitalize() if found[1] == 'CAPITAL' else name}}}"


def escape_markdown(text: Any) -> str:
    r"""Return a text for Markdown: no emphasis, code, link, table rule or HTML is read out of it.

    Examples
    --------
    >>> print(escape_markdown("a|b_c*d <b> [x](y)"))
    a\|b\_c\*d &lt;b&gt; \[x\](y)
    """
    safe = re.sub(MARKDOWN, r"\\\1", visible(text))
    return re.sub(r"&(?=#?\w+;)", "&amp;", safe).replace("<", "&lt;").replace(">", "&gt;")


def defuse(text: Any) -> str:
    """Return a text cell for CSV: with an apostrophe before what a spreadsheet would run as a formula.

    Only text is defused: a negative number stays a number.

    Examples
    --------
    >>> defuse("=1+1"), defuse("age"), defuse("-"), defuse("-0.5")
    ("'=1+1", 'age', '-', '-0.5')
    """
    said = str(text)
    if not said.startswith(FORMULA_STARTS) or said in ("+", "-"):
        return said
    return said if _is_number(said) else f"'{said}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def escape_figure(text: Any) -> str:
    r"""Return a text for a figure: dollar signs are signs, not mathematics.

    Examples
    --------
    >>> print(escape_figure("cost in $, price in $"))
    cost in \$, price in \$
    """
    return visible(text).replace("$", r"\$")
