"""What the evidence benchmarks share: selection scores, resumable parallel runs, Markdown reports."""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.metadata
import importlib.util
import inspect
import os
import platform
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from relbounds.files import write_whole

RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = (
    "relbounds",
    "numpy",
    "scipy",
    "pandas",
    "cvxopt",
    "scikit-learn",
    "statsmodels",
    "boruta",
    "mord",
)


def selection_scores(truth: pd.Series, found: pd.Series | Iterable[str]) -> dict[str, float]:
    """Precision, recall and F1 of "relevant"; class accuracy where classes were found.

    Nothing selected where nothing is relevant counts as perfect.
    """
    relevant = truth != "irrelevant"
    classes = found if isinstance(found, pd.Series) else None
    picked = set(classes.index[classes != "irrelevant"]) if classes is not None else set(found)
    chosen = truth.index.isin(picked)
    hits = int((chosen & relevant).sum())
    precision = hits / chosen.sum() if chosen.sum() else 1.0
    recall = hits / relevant.sum() if relevant.sum() else 1.0
    if not relevant.any():
        precision = 1.0 if not chosen.any() else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    out = {"precision": precision, "recall": recall, "F1": f1}
    if classes is not None:
        out["classes"] = float((classes.reindex(truth.index) == truth).mean())
    return out


def wilson(hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """95 % confidence interval of a share."""
    if n == 0:
        return float("nan"), float("nan")
    p = hits / n
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def parser(description: str, seeds: int) -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(description=description)
    out.add_argument("--seeds", type=int, default=seeds, help="data sets drawn per setting")
    out.add_argument("--jobs", type=int, default=2, help="processes")
    out.add_argument(
        "--resume", action="store_true", help="keep the rows of the last run that are still wanted"
    )
    out.add_argument(
        "--limit", type=float, help="stop handing out work after this many seconds; resume later"
    )
    out.add_argument("--report", action="store_true", help="only rewrite the report from the stored rows")
    return out


def run(
    name: str, work: Callable[..., dict[str, Any]], tasks: Sequence[dict[str, Any]], args: argparse.Namespace
) -> pd.DataFrame:
    """Do every task (keyword arguments of `work`), store one row each in results/NAME.csv, return the rows.

    A task that fails becomes a row with its error, so that one bad case does not hide the others.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.csv"
    keys = list(tasks[0])
    rows: list[dict[str, Any]] = []
    if (args.resume or args.report) and path.exists():
        rows = pd.read_csv(path).to_dict("records")
    if args.report:
        return pd.DataFrame(rows)
    done = {tuple(str(row[k]) for k in keys) for row in rows if isinstance(row.get("error"), float)}
    rows = [row for row in rows if isinstance(row.get("error"), float)]
    todo = [task for task in tasks if tuple(str(task[k]) for k in keys) not in done]
    started = time.perf_counter()

    def calls() -> Iterator[Any]:
        for task in todo:
            if args.limit is not None and time.perf_counter() - started > args.limit:
                return
            yield joblib.delayed(_attempt)(work, task)

    pool = joblib.Parallel(
        n_jobs=args.jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
    )
    for i, row in enumerate(pool(calls()), start=1):
        rows.append(row)
        # whole or not at all: a task at work may read the rows that are there
        write_whole(path, pd.DataFrame(rows).to_csv(index=False, float_format="%.6g"))
        if i % 10 == 0 or i == len(todo):
            print(f"  {name}: {i} of {len(todo)} in {time.perf_counter() - started:.0f} s", flush=True)
    table = pd.DataFrame(rows).sort_values(keys, key=lambda c: c.astype(str)).reset_index(drop=True)
    write_whole(path, table.to_csv(index=False, float_format="%.6g"))
    return table


def _attempt(work: Callable[..., dict[str, Any]], task: dict[str, Any]) -> dict[str, Any]:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import warnings

    warnings.simplefilter("ignore")
    started = time.perf_counter()
    try:
        out = work(**task)
    except Exception as error:  # the row carries it; the report counts it
        return {
            **task,
            "seconds": time.perf_counter() - started,
            "error": f"{type(error).__name__}: {error}"[:300],
        }
    return {**task, **out, "seconds": time.perf_counter() - started, "error": np.nan}


def code_mark(modules: Iterable[str], *functions: Callable[..., Any]) -> str:
    """Return what tells one version of code from another: modules, what they import of the package, and functions.

    Comments and documentation do not count.
    """
    waiting, seen = list(modules), set()
    digest = hashlib.sha256()
    while waiting:
        name = waiting.pop()
        spec = importlib.util.find_spec(name)
        if name in seen or spec is None or spec.origin is None:
            continue
        seen.add(name)
        for node in ast.walk(ast.parse(Path(spec.origin).read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("relbounds."):
                waiting.append(str(node.module))
                # "from package import module"
                inside = [f"{node.module}.{alias.name}" for alias in node.names]
                waiting += [one for one in inside if _is_module(one)]
    sources = [Path(str(importlib.util.find_spec(name).origin)).read_text() for name in sorted(seen)]  # type: ignore[union-attr]
    for text in [*sources, *(textwrap.dedent(inspect.getsource(one)) for one in functions)]:
        tree = ast.parse(text)
        for node in ast.walk(tree):
            # a text that stands by itself is documentation
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                node.value.value = ""
        digest.update(ast.dump(tree).encode())
    # a letter in front: digits alone would be read back as a number
    return "c" + digest.hexdigest()[:9]


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def markdown(table: pd.DataFrame, digits: int = 2) -> str:
    """A Markdown table; numbers rounded, missing values as a dash."""

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return "-" if np.isnan(value) else f"{value:.{digits}f}"
        return str(value)

    index = table.index.name is not None
    frame = table.reset_index() if index else table
    head = [str(c) for c in frame.columns]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell(v) for v in row) + " |" for row in frame.itertuples(index=False)]
    return "\n".join(lines)


def provenance(command: str, seeds: str, packages: Sequence[str] = PACKAGES) -> str:
    """How the figures of a report were made."""
    versions = []
    for name in packages:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return (
        f"Made by `{command}`. Seeds: {seeds}. Python {platform.python_version()}; {', '.join(versions)}. "
        f"Machine: {os.cpu_count()} cores of a virtual {platform.machine()} server, {platform.system()}; "
        "one BLAS thread per process; other work ran beside it, so seconds are upper limits."
    )


def write(name: str, text: str) -> None:
    path = RESULTS / f"{name}.md"
    path.write_text(text.rstrip() + "\n")
    print(text)
    print(f"-> {path.relative_to(RESULTS.parent.parent)}")
