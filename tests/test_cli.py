import errno
import inspect
import json
import os
import signal
import subprocess
import sys
import urllib.request
import warnings
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds.cli import commands, main
from relbounds.cli.parser import make_parser

QUICK = ["--C", "0.5", "--delta", "0.1", "--control", "published", "--probes", "5"]


@pytest.fixture
def table(tmp_path):
    data = rb.simulate.paper_set(3, seed=1).data
    data = data.assign(y=data["y"].astype(int))
    path = tmp_path / "data.csv"
    data.to_csv(path, index=False)
    return path


def test_fit_prints_the_summary_and_writes_everything(table, tmp_path, capsys):
    out = {name: tmp_path / f"out.{name}" for name in ("json", "csv", "save")}
    arguments = ["fit", str(table), "y ~ .", *QUICK]
    for name, path in out.items():
        arguments += [f"--{name}", str(path)]
    assert main(arguments) == 0
    assert "Relevance bounds" in capsys.readouterr().out
    content = json.loads(out["json"].read_text())
    fit = rb.relbounds("y ~ .", pd.read_csv(table), C=0.5, delta=0.1, control="published", probes=5)
    assert [row["feature"] for row in content["table"]] == fit.table.index.tolist()
    assert content["table"][0]["upper"] == fit.table["upper"].iloc[0]
    assert content["baseline"]["weights"]["x1"] == fit.baseline.weights["x1"]
    assert content["observations"] == 150 and content["options"]["probes"] == 5
    assert rb.load(out["save"]).table.equals(fit.table)
    assert out["csv"].read_text().startswith("feature,")


@pytest.mark.parametrize(("ending", "separator"), [(".tsv", "\t"), (".parquet", None)])
def test_other_endings(table, tmp_path, ending, separator):
    data, path = pd.read_csv(table), tmp_path / f"data{ending}"
    if separator:
        data.to_csv(path, sep=separator, index=False)
    else:
        pytest.importorskip("pyarrow")
        data.to_parquet(path)
    assert main(["fit", str(path), "y ~ .", "--quiet", *QUICK]) == 0


