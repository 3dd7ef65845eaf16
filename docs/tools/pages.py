"""Pages with code in them: run, kept, and put into tabs where both languages do the same.

A page is an ``.Rmd`` file: of docs/, where it stands, or of vignettes/, which become guides. knitr runs its chunks, the
Python ones through reticulate. What a page gave is kept under a hash of the page and of everything it shows, so that
a second build runs only what changed. Where R is absent the Python chunks run by themselves and R chunks are shown
without what they print.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
AT_ONCE = 2
NAMES = {"python": "Python", "r": "R", "bash": "Shell"}


def sources(root: Path) -> dict[str, Path]:
    """Return the pages that are run: where they stand in the site, and their files."""
    found = {f"guides/{path.stem}": path for path in sorted((root / "vignettes").glob("*.Rmd"))}
    docs = root / "docs"
    for path in sorted(docs.rglob("*.Rmd")):
        if "_build" not in path.relative_to(docs).parts:
            found[str(path.relative_to(docs).with_suffix(""))] = path
    return found


def run(root: Path, target: Path, cache: Path, *, stale: bool = False) -> None:
    """Run every page that is not in the cache, and write all of them below `target`.

    `stale` takes what a page gave before the packages changed, where that is there, and runs nothing: for whoever
    edits words. A page that never ran shows its code without output.
    """
    has_r = _has_r()
    if not has_r:
        print("R with knitr and reticulate is not installed: pages show R code without its output.")
    state = _state(root, has_r)
    cache.mkdir(parents=True, exist_ok=True)
    jobs = {}
    for place, path in sources(root).items():
        own = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        jobs[place] = (path, cache / f"{path.stem}-{own}-{state}")
    if stale:
        for place, (path, kept) in list(jobs.items()):
            older = sorted(cache.glob(f"{path.stem}-????????????-*"), key=lambda one: one.stat().st_mtime)
            if older and not kept.exists():
                same = [one for one in older if one.name.rpartition("-")[0] == kept.name.rpartition("-")[0]]
                jobs[place] = (path, (same or older)[-1])
            elif not older:
                del jobs[place]
                text = re.sub(
                    r"^```\{(python|r|bash)[^}]*\}", r"```\1", path.read_text(encoding="utf-8"), flags=re.M
                )
                _write(target / f"{place}.md", re.sub(r"`r [^`]*`", "...", text))
    todo = [job for job in jobs.values() if not job[1].exists()]
    todo.sort(
        key=lambda job: -job[0].stat().st_size
    )  # long ones first, so that no core waits for them at the end
    environment = _environment(root, cache) if todo else {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        failed = [said for said in pool.map(lambda job: _run_one(*job, environment, has_r), todo) if said]
    if failed:
        raise SystemExit("\n\n".join(failed))
    wanted = {kept.name for _, kept in jobs.values()}
    for old in cache.iterdir():  # what no page of today made
        if not stale and old.name not in wanted and old.name != "library":
            shutil.rmtree(old)
    for place, (path, kept) in jobs.items():
        _write(target / f"{place}.md", (kept / f"{path.stem}.md").read_text(encoding="utf-8"))
        for file in kept.rglob("*"):
            if file.is_file() and file.suffix != ".md":
                there = (target / place).parent / file.relative_to(kept)
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, there)


def _has_r() -> bool:
    needed = "quit(status = !all(sapply(c('knitr', 'reticulate'), requireNamespace, quietly = TRUE)))"
    rscript = shutil.which("Rscript")
    return rscript is not None and not subprocess.run([rscript, "-e", needed], capture_output=True).returncode


def _state(root: Path, has_r: bool) -> str:
    """Return a hash of everything that pages show: both packages, what they stand on, and the tools that run them."""
    below = sorted(f"{one.name} {one.version}" for one in metadata.distributions())
    out = hashlib.sha256(f"{has_r} {sys.version} {below}".encode())
    folders = [root / "relbounds", root / "r-package" / "R", root / "r-package" / "data", TOOLS]
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            made = "__pycache__" in path.parts or not path.is_file()
            if not made and (folder != TOOLS or path.name.startswith("knit")):
                out.update(path.name.encode() + path.read_bytes())
    return out.hexdigest()[:12]


def _environment(root: Path, cache: Path) -> dict[str, str]:
    """Return where R finds the package of this tree, and R and the shell this Python."""
    environment = {
        **os.environ,
        "RETICULATE_PYTHON": sys.executable,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(root),
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "COLUMNS": "110",
    }
    if shutil.which("R") is None:
        return environment
    library = cache / "library"
    shutil.rmtree(library, ignore_errors=True)
    library.mkdir()
    with tempfile.TemporaryDirectory() as scratch:  # others may be building the package where it stands
        copy = Path(scratch) / "relbounds"
        shutil.copytree(root / "r-package", copy, ignore=lambda at, names: {"python"} & set(names))
        install = ["R", "CMD", "INSTALL", "--no-docs", "--no-test-load", f"--library={library}", str(copy)]
        done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    libraries = [str(library), *filter(None, [os.environ.get("R_LIBS")])]
    return {**environment, "R_LIBS": os.pathsep.join(libraries)}


def _run_one(path: Path, kept: Path, environment: dict[str, str], has_r: bool) -> str:
    """Run a page and keep what it gave; return what went wrong, if anything did."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "page"
        if has_r:
            command = ["Rscript", str(TOOLS / "knit.R"), str(path), str(out)]
        else:
            command = [sys.executable, str(TOOLS / "knit_python.py"), str(path), str(out)]
        with open(Path(scratch) / "said", "w+", encoding="utf-8") as said:
            process = subprocess.Popen(command, stdout=said, stderr=said, env=environment)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                said.seek(0)
                return f"{path.name} failed:\n{said.read()[-8000:]}"
        for file in out.iterdir():  # what chunks left behind is not part of the page
            if file.name not in (f"{path.stem}.md", "figures"):
                shutil.rmtree(file) if file.is_dir() else file.unlink()
        shutil.copytree(out, kept)
    print(f"ran {path.name}: {used.ru_utime + used.ru_stime:.0f} processor seconds", flush=True)
    return ""


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(finish(text), encoding="utf-8")


