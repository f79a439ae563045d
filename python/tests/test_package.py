# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The package from outside: every function, tables in three libraries, Ctrl-C, memory."""

import doctest
import html
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tomllib
from pathlib import Path

import pytest

import runweir
from runweir import texts

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "crates/weir-trace/tests/recordings"

TASKS = {
    "duration": "100ms",
    "task": [
        {"name": "control", "period": "10ms", "run": "2ms", "deadline": "8ms"},
        {"name": "worker", "count": 3, "loop": "forever", "program": ["run 1ms..3ms", "lock cache; run 100us; unlock cache", "sleep 1ms"]},
    ],
}


@pytest.fixture(scope="module")
def result():
    return runweir.run("decentral", "smp-2", TASKS)


def test_a_run_is_the_one_of_the_command_line(result, tmp_path):
    assert result.summary["topology"] == "decentral" and result.summary["machine"] == "smp-2"
    assert result.totals["jobs_completed"] > 10
    result.save(tmp_path / "out")
    files = {p.name for p in (tmp_path / "out").iterdir()}
    assert {"summary.json", "trace.pftrace", "report.html", "jobs.csv"} <= files
    again = json.loads((tmp_path / "out/summary.json").read_text())
    assert again["totals"] == result.totals
    assert result.trace() == (tmp_path / "out/trace.pftrace").read_bytes()
    assert result.trace(tmp_path / "t.pftrace").stat().st_size == len(result.trace())
    assert "<html" in result.report() and "<svg" in result._repr_html_()
    assert "decentral" in repr(result) and "jobs done" in str(result)


def test_texts_and_objects():
    text = "annotate affinity; entry -> load_balancer -> each cpu { fifo -> cpu };"
    a = runweir.run(text, "smp-2", TASKS, tables=())
    b = runweir.run(runweir.Topology(text, "mine"), "smp-2", runweir.Workload(TASKS), tables=[])
    assert a.totals == b.totals and b.summary["topology"] == "mine"
    with pytest.raises(AttributeError, match="slices"):
        a.slices
    slow = runweir.run("decentral", "smp-2", TASKS, set={"round_robin.slice": "100us"}, costs="zero")
    assert slow.totals["scheduler_ns"] == 0


def test_faults_have_their_remedy():
    with pytest.raises(runweir.InputError, match="no topology called") as e:
        runweir.run("decentrall", "smp-2", TASKS)
    assert "did you mean `decentral`" in str(e.value) and isinstance(e.value, ValueError)
    with pytest.raises(runweir.InputError, match="unknown key `perid`"):
        runweir.run("decentral", "smp-2", {"task": [{"name": "a", "perid": "1ms"}]})
    with pytest.raises(ValueError, match="not a time"):
        runweir.run("decentral", "smp-2", TASKS, duration="3 parsecs")
    with pytest.raises(ValueError, match="no table"):
        runweir.run("decentral", "smp-2", TASKS, tables=["threads"])


def test_tables_agree_with_the_summary_and_with_each_other(result):
    pyarrow = pytest.importorskip("pyarrow")
    slices, waits, jobs, tasks, cpus = (pyarrow.table(getattr(result, n)) for n in ("slices", "waits", "jobs", "tasks", "cpus"))
    assert len(slices) == len(result.slices) > 50
    assert sum(slices["ran_ns"].to_pylist()) == sum(tasks["cpu_ns"].to_pylist())
    assert sum(cpus["busy_ns"].to_pylist()) == result.totals["busy_ns"]
    assert jobs["end_ns"].null_count == result.totals["jobs"] - result.totals["jobs_completed"]
    done = [r for r in jobs.to_pylist() if r["end_ns"] is not None]
    assert len(done) == result.totals["jobs_completed"]
    assert all(r["end_ns"] - r["release_ns"] == r["response_ns"] for r in done)
    assert sum(r["missed"] for r in jobs.to_pylist()) == result.totals["deadline_misses"]
    # Slices of a CPU do not overlap.
    for cpu in set(slices["cpu"].to_pylist()):
        rows = sorted((r["begin_ns"], r["end_ns"]) for r in slices.to_pylist() if r["cpu"] == cpu)
        assert all(a[1] <= b[0] for a, b in zip(rows, rows[1:]))
    kinds = set(waits["for"].to_pylist())
    assert {"cpu", "mutex", "time"} <= kinds, kinds
    ready = sum(r["end_ns"] - r["begin_ns"] for r in waits.to_pylist() if r["for"] == "cpu")
    assert ready == sum(tasks["wait_ns"].to_pylist())
    assert result.slices.head(1)[0]["end"] in ("preempted", "slice end", "yield", "blocked", "ended", "running")
    assert slices["end"].to_pylist() == result.slices.column("end")


