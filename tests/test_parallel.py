import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds import parallel
from relbounds.design.new_rows import FormulaColumns
from relbounds.linear.noise import fwer, judge
from relbounds.parallel import Job, chunks, run, run_together


def scaled(task, shared):
    return task * shared.sum()


def process_of(task, shared):
    time.sleep(0.05)
    return os.getpid()


def met(task, folder):
    """Wait until a second process has come, for half a minute at most."""
    open(os.path.join(folder, str(os.getpid())), "w").close()
    end = time.monotonic() + 30
    while len(os.listdir(folder)) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    return os.getpid()


def failing(task, shared):
    if task == 3:
        raise rb.DataError("task three")
    return task


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_results_keep_their_order(n_jobs):
    seen = []
    found = run(scaled, range(7), n_jobs=n_jobs, shared=np.ones(3), progress=seen.append)
    assert found == [3.0 * k for k in range(7)] and sum(seen) == 7


def test_several_processes_work(tmp_path):
    found = set(run(met, range(8), n_jobs=2, shared=str(tmp_path)))
    assert os.getpid() not in found and len(found) == 2


def looked_at(task, shared):
    arrays, words = shared
    flags = [(a.flags.writeable, a.ctypes.data % 64) for a in (arrays[0], arrays[-1])]
    return [type(a) for a in arrays], [a.tolist() for a in arrays], words, flags


def test_arrays_arrive_as_they_are_and_are_shared():
    """No subclass that slows every operation, no copy that could be written to, any shape and order."""
    arrays = [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10)[::3],
        np.zeros((0, 4)),
        np.array(2.5),
        np.array(["a", None, 3], dtype=object),
        np.array([True, False, True]),
    ]
    for kinds, values, words, flags in run(looked_at, range(3), n_jobs=2, shared=(arrays, {"a": (1, "b")})):
        assert set(kinds) == {np.ndarray} and values == [a.tolist() for a in arrays]
        assert words == {"a": (1, "b")} and flags == [(False, 0), (False, 0)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_jobs_side_by_side_find_what_they_find_alone(n_jobs):
    jobs = [Job(scaled, range(3), np.ones(2)), Job(scaled, []), Job(failing, [1, 2])]
    assert run_together(jobs, n_jobs=n_jobs) == [[0.0, 2.0, 4.0], [], [1, 2]]


def test_jobs_side_by_side_share_the_processes(tmp_path):
    """Each job has one task, which waits for that of the other."""
    found = run_together([Job(met, [0], str(tmp_path)), Job(met, [0], str(tmp_path))], n_jobs=2)
    assert len({process for one in found for process in one} - {os.getpid()}) == 2


@pytest.mark.parametrize("control", ["fwer", "fdr"])
@pytest.mark.parametrize("family", ["ordinal", "regression"])
def test_terms_are_tested_once_and_the_same_with_two_workers(control, family, monkeypatch):
    """The tests that are made beside the resampled models are those that classes rest on."""
    simulated = rb.simulate.draw(family, 80, 2, 0, 2, noise=0.5, seed=0)
    two = rb.relbounds(simulated.formula, simulated.data, control=control, n_jobs=2)
    made = []
    module, name = (fwer, "score_test") if control == "fwer" else (judge, "many_test")
    original = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args, **kwargs: made.append(1) or original(*args, **kwargs))
    one = rb.relbounds(simulated.formula, simulated.data, control=control)
    assert len(made) == 1
    pd.testing.assert_frame_equal(one.table, two.table, check_exact=True)


@pytest.mark.parametrize("control", ["fwer", "fdr"])
def test_workers_are_not_sent_what_only_new_rows_need(control, monkeypatch):
    """Of many columns that takes longer than all the rest."""

    def refuse(self):
        raise AssertionError("sent")

    monkeypatch.setattr(FormulaColumns, "__getstate__", refuse, raising=False)
    simulated = rb.simulate.draw("ordinal", 60, 2, 0, 140, noise=0.5, seed=0)
    fit = rb.relbounds(simulated.formula, simulated.data, control=control, n_jobs=2)
    assert len(fit.predict(simulated.data)) == 60


def test_errors_keep_their_type():
    with pytest.raises(rb.DataError, match="task three"):
        run(failing, range(5), n_jobs=2)


