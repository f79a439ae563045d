# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Makes shards of a sweep on workers of Dask. Called by `runweir sweep --executor dask`:

    executor.py ADDRESS SPEC SHARDS FOLDER JOBS K,K,... PROGRAM [OPTION...]

A worker calls the program in a folder of its own and returns the journal; this side writes it into FOLDER/K, whole. So workers need the
program and the specification, but no common folder for results; a shard that is repeated, or whose worker is lost, does no harm.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

JOURNAL = ".runweir-sweep"


def shard(k, shards, spec, program, seed):
    """Make a shard; `seed` is the journal of an earlier try. Returns the journal's files, and what went wrong."""
    with tempfile.TemporaryDirectory(prefix="runweir-shard-") as folder:
        out = Path(folder) / "part"
        if seed:
            (out / JOURNAL).mkdir(parents=True)
            for name, data in seed.items():
                (out / JOURNAL / name).write_bytes(data)
        found = program[0] if os.path.exists(program[0]) else shutil.which("runweir")
        if not found:
            raise RuntimeError(f"the worker has neither {program[0]} nor runweir in its PATH")
        command = [found, *program[1:], "sweep", spec, "--shard", f"{k}/{shards}", "--jobs", "1", "--quiet", "--out", str(out)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        journal = out / JOURNAL
        files = {p.name: p.read_bytes() for p in journal.iterdir()} if journal.is_dir() else {}
        return k, files, done.stderr.strip() if done.returncode else ""


def keep(folder, files):
    """Write a journal so that it is whole at every instant: the list of runs first, what it belongs to last."""
    place = folder / JOURNAL
    place.mkdir(parents=True, exist_ok=True)
    for name in sorted(files, key=lambda n: n == "identity"):
        half = place / f"{name}.new"
        half.write_bytes(files[name])
        os.replace(half, place / name)


def main():
    address, spec, shards, folder, jobs, missing, *program = sys.argv[1:]
    folder, jobs = Path(folder), int(jobs)
    try:
        from dask.distributed import Client, LocalCluster, as_completed
    except ImportError as e:
        sys.exit(fail(3, f"Dask is not installed for {sys.executable}: {e}"))
    try:
        if address == "local":
            workers = jobs or os.cpu_count() or 1
            # Workers spill into a folder, which they would leave in that for temporary files.
            spill = tempfile.TemporaryDirectory(prefix="runweir-dask-", ignore_cleanup_errors=True)
            cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=spill.name)
            client = Client(cluster)
        else:
            client = Client(address, timeout="10s")
    except (OSError, TimeoutError, ValueError) as e:
        sys.exit(fail(4, f"no scheduler of Dask at {address}: {e}"))
    wrong = []
    with client:
        waiting = []
        for k in (int(k) for k in missing.split(",")):
            place = folder / str(k) / JOURNAL
            seed = {p.name: p.read_bytes() for p in place.iterdir() if not p.name.endswith(".new")} if place.is_dir() else None
            waiting.append(client.submit(shard, k, shards, spec, program, seed, pure=False, retries=3, key=f"runweir-shard-{k}-of-{shards}-{os.getpid()}"))
        for future in as_completed(waiting):
            try:
                k, files, error = future.result()
            except Exception as e:  # whatever a worker raises: the others go on
                wrong.append(f"{type(e).__name__}: {e}")
                continue
            finally:
                future.release()
            if files:
                keep(folder / str(k), files)
            if error:
                wrong.append(f"shard {k}: {error}")
            else:
                print(f"done {k}", flush=True)
    if address == "local":
        cluster.close()
        spill.cleanup()
    if wrong:
        sys.exit(fail(1, "\n".join(wrong[-3:])))


def fail(status, text):
    print(text, file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
