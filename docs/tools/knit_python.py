"""Runs the Python and shell chunks of one page where R is absent: ``python knit_python.py page.Rmd folder``.

R chunks are shown without what they print, with a line that says so. Text between backticks that R would work out,
such as `r sprintf("%.2f", py$x$lower)`, is worked out here: names, numbers, sprintf and simple arithmetic.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

NO_R = "*R was not installed where this page was built, so that what it prints here is missing.*"
CHUNK = re.compile(r"^```\{(\w+)([^}]*)\}\n(.*?)^```$", re.S | re.M)
INLINE = re.compile(r"`r ([^`]+)`")


class Session:
    """One page's Python, with what it prints and draws."""

    def __init__(self, name: str) -> None:
        self.name, self.values, self.figures = name, {"__name__": "__main__"}, 0

    def run(self, code: str, options: dict[str, str]) -> str:
        """Run a chunk and return its code, output and figures as Markdown."""
        import matplotlib.pyplot as plt

        size = float(options.get("fig.width", 6)), float(options.get("fig.height", 3.6))
        plt.rcParams["figure.figsize"] = size
        out, drawn = io.StringIO(), []
        plt.show = lambda *_, **__: drawn.extend(self._draw(size[0], options))
        with contextlib.redirect_stdout(out):
            body = ast.parse(code).body
            last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), self.name, "exec"), self.values)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), self.name, "eval"), self.values)
                if value is not None and not code.rstrip().endswith(("plt.show()", ";")):
                    print(value)
        if options.get("include") == "FALSE":
            return ""
        printed = "" if options.get("results") == '"hide"' else _output(out.getvalue())
        return _chunk("python", code, printed + "".join(drawn))

    def _draw(self, width: float, options: dict[str, str]) -> list[str]:
        import matplotlib.pyplot as plt

        out = []
        said = options.get(
            "fig.alt", options.get("fig.cap", f"Figure made by the code above: {self.name}")
        ).strip('"')
        for number in plt.get_fignums():
            self.figures += 1
            path = Path("figures") / f"{self.name}-{self.figures}.png"
            path.parent.mkdir(exist_ok=True)
            plt.figure(number).savefig(path, dpi=150, bbox_inches="tight")
            caption = options.get("fig.cap", "").strip('"')
            out.append(
                f"\n```{{figure}} {path}\n:alt: {said}\n:width: {round(96 * width)}px\n\n{caption}\n```\n"
            )
        plt.close("all")
        return out

    def inline(self, expression: str) -> str:
        """Work out an expression of R that names Python's values; what cannot be is shown as it stands."""
        text = re.sub(r"py\$(\w+)((?:\$\w+|\[\[\"[^\"]+\"\]\]|\[\[\d+\]\])*)", _path, expression)
        try:
            value = eval(text, {**self.values, "sprintf": lambda form, *given: form % given})
        except Exception:
            return f"`{expression}`"
        return f"{value:g}" if isinstance(value, float) else str(value)


def _path(match: re.Match[str]) -> str:
    steps = re.findall(r"\$(\w+)|\[\[\"([^\"]+)\"\]\]|\[\[(\d+)\]\]", match[2])
    return match[1] + "".join(
        f"[{int(place) - 1}]" if place else f"[{(name or key)!r}]" for name, key, place in steps
    )


def _output(text: str) -> str:
    text = text.strip("\n")
    return f"\n~~~~{{code-block}} text\n:class: output\n\n{text}\n~~~~\n" if text.strip() else ""


def _chunk(language: str, code: str, rest: str = "") -> str:
    return f"\n<!-- chunk {language} -->\n\n~~~~{language}\n{code.rstrip()}\n~~~~\n{rest}\n<!-- end -->\n"


def _options(text: str) -> dict[str, Any]:
    return {
        key.strip(): value.strip() for key, value in re.findall(r"([\w.]+)\s*=\s*(\"[^\"]*\"|[^,]+)", text)
    }


def knit(page: Path) -> str:
    """Return a page with its Python and shell chunks run."""
    session = Session(page.stem)
    out: list[str] = []
    at = 0
    text = page.read_text(encoding="utf-8")
    for match in CHUNK.finditer(text):
        out.append(INLINE.sub(lambda found: session.inline(found[1]), text[at : match.start()]))
        language, options, code = match[1], _options(match[2]), match[3]
        if language == "python":
            out.append(session.run(code, options))
        elif language == "bash":
            done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
            out.append(
                "" if options.get("include") == "FALSE" else _chunk("bash", code, _output(done.stdout))
            )
        elif language == "r" and options.get("include") != "FALSE":
            out.append(_chunk("r", code, f"\n{NO_R}\n"))
        at = match.end()
    out.append(INLINE.sub(lambda found: session.inline(found[1]), text[at:]))
    return "".join(out)


if __name__ == "__main__":
    path, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    Path(f"{path.stem}.md").write_text(knit(path), encoding="utf-8")