def test_pieces_do_not_depend_on_the_number_of_processes():
    assert [len(piece) for piece in chunks(10, 4)] == [4, 4, 2]
    # of about the same size, so that none is waited for long
    assert [len(piece) for piece in chunks(9, 4)] == [3, 3, 3]
    assert chunks(0, 4) == []


FAULTS = """
import resource
import numpy as np
from relbounds.parallel import freed_memory_kept

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(2**17)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

outside = faults()
with freed_memory_kept():
    faults()
    inside = faults()
print(outside, inside, faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="an allocator of Linux")
def test_a_worker_told_to_hand_memory_back_keeps_it_during_a_task():
    # as Dask starts its workers
    env = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True, env=env)
    outside, inside, after = (int(count) for count in done.stdout.split())
    if outside < 5000:
        pytest.skip("another allocator: nothing was handed back to begin with")
    assert inside < 0.1 * outside
    assert after > 0.5 * outside


def dying(task, shared):
    """Kill the worker that runs the third task: always, or the first time only."""
    flag, always = shared
    if task == 2 and (always or not os.path.exists(flag)):
        open(flag, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * task


def test_the_work_of_a_killed_process_is_done_again(tmp_path):
    seen = []
    flag = str(tmp_path / "died")
    found = run(dying, range(6), n_jobs=2, shared=(flag, False), progress=seen.append)
    assert found == [10 * k for k in range(6)] and sum(seen) == 6 and os.path.exists(flag)


def test_a_task_that_always_kills_its_process_is_a_clear_error(tmp_path):
    with pytest.raises(rb.WorkerError, match=r"killed 3 times in a row.*n_jobs=1"):
        run(dying, range(6), n_jobs=2, shared=(str(tmp_path / "died"), True))
    # and the next call finds working processes
    assert run(scaled, range(4), n_jobs=2, shared=np.ones(1)) == [0.0, 1.0, 2.0, 3.0]


def test_a_client_that_is_none_is_refused():
    with pytest.raises(rb.OptionError, match=r"client=3 must be a dask.distributed.Client"):
        run(scaled, range(3), shared=np.ones(1), client=3)


def alive(group):
    """Return the processes of a group that still run; those that nobody has collected yet do not count."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if int(fields[2]) == group and fields[0] not in "ZX":
            found.append(int(path.parent.name))
    return found


