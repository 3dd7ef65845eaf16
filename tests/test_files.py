import errno
import os
import stat

import pytest

from relbounds.errors import OutputError
from relbounds.files import check_target, write_whole


def test_text_and_bytes_are_written(tmp_path):
    path = tmp_path / "a.txt"
    assert write_whole(path, "größer") == path and path.read_bytes() == "größer".encode()
    write_whole(str(path), b"\x00\x01")
    assert path.read_bytes() == b"\x00\x01"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_half_way_leaves_what_was_there(tmp_path, monkeypatch, step):
    path = tmp_path / "a.txt"
    path.write_text("before")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OutputError, match="No space left"):
        write_whole(path, "after" * 1000)
    monkeypatch.undo()
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["a.txt"]


def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a.txt", "text")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "names no file"),
        ("a\0b", "names no file"),
        ("folder", "this is a folder"),
        ("no/such/file.txt", "does not exist"),
        ("file/inside", "does not exist"),
        ("circle", "could not be written"),
        ("n" * 300, "could not be written|too long"),
        (3, "must be text or a Path"),
        (None, "must be text or a Path"),
    ],
)
def test_impossible_targets_are_named(tmp_path, monkeypatch, name, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(OutputError, match=words):
        write_whole(name, "text")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_forbidden_places_are_named(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="nothing may be written into"):
            check_target(tmp_path / "a.txt")
    finally:
        tmp_path.chmod(0o700)


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_whole(link, "new")
    assert link.is_symlink() and real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_new_files_have_the_usual_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a.txt", "text")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_devices_are_written_to_as_they_are():
    write_whole(os.devnull, "text")
    assert not os.path.isfile(os.devnull)