def test_levels_order_a_text_response(tmp_path, capsys):
    data = rb.simulate.paper_set(3, seed=1).data
    words = ["none", "mild", "fair", "bad", "worst"]
    path = tmp_path / "words.csv"
    data.assign(y=[words[int(v) - 1] for v in data["y"].astype(int)]).to_csv(path, index=False)
    assert main(["fit", str(path), "y ~ .", *QUICK, "--family", "ordinal"]) == 2
    assert "such as --levels bad,fair,mild,none,worst" in capsys.readouterr().err
    assert main(["fit", str(path), "y ~ .", "--levels", ",".join(words), *QUICK]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.csv", "y ~ ."], "There is no file 'missing.csv'"),
        (["data.xls", "y ~ ."], "use .csv, .tsv or .parquet"),
        (["FOLDER.csv", "y ~ ."], "is a folder"),
        (["DATA", "y ~ x99"], "x99"),
        (["DATA", "y ~ .", "--C", "-1"], "--C -1 must be a finite number, positive; leaving it out lets"),
        (["DATA", "y ~ .", "--probes", "1"], "--probes 1 must be a whole number, 2 or more"),
        (["DATA", "y ~ .", "--probes", "2.5"], "--probes 2.5 must be"),
        (["DATA", "y ~ .", "--jobs", "0"], "--jobs 0 must be a whole number other than 0"),
        (["DATA", "y ~ .", "--delta", "3se"], "--delta 3se"),
        (["DATA", "y ~ .", "--level", "nan"], "--level nan"),
        (["DATA", "y ~ .", "--levels", "1,2"], "--levels lacks '3', '4', '5'"),
        (["DATA", "y ~ .", "--levels", "1,1,2"], "must name every level once"),
        (["DATA", "y ~ .", "--json", "no/such/folder/fit.json"], "does not exist"),
        (["DATA", "y ~ .", "--csv", "DATA"], "is the data file itself"),
        (["DATA", "y ~ .", "--csv", "DATA", "--force"], "is the data file itself"),
        (["DATA", "y ~ .", "--csv", "LINK", "--force"], "is the data file itself"),
        (["DATA", "y ~ .", "--save", "OLD"], "exists already; use --force"),
        (["DATA", "y ~ .", "--report", "FOLDER.csv", "--force"], "this is a folder"),
        (["DATA", "y ~ .", "--html", ""], "names no file"),
        (["DATA", "y ~ .", "--figure", "a.pmg"], "figures cannot be written as '.pmg'"),
        (["DATA", "y ~ .", "--figure", "a"], "figures cannot be written as '.'"),
        (["DATA", "y ~ .", "--json", "new", "--html", "new"], "both write new"),
    ],
    ids=lambda value: " ".join(value[1:]) if isinstance(value, list) else "",
)
def test_bad_input_is_one_clear_line_and_status_2(arguments, words, table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FOLDER.csv").mkdir()
    (tmp_path / "OLD").write_text("old")
    (tmp_path / "LINK").symlink_to(table)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    arguments = [str(table) if argument == "DATA" else argument for argument in arguments]
    assert main(["fit", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and "Traceback" not in error
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    "arguments", [["--C", "large"], ["--cv", "five"], ["--order", "none"], ["--fam"], ["--C"]]
)
def test_senseless_flags_end_with_status_2(arguments, table, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["fit", str(table), "y ~ .", *arguments])
    assert ended.value.code == 2 and "Traceback" not in capsys.readouterr().err


def test_outputs_are_checked_before_the_fit(table, tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "relbounds", lambda *_, **__: pytest.fail("it was fitted"))
    monkeypatch.setattr(commands, "read_table", lambda *_: pytest.fail("it was read"))
    assert main(["fit", str(table), "y ~ .", "--figure", str(tmp_path / "a.xyz")]) == 2


def test_force_writes_over_files(table, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")
    assert main(["fit", str(table), "y ~ .", "--quiet", *QUICK, "--csv", str(out), "--force"]) == 0
    assert "feature" in out.read_text()


def test_a_full_disk_leaves_what_was_there(table, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out.csv"
    out.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["fit", str(table), "y ~ .", "--quiet", *QUICK, "--csv", str(out), "--force"]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert out.read_text() == "old" and not list(tmp_path.glob(".relbounds*"))


def test_output_may_go_to_a_pipe(table):
    call = [
        sys.executable,
        "-m",
        "relbounds",
        "fit",
        str(table),
        "y ~ .",
        "--quiet",
        *QUICK,
        "--json",
        "/dev/stdout",
    ]
    out = subprocess.run(call, capture_output=True, text=True)
    assert out.returncode == 0 and json.loads(out.stdout)["response"] == "y"


def test_a_demo_that_cannot_be_written_says_so(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert "this folder cannot be made" in capsys.readouterr().err


def test_warnings_of_others_are_not_shown_and_the_filter_stays(table):
    before = warnings.showwarning
    main(["fit", str(table), "y ~ x99"])
    assert warnings.showwarning is before


def test_every_option_of_the_function_has_a_flag():
    flags = vars(make_parser().parse_args(["fit", "DATA", "FORMULA"]))
    wanted = set(inspect.signature(rb.relbounds).parameters) - {"client", "progress"}
    assert wanted <= set(flags)


def test_interrupts_end_with_status_130(table, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "relbounds", interrupted)
    assert main(["fit", str(table), "y ~ ."]) == 130
    assert capsys.readouterr().err == "relbounds: interrupted\n"


def test_version_runs_as_a_command():
    out = subprocess.run([sys.executable, "-m", "relbounds", "--version"], capture_output=True, text=True)
    assert out.returncode == 0 and out.stdout == f"relbounds {rb.__version__}\n"


@pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")
def test_demo_prints_the_table_and_writes_the_figure(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    out = capsys.readouterr().out
    assert "Relevance bounds" in out and "privileged" in out
    assert (tmp_path / "demo" / "bounds.png").stat().st_size > 10_000


def test_explore_serves_the_page_until_it_is_interrupted(table):
    pytest.importorskip("bottle")
    pytest.importorskip("waitress")
    arguments = [
        "explore",
        str(table),
        "y ~ x1 + x2 + x8",
        "--no-browser",
        "--control",
        "fdr",
        "--C",
        "0.5",
        "--delta",
        "0.1",
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "relbounds", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # tests that run in the background inherit that interrupts are ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        said = process.stdout.readline()
        url = said.split()[-1]
        with urllib.request.urlopen(url, timeout=30) as page:
            assert "What if?" in page.read().decode()
        # the port is taken while it runs
        port = urlsplit(url).port
        process.stdout.readline()
        other = subprocess.run(
            [sys.executable, "-m", "relbounds", *arguments, "--port", str(port)],
            capture_output=True,
            text=True,
        )
        assert other.returncode == 2 and f"--port {port} is in use" in other.stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0 and process.stderr.read() == ""


def test_completed_copies_methods_and_predictions(tmp_path, capsys):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=60), "z": rng.normal(size=60), "age": rng.normal(size=60)})
    data["time"] = np.exp(data["x"] + rng.normal(size=60))
    data["seen"] = (rng.random(60) < 0.7).astype(int)
    names = [tmp_path / f"{k}.csv" for k in range(3)]
    for k, name in enumerate(names):
        data.assign(z=data["z"] + 0.1 * k * rng.normal(size=60)).to_csv(name, index=False)
    out = {"methods": tmp_path / "m.txt", "predictions": tmp_path / "p.csv"}
    arguments = [
        "fit",
        str(names[0]),
        "Surv(time, seen) ~ x + z | adjust(age)",
        "--C",
        "0.1",
        "--delta",
        "0.05",
    ]
    arguments += ["--imputed", *map(str, names[1:])]
    for name, path in out.items():
        arguments += [f"--{name}", str(path)]
    assert main(arguments) == 0
    assert "3 imputed data sets" in " ".join(capsys.readouterr().out.split())
    assert "3 times imputed" in out["methods"].read_text() and "adjusted" in out["methods"].read_text()
    found = pd.read_csv(out["predictions"])
    assert len(found) == 60 and {"row", "predicted", "score"} <= set(found)
    chances = found.filter(like="P(over").to_numpy()
    assert chances.shape[1] > 2 and (np.diff(chances, axis=1) <= 1e-12).all()
    names[2].write_text("x,z\n1,2\n")
    assert main([*arguments[:7], "--imputed", str(names[2])]) == 2
    assert "Data set 2" in capsys.readouterr().err