INTERRUPTED = """
import signal
# a shell may have started us with interrupts ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
from relbounds.parallel import run
import tests_tasks
run(tests_tasks.wait, range(8), n_jobs=2, shared=FOLDER)
"""
WAITING = """
import os, time
def wait(task, folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(600)
"""


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="processes are counted in /proc")
@pytest.mark.parametrize("ignored", [False, True])
def test_an_interrupt_ends_everything_at_once(tmp_path, ignored):
    folder = tmp_path / "workers"
    folder.mkdir()
    (tmp_path / "tests_tasks.py").write_text(WAITING)
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    before = signal.getsignal(signal.SIGINT)
    if ignored:  # what a shell does with processes in the background
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED.replace("FOLDER", repr(str(folder)))],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        wait_until(lambda: len(list(folder.iterdir())) == 2 or process.poll() is not None)
        os.kill(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
        assert process.returncode != 0 and b"KeyboardInterrupt" in error
        wait_until(lambda: not alive(process.pid))
        assert not alive(process.pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until(true, most=60.0):
    end = time.monotonic() + most
    while not true() and time.monotonic() < end:
        time.sleep(0.05)


def test_progress_may_be_a_function():
    seen = []
    data = rb.simulate.paper_set(3, seed=1)

    def show(stage, done, total):
        seen.append((stage, done, total))

    fit = rb.relbounds(data.formula, data.data, C=1.0, probes=4, n_jobs=2, progress=show)
    assert "bounds" in {stage for stage, _, _ in seen}
    for name in {stage for stage, _, _ in seen}:
        counts = [(done, total) for stage, done, total in seen if stage == name]
        assert counts[0][0] == 0 and counts == sorted(counts)
    assert fit.table.equals(rb.relbounds(data.formula, data.data, C=1.0, probes=4).table)


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def suicidal(task, shared):
    """Kill the worker that runs the third task, the first time it does."""
    flag, values = shared
    if task == 2 and not os.path.exists(flag):
        open(flag, "w").close()
        os._exit(1)
    return task * values.sum()


def test_a_killed_worker_loses_nothing(cluster, tmp_path):
    found = run(suicidal, range(6), shared=(str(tmp_path / "died"), np.ones(4)), client=cluster)
    assert found == [4.0 * k for k in range(6)] and (tmp_path / "died").exists()


def test_a_fit_survives_a_killed_worker(cluster):
    simulated = rb.simulate.paper_set(3, noise=0.5, seed=2)
    options = {"C": 0.1, "probes": 30}
    serial = rb.relbounds(simulated.formula, simulated.data, **options)
    processes = cluster.run(os.getpid)
    killed = []

    def kill_a_busy_worker():
        while not killed:
            killed.extend([address for address, tasks in cluster.processing().items() if tasks][:1])
        os.kill(processes[killed[0]], signal.SIGKILL)

    killer = threading.Thread(target=kill_a_busy_worker, daemon=True)
    killer.start()
    fit = rb.relbounds(simulated.formula, simulated.data, client=cluster, **options)
    killer.join(timeout=30)
    assert killed and not killer.is_alive()
    pd.testing.assert_frame_equal(serial.table, fit.table, check_exact=True)


def test_a_cluster_finds_what_one_process_finds(cluster):
    """Every step of a default fit, with tests beside resampled models, and limits in the place of bounds."""
    assert run_together([Job(scaled, range(3), np.ones(2)), Job(failing, [1])], client=cluster) == [
        [0, 2, 4],
        [1],
    ]
    simulated = rb.simulate.draw("ordinal", 60, 3, 0, 177, noise=0.5, seed=0)
    one = rb.relbounds(simulated.formula, simulated.data)
    assert one.table["screened"].any()
    for how in ({"client": cluster}, {"n_jobs": 2}):
        two = rb.relbounds(simulated.formula, simulated.data, **how)
        pd.testing.assert_frame_equal(one.table, two.table, check_exact=True)


def test_joblib_config_finds_the_cluster(cluster):
    with joblib.parallel_config("dask"):
        found = set(run(process_of, range(6)))
    assert os.getpid() not in found


def read_in(task, shared):
    """Return what was shared, and by which way it came."""
    return shared.sum() * task, shared.flags.writeable


def elsewhere(file):
    return False


def test_workers_of_this_machine_read_one_file_and_others_get_its_contents(cluster, monkeypatch):
    near = run(read_in, range(5), shared=np.ones(3), client=cluster)
    assert near == [(3.0 * k, False) for k in range(5)]
    with monkeypatch.context() as patch:
        patch.setattr(os.path, "exists", elsewhere)
        seen = []
        far = run(read_in, range(5), shared=np.ones(3), client=cluster, progress=seen.append)
    assert far == [(3.0 * k, True) for k in range(5)] and sum(seen) == 5


def test_a_worker_that_came_meanwhile_and_finds_no_file_gets_its_contents(cluster, monkeypatch):
    @contextlib.contextmanager
    def gone(shared, dumps):
        yield "no file of this name"

    monkeypatch.setattr(parallel, "_stored", gone)
    monkeypatch.setattr(cluster, "run", lambda *args, **kwargs: {})
    seen = []
    found = run(read_in, range(5), shared=np.ones(3), client=cluster, progress=seen.append)
    assert found == [(3.0 * k, True) for k in range(5)] and sum(seen) == 5


def test_nothing_is_put_behind_a_long_task(cluster, monkeypatch):
    """Dask hands a worker its next task ahead: behind a long one it would wait while other workers are idle."""
    handed, original = [], cluster.map

    def counted(call, tasks, **options):
        handed.append(len(tasks))
        return original(call, tasks, **options)

    monkeypatch.setattr(cluster, "map", counted)
    jobs = [Job(scaled, [7], np.ones(2)), Job(scaled, range(5), np.ones(3))]
    assert run_together(jobs, client=cluster) == [[14.0], [3.0 * k for k in range(5)]]
    assert handed == [2, 1, 1, 1, 1]
    # of tasks that are alike all go in one message
    run(scaled, range(6), shared=np.ones(3), client=cluster)
    assert handed[5:] == [6]
