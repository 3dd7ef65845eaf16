import json
import subprocess
import sys

import pandas as pd
import pytest

import relbounds as rb
from relbounds.cli import main

QUICK = ["--C", "0.5", "--probes", "10"]


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
    fit = rb.relbounds("y ~ .", pd.read_csv(table), C=0.5, probes=10)
    assert [row["feature"] for row in content["table"]] == fit.table.index.tolist()
    assert content["table"][0]["upper"] == fit.table["upper"].iloc[0]
    assert content["baseline"]["weights"]["x1"] == fit.baseline.weights["x1"]
    assert content["observations"] == 150 and content["options"]["probes"] == 10
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
    assert main(["fit", str(path), "y ~ .", *QUICK]) == 2
    assert "order" in capsys.readouterr().err
    assert main(["fit", str(path), "y ~ .", "--levels", ",".join(words), *QUICK]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.csv", "y ~ ."], "There is no file 'missing.csv'"),
        (["data.xls", "y ~ ."], "use .csv, .tsv or .parquet"),
        (["DATA", "y ~ x99"], "x99"),
        (["DATA", "y ~ .", "--C", "-1"], "C=-1.0"),
        (["DATA", "y ~ .", "--json", "no/such/folder/fit.json"], "does not exist"),
    ],
)
def test_bad_input_is_one_clear_line_and_status_2(arguments, words, table, capsys):
    arguments = [str(table) if argument == "DATA" else argument for argument in arguments]
    assert main(["fit", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and "Traceback" not in error


def test_version_runs_as_a_command():
    out = subprocess.run([sys.executable, "-m", "relbounds", "--version"], capture_output=True, text=True)
    assert out.returncode == 0 and out.stdout == f"relbounds {rb.__version__}\n"


@pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")
def test_demo_prints_the_table_and_writes_the_figure(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    out = capsys.readouterr().out
    assert "Relevance bounds" in out and "privileged" in out
    assert (tmp_path / "demo" / "bounds.png").stat().st_size > 10_000