def test_polars_and_pandas(result):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(result.slices)
    assert frame.height == len(result.slices) and frame["ran_ns"].sum() == sum(result.slices.column("ran_ns"))
    assert polars.DataFrame(result.jobs)["end_ns"].null_count() == result.jobs.column("end_ns").count(None)
    pandas = pytest.importorskip("pandas")
    if hasattr(pandas.DataFrame, "from_arrow"):
        frame = pandas.DataFrame.from_arrow(result.tasks)
    else:
        frame = pytest.importorskip("pyarrow").table(result.tasks).to_pandas()
    assert list(frame["name"]) == result.tasks.column("name")


def test_compare_sweep_check_analyze():
    comparison = runweir.compare(["decentral", "priority"], "smp-2", TASKS, seeds=2)
    assert len(comparison.runs) == 4 and len(comparison.values("totals.migrations")["priority"]) == 2
    assert "decentral" in comparison._repr_html_()
    seen = []
    sweep = runweir.sweep(
        {
            "topology": ["edf", "p-edf"], "machine": "smp-2", "workload": "periodic", "costs": "zero", "seeds": 3,
            "duration": "100ms", "keys": {"tasks": 6, "util": ["100%", "180%"]},
        },
        progress=seen.append,
    )
    assert len(sweep.points) == 4 and seen[-1] == 1.0
    assert sweep.curve("keys.util")["edf"][0] == (100.0, 1.0)
    assert "<table" in sweep._repr_html_()
    facts = runweir.check("decentral", "smp-4")
    assert facts[0]["cpus"] == 4 and facts[0]["warnings"] == []
    with pytest.raises(runweir.InputError, match="unknown"):
        runweir.check("entry -> nothing_like_it -> cpus;")
    verdict = runweir.analyze("edf", "smp-2", "periodic:tasks=4,util=1", schedulability=True)
    assert verdict.page and str(verdict)


def test_import_and_explain(tmp_path):
    done = runweir.import_trace(RECORDINGS / "hackbench.perf.data", fit=True, anonymise=True)
    assert done.fidelity["all"]["recorded"]["switches"] > 0 and "hackbench" not in done.workload.text
    assert runweir.run("linux", "smp-2", done.workload, tables=()).totals["busy_ns"] > 0
    assert runweir.worst(RECORDINGS / "hackbench.perf.data", 2)[0].ns > 0
    taken = runweir.requests(RECORDINGS / "rt-app.ftrace.txt", "taker", slowest=2)
    assert taken.count >= len(taken.slowest) > 0 and taken.latency_ns["max"] == taken.slowest[0]["ns"] and "p99" in str(taken)
    with pytest.raises(runweir.InputError, match="both"):
        runweir.requests(RECORDINGS / "rt-app.ftrace.txt")
    with pytest.raises(runweir.InputError, match="did you mean `taker"):
        runweir.requests(RECORDINGS / "rt-app.ftrace.txt", "takr")
    low = {
        "task": [
            {"name": "low", "policy": "fifo", "priority": 1, "program": "lock m; run 5ms; unlock m"},
            {"name": "mid", "policy": "fifo", "priority": 5, "start": "1ms", "program": "run 20ms"},
            {"name": "high", "policy": "fifo", "priority": 9, "start": "2ms", "program": "lock m; run 1ms; unlock m"},
        ]
    }
    why = runweir.run("priority", "smp-1", low).explain("high@10ms")
    assert why.cause == "inversion" and "`mid`" in str(why)


