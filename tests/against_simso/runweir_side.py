# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Run Runweir on the same configuration and read its jobs.csv."""

import csv
import subprocess

from simso_side import Job


def simulate(program, path, out, topology, machine=None, extra=()):
    """Run a configuration file at no scheduling cost; the jobs by (task, number)."""
    command = [program, "run", "--workload", str(path), "--costs", "zero", "--quiet", "--out", str(out)]
    if topology:
        command += ["--topology", topology]
    if machine:
        command += ["--machine", machine]
    command += list(extra)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return read(out / "jobs.csv")


def read(path):
    def number(text):
        return int(text) if text else None

    found = {}
    with open(path, newline="") as file:
        for line in csv.DictReader(file):
            job = Job(
                line["name"],
                int(line["job"]),
                int(line["release_ns"]),
                number(line["deadline_ns"]),
                number(line["start_ns"]),
                number(line["finish_ns"]),
                int(line["preemptions"]),
                int(line["migrations"]),
                line["end"] == "dropped",
            )
            job.reported_missed = line["missed"] == "1"
            found[(job.task, job.number)] = job
    return found
