"""Odd inputs at every public function and every flag: they end well, or in an error of the package's own."""

import contextlib
import io
import signal
import warnings

import odd_inputs
import pytest

import relbounds as rb
from relbounds.cli import main
from relbounds.cli.parser import make_parser

# of so many calls one runs in every test; all of them with -m slow
SHARE = 4
LONGEST = 60  # processor seconds: a busy machine is no fault of a call


class Late(BaseException):
    """A call that takes too long."""


def ring(*_):
    raise Late


def troubles(calls):
    """Return what is wrong with some calls, by name."""
    found = {}
    before = signal.signal(signal.SIGPROF, ring)
    try:
        for name, call in calls:
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    odd_inputs.quiet(call)()
            except rb.RelboundsError as error:
                if not str(error).strip():
                    found[name] = "an error without words"
            except Late:
                found[name] = "it takes too long"
            except Exception as error:
                found[name] = f"{type(error).__name__}: {error}"
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        signal.signal(signal.SIGPROF, before)
    return found


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(odd_inputs.calls().items())


def test_odd_calls_end_in_errors_of_our_own(calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    some = calls[::SHARE]
    assert len(some) >= 500
    assert not troubles(some)


@pytest.mark.slow
def test_all_odd_calls_end_in_errors_of_our_own(calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not troubles(calls)


WORDS = [
    "",
    "odd",
    "-1",
    "0",
    "0.5",
    "nan",
    "inf",
    "1e308",
    "1e999",
    "a\0b",
    "1,,2",
    ",",
    "ä",
    "--",
    "/",
    ".",
    "None",
]
FLAGS = [
    *(
        "family",
        "levels",
        "weights",
        "frequency",
        "cluster",
        "missing",
        "order",
        "tolerance",
        "solver",
        "rule",
    ),
    *(
        "control",
        "interval",
        "privileged",
        "correcting",
        "C",
        "gamma",
        "epsilon",
        "delta",
        "residual",
        "alpha",
    ),
    *(
        "level",
        "probes",
        "cv",
        "seed",
        "json",
        "csv",
        "latex",
        "markdown",
        "html",
        "figure",
        "report",
        "save",
        "imputed",
        "methods",
        "predictions",
    ),
]


def test_every_flag_is_tried():
    known = vars(make_parser().parse_args(["fit", "DATA", "FORMULA"]))
    switches = {"command", "data", "formula", "n_jobs", "standardize", "safe", "balance", "bounds", "screen"}
    switches |= {"quiet", "force"}
    assert set(known) - switches == set(FLAGS)


@pytest.mark.parametrize("flag", FLAGS)
def test_odd_flags_end_with_a_status(flag, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    odd_inputs.people().to_csv("data.csv", index=False)
    quick = ["--quiet", "--no-bounds", "--C", "1", "--order", "explicit"]
    for i, word in enumerate(WORDS):
        call = ["fit", "data.csv", "y ~ a + b", *quick, f"--{flag}={word if i else ''}"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                status = main(call)
            except SystemExit as ended:
                status = ended.code
        shown = capsys.readouterr().err
        assert status in (0, 2), (word, shown)
        assert "Traceback" not in shown and (status == 0 or shown.strip())
        assert (tmp_path / "data.csv").read_text().startswith("a,b,c,y")
