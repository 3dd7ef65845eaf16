import subprocess
import sys

import pytest

import relbounds as rb

SLOW = (
    "scipy.stats",
    "scipy.optimize",
    "statsmodels",
    "joblib",
    "matplotlib",
    "seaborn",
    "sklearn",
    "numba",
    "cvxopt",
    "lightgbm",
    "dask",
    "highspy",
    "docx",
)


def loaded_by(code):
    code += "\nimport sys\nprint('\\n'.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(out.stdout.split())


def test_importing_the_package_loads_nothing_slow():
    loaded = loaded_by("import relbounds")
    assert not loaded & {*SLOW, "numpy", "pandas", "patsy", "scipy"}


def test_reaching_for_the_front_door_loads_no_slow_library():
    loaded = loaded_by("import relbounds\nrelbounds.relbounds\nrelbounds.RelboundsResults\nrelbounds.load")
    assert "relbounds.linear.fit" in loaded and not loaded & set(SLOW)


def test_help_loads_nothing_slow():
    loaded = loaded_by(
        "import contextlib, os, sys\nfrom relbounds.cli import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(open(os.devnull, 'w')):\n    main(['--help'])"
    )
    assert "relbounds.cli.parser" in loaded and not loaded & {*SLOW, "pandas", "patsy"}


@pytest.mark.parametrize("name", rb.__all__)
def test_every_public_name_is_there(name):
    assert getattr(rb, name) is not None and name in dir(rb)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'relbound'"):
        rb.relbound  # noqa: B018
