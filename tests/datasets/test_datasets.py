import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from relbounds import datasets

ROOT = Path(__file__).resolve().parents[2]
DATA, RAW = ROOT / "relbounds" / "datasets", ROOT / "data-raw"
LOADERS = {
    "load_severity": ("severity", 4, (300, 13)),
    "load_breast_cancer": ("diagnosis", 2, (569, 31)),
    "load_wine": ("rating", 5, (72, 6)),
    "load_housing": ("satisfaction", 3, (72, 5)),
}


@pytest.mark.parametrize("name", LOADERS)
def test_loader_gives_ordered_levels_and_provenance(name):
    response, n_levels, shape = LOADERS[name]
    data = getattr(datasets, name)()
    assert data.shape == shape
    assert data[response].cat.ordered and len(data[response].cat.categories) == n_levels
    assert not data.isna().any().any()
    assert "Licence" in data.attrs["provenance"]
    assert not [c for c in data if data[c].dtype == object or isinstance(data[c].dtype, pd.StringDtype)]


def test_every_loader_is_listed_and_every_file_described():
    assert sorted(LOADERS) == sorted(datasets.__all__)
    readme = (RAW / "README.md").read_text()
    for file in (*DATA.glob("*.csv"), *RAW.glob("make*")):
        assert f"`{file.name}`" in readme, f"data-raw/README.md does not mention {file.name}"


def test_severity_is_what_its_script_makes():
    script = runpy.run_path(str(RAW / "make_severity.py"))
    made = script["make"]()
    loaded = datasets.load_severity()
    made["severity"] = made["severity"].astype(loaded["severity"].dtype)
    made["sex"] = made["sex"].astype(loaded["sex"].dtype)
    pd.testing.assert_frame_equal(made, loaded)
    assert loaded.attrs["truth"] == {k: v[1] for k, v in script["TRUTH"].items()}
    assert set(loaded.columns) == {"severity", *loaded.attrs["truth"]}


def test_severity_truth_is_visible_in_plain_least_squares():
    """Dropping a strong column costs much, dropping any other little, dropping all readings much."""
    data = datasets.load_severity()
    y = data["severity"].cat.codes.to_numpy(float)
    columns = [c for c, t in data.attrs["truth"].items() if c not in {"sex", *data.attrs["privileged"]}]

    def r2(names):
        X = np.column_stack([np.ones(len(data)), data[names]])
        return 1 - np.var(y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) / np.var(y)

    full = r2(columns)
    for column in columns:
        loss = full - r2([c for c in columns if c != column])
        if data.attrs["truth"][column] == "strong":
            assert loss > 0.1
        else:
            assert loss < 0.02
    assert full - r2([c for c in columns if data.attrs["truth"][c] != "weak"]) > 0.1


def test_breast_cancer_is_what_its_script_makes(tmp_path):
    pytest.importorskip("sklearn")
    script = RAW / "make_breast_cancer.py"
    copy = tmp_path / "data-raw" / script.name
    copy.parent.mkdir()
    (tmp_path / "relbounds" / "datasets").mkdir(parents=True)
    copy.write_text(script.read_text())
    subprocess.run([sys.executable, str(copy)], check=True, capture_output=True)
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "relbounds" / "datasets" / "breast_cancer.csv"),
        pd.read_csv(DATA / "breast_cancer.csv"),
    )


def test_wine_rating_groups_its_response():
    data = datasets.load_wine()
    grouped = np.minimum(data["response"] // 20 + 1, 5)
    assert (grouped == data["rating"].astype(int)).all()


@pytest.mark.slow
def test_a_built_wheel_carries_the_data(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = "import relbounds.datasets as d; print(d.__file__, d.load_severity().shape)"
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "site", check=True, capture_output=True, text=True
    )
    assert "(300, 13)" in out.stdout and str(tmp_path) in out.stdout