def finish(text: str) -> str:
    """Turn what knitr wrote into what Sphinx reads: a title, raw HTML, tabs."""
    head = re.match(r"---\n(.*?)\n---\n", text, flags=re.S)
    if head:
        facts = dict(re.findall(r'^(\w+): "?(.*?)"?$', head[1], re.M))
        said = f"*{facts['subtitle']}*\n" if "subtitle" in facts else ""
        anchor = f"({facts['anchor']})=\n" if "anchor" in facts else ""
        text = f"{anchor}# {facts['title']}\n\n{said}{text[head.end() :]}"
    text = re.sub(r"^```\{=html\}\n(.*?)\n```$", r"```{raw} html\n\1\n```", text, flags=re.S | re.M)
    return re.sub(r"\n{3,}", "\n\n", tabs(text))


CHUNK = re.compile(r"<!-- chunk (\w+) -->\n(.*?)<!-- end -->", re.S)


def tabs(text: str) -> str:
    """Put neighbouring chunks of different languages, with nothing between them, into tabs."""
    pieces: list[tuple[str, str]] = []  # (language, text), language "" outside chunks
    at = 0
    for match in CHUNK.finditer(text):
        pieces += [("", text[at : match.start()]), (match[1], match[2].strip("\n"))]
        at = match.end()
    pieces.append(("", text[at:]))
    pieces = [piece for piece in pieces if piece[0] or piece[1].strip()]
    out: list[str] = []
    while pieces:
        run = 0
        while run < len(pieces) and pieces[run][0]:
            run += 1
        group, pieces = pieces[: max(run, 1)], pieces[max(run, 1) :]
        languages = list(dict.fromkeys(language for language, _ in group))
        if len(languages) == 1:
            out += [f"\n{body}\n" for _, body in group]
        else:
            out.append(_tab_set({name: [body for one, body in group if one == name] for name in languages}))
    return "".join(out)


def _tab_set(bodies: dict[str, list[str]]) -> str:
    lines = ["", "::::::{tab-set}", ":sync-group: language", ""]
    for language, parts in bodies.items():
        lines += [f":::::{{tab-item}} {NAMES[language]}", f":sync: {language}", "", *parts, ":::::", ""]
    return "\n".join([*lines, "::::::", ""])


# -- what stands at the root of the repository -------------------------------------------------------------

ABOUT = {
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
    "CODE_OF_CONDUCT.md": "conduct",
}


def about(root: Path, folder: Path) -> None:
    """Copy the files of the repository's root that are pages as well, with links that work from there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in ABOUT.items():
        text = (root / name).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](../", text)
        for other, there in ABOUT.items():
            text = text.replace(f"]({other})", f"]({there}.md)")
        (folder / f"{page}.md").write_text(text, encoding="utf-8")
    (folder / "cite.md").write_text(_cite(), encoding="utf-8")


def _cite() -> str:
    """Return how to cite the software and each paper, from the references that the package itself prints."""
    from relbounds.show.citations import PAPERS, SEQUENTIAL
    from relbounds.version import __version__

    lines = [
        "# How to cite",
        "",
        f"> The relbounds authors. relbounds: relevance intervals for ordinal, binary, nominal, numeric and censored "
        f"responses. Version {__version__}.",
        "",
        "`CITATION.cff` holds the same for machines. Please cite the papers behind the method you used as well; "
        "`fit.methods_text()` writes a paragraph with those of your fit.",
        "",
        "## The papers",
        "",
    ]
    papers = [*PAPERS, SEQUENTIAL]
    for paper in papers:
        text = paper.reference
        if paper.doi:
            text = text.replace(f"doi:{paper.doi}", f"[doi:{paper.doi}](https://doi.org/{paper.doi})")
        lines += [f"- {text}", ""]
    return "\n".join(
        [*lines, "## BibTeX", "", "~~~text", *(f"{paper.bibtex}\n" for paper in papers), "~~~", ""]
    )
