import io
import json
import zipfile

import numpy as np
import pytest

from relbounds.errors import DataError
from relbounds.saving import archive
from relbounds.saving.archive import read_archive, read_array, write_archive


def packed(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return out.getvalue()


def manifest(**changes):
    facts = {"format": 1, "kind": "fit", "relbounds": "0.1.0", "content": None}
    return json.dumps({**facts, **changes})


def test_the_same_content_gives_the_same_bytes():
    one, two = (write_archive("fit", [1], [np.arange(3)]) for _ in range(2))
    assert one == two


@pytest.mark.parametrize(
    "data", [b"", b"x", b"relbounds fit 1\n0.1.0", b"\x80\x04N.", packed({"a.txt": "b"})]
)
def test_foreign_files_are_told_so(data):
    with pytest.raises(DataError, match="not a saved relbounds fit"):
        read_archive(data)


def test_every_truncation_is_a_clear_error():
    data = write_archive("fit", {"array": 0}, [np.arange(50.0)])
    for size in range(len(data)):
        with pytest.raises(DataError, match=r"damaged|not a saved"):
            read_archive(data[:size])


def test_damage_anywhere_is_a_clear_error_or_harmless():
    array = np.random.default_rng(0).normal(size=60)
    data = write_archive("fit", {"array": 0}, [array])
    for place in range(0, len(data), 3):
        broken = data[:place] + bytes([data[place] ^ 0x5A]) + data[place + 1 :]
        try:
            assert np.array_equal(read_archive(broken).array(0), array)
        except DataError:
            continue
        except Exception as error:  # what the fit's reader turns into a clear error
            assert type(error).__module__ in ("builtins", "zipfile", "zlib")


def test_newer_formats_are_named():
    with pytest.raises(DataError, match=r"newer format \(9;.*Update relbounds"):
        read_archive(packed({"relbounds.json": manifest(format=9, relbounds="7.0")}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "\xff",
        manifest(format="1"),
        manifest(kind=3),
        "[" * 100_000,
        '{"format": 1' + "0" * 5000,
    ],
    ids=lambda text: text[:12],
)
def test_senseless_manifests_are_damaged(text):
    with pytest.raises(DataError, match="damaged"):
        read_archive(packed({"relbounds.json": text.encode("latin-1")}))


def test_a_zip_bomb_is_refused_before_it_is_unpacked(monkeypatch):
    read = []
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda self, name: read.append(name))
    bomb = packed({"relbounds.json": manifest(), "arrays/0.npy": bytes(archive.HARMLESS + 1)})
    with pytest.raises(DataError, match="which no saved fit does"):
        read_archive(bomb)
    assert not read


def test_too_many_members_are_refused(monkeypatch):
    monkeypatch.setattr(archive, "MEMBERS", 3)
    with pytest.raises(DataError, match="claims to hold 5 members"):
        read_archive(packed({"relbounds.json": manifest(), **{str(i): "" for i in range(4)}}))


def saved(array, **options):
    held = io.BytesIO()
    np.save(held, array, **options)
    return held.getvalue()


def test_arrays_of_objects_are_refused():
    with pytest.raises(ValueError, match="Python objects"):
        read_array(saved(np.array([print], dtype=object), allow_pickle=True))


def test_arrays_must_be_as_large_as_they_claim():
    data = saved(np.zeros(4))
    with pytest.raises(ValueError, match="claims the shape"):
        read_array(data.replace(b"(4,)", b"(9,)"))
    huge = data.replace(b"(4,), }        ", b"(999999999999,)}")
    with pytest.raises(ValueError):
        read_array(huge)


def test_no_code_of_a_pickle_is_run(tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "owned"), "w"))

    evil = np.array([Evil()], dtype=object)
    data = packed(
        {"relbounds.json": manifest(content={"array": 0}), "arrays/0.npy": saved(evil, allow_pickle=True)}
    )
    with pytest.raises(ValueError):
        read_archive(data).array(0)
    assert not (tmp_path / "owned").exists()