def test_graph_and_catalogue():
    assert "decentral" in runweir.topologies() and runweir.machines() and runweir.workloads()
    graph = runweir.Graph("decentral", "smp-4")
    assert "<svg" in graph.svg
    if hasattr(graph, "selected"):
        graph.selected = ["load_balancer"]
        assert "render" in graph._esm
    assert "<svg" in runweir.Topology("entry -> fifo -> cpus;")._repr_svg_()


PAGE = """
<!DOCTYPE html><meta charset="utf-8"><div id="place"></div>
<script type="module">
%s
const state = { svg: %s, names: %s, selected: [] }, heard = {};
const model = {
  get: (key) => state[key], set: (key, value) => { state[key] = value; (heard["change:" + key] || (() => {}))(); },
  save_changes: () => {}, on: (what, f) => { heard[what] = f; },
};
render({ model, el: document.getElementById("place") });
const boxes = [...document.querySelectorAll("[data-instance]")], seen = [];
for (const box of boxes) {
  box.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  seen.push([...state.selected]);
}
const faint = boxes.filter((b) => b.style.opacity === "0.4").length;
boxes.at(-1).dispatchEvent(new MouseEvent("click", { bubbles: true }));
document.title = JSON.stringify({ seen, faint, boxes: boxes.length, last: state.selected });
</script>
"""


