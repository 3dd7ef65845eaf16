"""Where the methods of `methods.py` run: virtual environments beside the repository's own, one process for each.

Peers pin libraries that exclude one another, so each kind has an environment of its own, made when it is missing
(`.peers-venv`, `.arfs-venv`, `.fri-venv`; git ignores them). A process in that environment imports what its methods
need and then answers requests. Every request is worked on in a fork of it, with a limit of processor seconds that the
system enforces, so that imports cost nothing and a fit that never ends stops. R has one process too, which keeps its
own limit.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PACKAGES: dict[str, list[str]] = {
    "peers": [
        "statsmodels", "hidimstat==0.4.0", "knockpy==1.3.5", "boruta==0.4.3", "powershap==0.1.0.1", "catboost==1.2.10",
    ],
    "arfs": ["arfs==3.0.0", "pandas<3"],
    "fri": [
        "numpy<1.24", "scipy<1.11", "scikit-learn<1.3", "pandas<2.1", "cvxpy<1.4", "ecos", "attrs", "joblib",
        "matplotlib<3.8", "importlib_metadata", "rich", "toolz", "arfs_gen", "boruta==0.4.3",
    ],
}  # fmt: skip
WITHOUT_NEEDS = {"fri": ["fri==9.0.0"], "peers": ["shap==0.51.0"]}
"""Packages put in without what they ask for: fri, whose pins cannot be met any more, and a shap that knows the numpy
that the others need (powershap asks for an older one)."""
ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    )
}
WALL = 20
"""Clock seconds a fork may take for each processor second of its limit: a fork that sleeps for ever is ended."""


def python_of(environment: str) -> str:
    """Return the Python of an environment, which is made first where it is missing."""
    if environment == "main":
        return sys.executable
    home = ROOT / f".{environment}-venv"
    python, made = home / "bin" / "python", home / "made"
    if not made.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        install = [str(python), "-m", "pip", "install", "-q"]
        subprocess.run([*install, *PACKAGES[environment]], check=True)
        if environment in WITHOUT_NEEDS:
            subprocess.run([*install, "--no-deps", *WITHOUT_NEEDS[environment]], check=True)
        made.write_text("\n".join(PACKAGES[environment]) + "\n")
    return str(python)


class Worker:
    """A process in one environment that answers one request after the other."""

    def __init__(self, environment: str) -> None:
        path = os.pathsep.join([str(ROOT), str(HERE)]) if environment == "main" else str(HERE)
        self.in_r = environment == "R"
        if self.in_r:
            command = ["Rscript", "--vanilla", str(HERE / "selectors_of_features.R")]
        else:
            command = [python_of(environment), str(HERE / "environments.py"), environment]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={
                **os.environ,
                **ONE_THREAD,
                "PYTHONPATH": path,
                "PYTHONWARNINGS": "ignore",
                "MPLBACKEND": "Agg",
            },
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Hand over one request and wait for the answer."""
        assert self.process.stdin is not None and self.process.stdout is not None
        fields = ("method", "file", "family", "seed", "limit")
        line = "\t".join(str(request[f]) for f in fields) if self.in_r else json.dumps(request)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process for {request['method']} ended")
        return json.loads(line)


_workers: dict[str, Worker] = {}


def ask(environment: str, **request: Any) -> dict[str, Any]:
    """Ask the worker of an environment, which is started first where there is none in this process."""
    worker = _workers.get(environment)
    if worker is None or worker.process.poll() is not None:
        worker = _workers[environment] = Worker(environment)
    return worker.ask(**request)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Work on a request in a fork; the answer has the processor seconds of the fork unless the method says its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        # what peers print must not get between the answers
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        import resource

        limit = int(request["limit"])
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 2))
        try:
            import selectors_of_features as methods

            found: dict[str, Any] = methods.select(
                request["method"], request["file"], request["family"], request["seed"]
            )
        except BaseException as error:
            found = {"error": f"{type(error).__name__}: {error}"[:200]}
        os.write(writing, json.dumps(found).encode())
        os._exit(0)
    os.close(writing)
    text, open_for = b"", request["limit"] * WALL
    while select.select([reading], [], [], open_for)[0]:
        piece = os.read(reading, 1 << 16)
        if not piece:
            break
        text += piece
    else:
        os.kill(child, 9)
    os.close(reading)
    _, _, usage = os.wait4(child, 0)
    seconds = usage.ru_utime + usage.ru_stime
    if not text:
        return {
            "error": f"stopped at {request['limit']} processor seconds" if seconds > 1 else "died",
            "cpu": seconds,
        }
    return {"cpu": seconds, **json.loads(text)}


def serve(environment: str) -> None:
    """Answer requests until there are no more."""
    import selectors_of_features as methods

    methods.warm_up(environment)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
