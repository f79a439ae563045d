# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Build modules with Verilator, and run their benches: run.py FOLDER DECISIONS VERSION CORE. tools/hw-cocotb.sh starts it.

FOLDER has the board's program.hex, and the LiteX SoC in litex/. DECISIONS: of each policy in each size. VERSION: what STATUS should
say. CORE: picorv32.v.
"""

import subprocess
import sys
from pathlib import Path

from cocotb.runner import get_results, get_runner

here = Path(__file__).resolve().parent
hw, work, decisions, version, core = here.parent, Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])
rtl = [hw / "rtl" / line for line in (hw / "rtl/weir.f").read_text().split()]

# Tasks, CPUs, selector, clocks of a decision (docs/hardware.md), PrivilegedOnly, bits of times, ReadBack.
SIZES = [(8, 2, 0, 8 + 6, 1, 16, 1), (5, 3, 1, 4, 0, 8, 0)]


def say(text):
    print(f"hw-cocotb: {text}", file=sys.stderr, flush=True)


def run(name, module, sources, parameters=None, environment=None, plusargs=(), where=here, test=None):
    say(f"{name}: building")
    folder = work / name
    folder.mkdir(exist_ok=True)
    log = folder / "build.log"
    runner = get_runner("verilator")
    try:
        runner.build(
            sources=sources, hdl_toplevel=module, parameters=parameters or {}, build_dir=folder, log_file=log,
            # Lint is for tools/hw-lint.sh; a parameter that a module refuses is an error.
            build_args=["-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-TIMESCALEMOD", "-Werror-USERERROR"],
        )
    except (subprocess.CalledProcessError, SystemExit):
        sys.exit("\n".join(log.read_text().splitlines()[-20:]))
    say(f"{name}: running")
    results = runner.test(
        hdl_toplevel=module, test_module=test or f"{module}_test", test_dir=where, build_dir=folder, plusargs=list(plusargs),
        extra_env={f"WEIR_{k}": str(v) for k, v in (environment or {}).items()}, results_xml=str(folder / "results.xml"),
    )
    tests, failed = get_results(results)
    say(f"{name}: {tests} tests, {failed} failed")
    return failed


failed = 0
for tasks, cpus, select, clocks, privileged, width, read_back in SIZES:
    parameters = {"NumTasks": tasks, "NumCpus": cpus, "Width": width, "Select": select, "PrivilegedOnly": privileged, "ReadBack": read_back}
    environment = {"TASKS": tasks, "CPUS": cpus, "PRIVILEGED_ONLY": privileged, "READ_BACK": read_back, "DECISION_CLOCKS": clocks,
                   "DECISIONS": decisions, "VERSION": version, "PERIODS": "40"}
    size = f"{tasks}x{cpus}"
    failed += run(f"weir_laxity_axil-{size}", "weir_laxity_axil", rtl, parameters, environment)
    failed += run(f"weir_shells-{size}", "weir_shells", [*rtl, here / "weir_shells.sv"], parameters, environment)
# The engine's clock faster and slower than that of the bus (40 ns).
failed += run(f"weir_laxity_axil_cross-{size}", "weir_laxity_axil_cross", rtl, parameters, {**environment, "PERIODS": "14,104"},
              test="weir_laxity_axil_test")
# The whole set and the unified controller: their calls through the shells.
for unified in 0, 1:
    failed += run(f"weir_calls-{'unified' if unified else 'kernel'}", "weir_calls", [*rtl, here / "weir_calls.sv"], {"Unified": unified},
                  {"UNIFIED": unified})
soc = [hw / "soc" / f"{name}.sv" for name in ("weir_soc_device", "weir_soc_core_picorv32", "weir_soc")]
board = [core, *rtl, *soc, *sorted((hw / "board/ulx3s").glob("*.sv"))]
failed += run("weir_ulx3s", "weir_ulx3s", board, {"BitClocks": 16}, {"BIT_CLOCKS": 16, "TICKS": 50},
              [f"+hex={work / 'program.hex'}"])
failed += run("weir_litex", "weir_litex", [core, *rtl, work / "litex/weir_litex.v"], where=work / "litex")
sys.exit(failed != 0)