def test_a_click_on_the_graph_selects_instances(tmp_path):
    """In a browser, with a stand-in for the notebook's side of the widget."""
    pytest.importorskip("anywidget")
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not browser:
        pytest.skip("no Chromium")
    graph = runweir.Graph("decentral", "smp-4")
    module = graph._esm.replace("export default { render };", "")
    page = tmp_path / "page.html"
    page.write_text(PAGE % (module, json.dumps(graph.svg).replace("</", "<\\/"), json.dumps(graph.names)), encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom", page.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    title = html.unescape(dom.split("<title>", 1)[1].split("</title>", 1)[0])
    found = json.loads(title)
    assert ["load_balancer"] in found["seen"] and ["affinity"] in found["seen"], found
    assert any("round_robin@cpu0" in names for names in found["seen"]), found
    # The others are faint while one is selected; a second click takes the selection back.
    assert 0 < found["faint"] < found["boxes"] and found["last"] == [], found


def test_toml_is_read_as_it_was_meant():
    value = {"a": 1, "b": [1.5, True, "x\"y\\z\n\x7fé"], "t": {"k.k": "v", "n": {"m": []}}, "l": [{"x": 1}, {"y": {"z": 2}}]}
    assert tomllib.loads(texts.to_toml(value)) == value
    assert doctest.testmod(texts).failed == 0 and doctest.testmod(runweir).failed == 0
    with pytest.raises(TypeError, match="cannot hold"):
        texts.to_toml({"a": object()})


LONG = 'runweir.run("decentral", "smp-2", "hackbench:groups=4,loops=100000000", tables=())'


def test_an_interrupt_ends_a_run_at_once():
    code = f"""
        import runweir, time
        print("ready", flush=True)
        try:
            {LONG}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(1.0)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        # At once, on a machine that others use, too.
        assert time.monotonic() - began < 5.0
        assert child.wait(30) == 0


def test_the_interpreter_goes_on_meanwhile():
    """Another thread of Python runs while a simulation does."""
    stop, ticks = threading.Event(), []

    def count():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    runweir.run("linux", "smp-4", "hackbench:groups=2,loops=300", tables=())
    ended = time.monotonic()
    stop.set()
    thread.join()
    during = [t for t in ticks if began < t < ended]
    assert len(during) > (ended - began) / 0.005 / 20, (len(during), ended - began)


@pytest.mark.skipif(not os.environ.get("RUNWEIR_LONG"), reason="long: RUNWEIR_LONG=1")
def test_ten_million_slices_in_bounded_memory():
    """Two tasks that take turns: 10^7 slices, at 33 bytes each, and no Python object for any."""
    code = """
        import resource, runweir
        load = {"task": [{"name": "a", "count": 2, "loop": 5000000, "program": "runtime 10us; yield"}]}
        r = runweir.run("entry -> round_robin(slice = 1s) -> cpus;", "smp-1", load, costs="zero", tables=["slices"])
        n = len(r.slices)
        import pyarrow
        table = pyarrow.table(r.slices)
        assert len(table) == n
        print(n, r.slices.nbytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True).stdout
    rows, held, peak = (int(word) for word in out.split())
    print(f"{rows} slices, {held / 1e6:.0f} MB of columns, {peak / 1e6:.0f} MB resident at most")
    assert rows >= 10**7 and held == 33 * rows
    # Columns, one chunk's growth, the interpreter with pyarrow.
    assert peak < 2 * held + 300e6, (rows, held, peak)


def test_tables_have_names_columns_rows_and_frames(result):
    """Tables had numbers of tasks only, and pandas refused them: `pandas.DataFrame(result.slices)` raised."""
    slices = result.slices
    assert slices.column_names[:2] == ["task", "name"]
    by_number = {t["task"]: t["name"] for t in result.tasks.head(100)}
    assert [by_number[t] for t in slices["task"]] == slices["name"]
    assert slices[0]["name"] == slices["name"][0] and slices[-1]["end_ns"] == slices["end_ns"][-1]
    with pytest.raises(IndexError):
        slices[len(slices)]
    with pytest.raises(KeyError, match="did you mean `begin_ns`"):
        slices["beginns"]
    pandas = pytest.importorskip("pandas")
    frame = result.jobs.to_pandas()
    assert str(frame["release_ns"].dtype) == "timedelta64[ns]" and set(frame["name"]) == {"control", "worker-0", "worker-1", "worker-2"}
    assert frame["response_ns"].dropna().min() > pandas.Timedelta(0)
    assert result.jobs.to_pandas(timedelta=False)["release_ns"].max() < 100_000_000
    polars = pytest.importorskip("polars")
    frame = slices.to_polars()
    assert frame["begin_ns"].dtype == polars.Duration("ns") and frame["name"].to_list() == slices["name"]
    # As they are, times stay numbers.
    assert polars.DataFrame(slices)["name"].to_list() == slices["name"]


def test_whole_numbers_are_nanoseconds_everywhere():
    named = {"duration": "20ms", "task": [{"name": "a", "period": "5ms", "wcet": "1ms", "deadline": "4ms"}]}
    plain = {"duration": 20_000_000, "task": [{"name": "a", "period": 5_000_000, "wcet": 1_000_000, "deadline": 4_000_000}]}
    a, b = (runweir.run("edf", "smp-1", w, tables=()) for w in (named, plain))
    assert a.summary == b.summary | {"wall_ns": a.summary["wall_ns"]}
    with pytest.raises(ValueError, match="5 ns"):
        runweir.run("edf", "smp-1", named, duration=5)
    with pytest.raises(ValueError, match="0.5s"):
        runweir.run("edf", "smp-1", named, duration=0.5)
    with pytest.raises(ValueError, match="whole number of nanoseconds"):
        runweir.run("edf", "smp-1", {"task": [{"name": "a", "period": 0.01, "wcet": "1ms"}]})


def test_errors_speak_python(result):
    with pytest.raises(runweir.InputError) as error:
        runweir.run("decentral", "smp-2")
    assert "workload=" in str(error.value) and "--workload" not in str(error.value)
    with pytest.raises(runweir.InputError, match="did you mean `migrations`"):
        runweir.compare(["decentral", "central"], "smp-2", TASKS).values("totals.migration")
    sweep = runweir.sweep(
        {"topology": "edf", "machine": "smp-1", "workload": "periodic", "seeds": 2, "duration": "50ms", "keys": {"tasks": 3, "util": ["50%", "90%"]}}
    )
    assert list(sweep.curve("util")) == list(sweep.curve("keys.util")) == ["edf"]
    with pytest.raises(runweir.InputError, match="did you mean `util`"):
        sweep.curve("utill")


def test_strict_and_allow_code(tmp_path):
    nice = {"duration": "5ms", "task": [{"name": "a", "run": "1ms", "nice": -5}]}
    # What is ignored is in the result, and an error only where that is asked for.
    assert runweir.run("fifo", "smp-1", nice, tables=()).summary["ignored"][0]["setting"] == "nice"
    grid = {"topology": "fifo", "machine": "smp-1", "workload": str(tmp_path / "nice.toml"), "seeds": 1, "duration": "5ms"}
    (tmp_path / "nice.toml").write_text('[[task]]\nname = "a"\nrun = "1ms"\nnice = -5\n')
    (tmp_path / "grid.toml").write_text("".join(f"{k} = {v!r}\n" for k, v in grid.items()))
    for call in (
        lambda: runweir.run("fifo", "smp-1", nice, strict=True),
        lambda: runweir.compare(["linux", "fifo"], "smp-1", nice, strict=True),
        lambda: runweir.sweep(tmp_path / "grid.toml", strict=True),
    ):
        with pytest.raises(runweir.InputError, match="ignores nice values"):
            call()
    # Native code is not looked for before it is allowed; then there is none.
    (tmp_path / "any.so").write_bytes(b"no object")
    code = nice | {"at": [{"time": "1ms", "do": [f"load {tmp_path / 'any.so'}"]}]}
    why = runweir.run("linux", "smp-1", code, tables=()).summary["reconfigurations"][0]["why"]
    assert "native code" in why
    assert "native code" not in runweir.run("linux", "smp-1", code, tables=(), allow_code=True).summary["reconfigurations"][0]["why"]
    # It was allowed for that call only.
    assert "native code" in runweir.run("linux", "smp-1", code, tables=()).summary["reconfigurations"][0]["why"]


def test_figures_and_searches(result, tmp_path):
    assert result.gantt(tmp_path / "a.svg", span=(0, 20_000_000)).read_text().startswith("<svg")
    assert result.gantt(tmp_path / "a.pdf", group="control").read_bytes().startswith(b"%PDF")
    result.save(tmp_path / "out")
    tex = runweir.gantt(tmp_path / "out", tmp_path / "a.tex", span=("0ns", "20ms")).read_text()
    assert "tikzpicture" in tex and "control" in tex
    with pytest.raises(runweir.InputError, match=".svg"):
        runweir.gantt(tmp_path / "out", tmp_path / "a.bmp")
    found = runweir.tune(
        {"machine": "smp-1", "workload": "periodic:tasks=3,util=60%", "topology": ["decentral", "edf"], "duration": "50ms", "trials": 2, "seeds": 1, "held_out": 2}
    )
    assert found.page["objectives"][0][0] == "response_ns.p99" and "trials" in str(found)
    plt = pytest.importorskip("matplotlib.pyplot")
    from runweir import plots

    axes = plots.gantt(result, end_ns=20_000_000)
    assert "control" in [t.get_text() for t in axes.get_yticklabels()]
    assert {"CPU 0", "release", "missed"} <= {t.get_text() for t in axes.get_legend().get_texts()}
    axes = plots.bars(runweir.compare(["decentral", "edf"], "smp-2", TASKS), "response_ns.p99")
    assert axes.get_ylabel() in ("response.p99 (ms)", "response.p99 (us)")
    plt.close("all")
