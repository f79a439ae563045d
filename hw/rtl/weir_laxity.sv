// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_laxity - a scheduling engine: it follows all tasks, decides at each tick which of them get the CPUs, and interrupts
/// a CPU only if it must switch to another task.
///
/// Policies by register: least laxity first (LLF), earliest deadline first (EDF), EDF until zero laxity (EDZL), modified LLF
/// (MLLF). Rules: decisions leave at ticks only (R1); equals: the task chosen before (R2), then the lowest number (R3); irq_o[c]
/// is high while CPU c does not hold the task that it must run (R4); a task that is chosen again stays on its CPU (R5). A CPU that
/// writes HOLD is in a section that is not preempted: the task that it holds is chosen, for it, and it is not interrupted. The register
/// map is in docs/hardware-registers.md; a read of SCHED hands over a context, so a CPU reads it after it has saved its own.
///
/// twin:     components/distribute/laxity.c, with eager = 0 (hw/models)
/// latency:  bus: answer 2 clocks after the request, effect of a write after 3; tick to new SCHED DecisionClocks, to irq_o one
///           clock more
/// area:     O(NumTasks); what the selectors take is in docs/hardware-evidence.md
/// source:   Mancuso et al., hardware scheduling engine, IV and V; claims, job numbers, sporadic tasks, phases, sections are ours
module weir_laxity #(
  /// Task monitors, 2..64.
  parameter int unsigned NumTasks = 16,
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 2,
  /// Bits of times, in ticks, 4..16.
  parameter int unsigned Width = 16,
  /// How the most urgent tasks are found: 0 one task a clock, 1 all in one clock, 2 pipelined tree.
  parameter int unsigned Select = 0,
  /// Policies that there are, a bit each: LLF, EDF, EDZL, MLLF.
  parameter bit [3:0] Policies = 4'b1111,
  /// Sporadic tasks and deadlines shorter than periods.
  parameter bit Separation = 1'b1,
  /// Counters of tasks can be read.
  parameter bit ReadBack = 1'b1,
  /// CPUs can hold their tasks: register HOLD.
  parameter bit Hold = 1'b0,
  /// Tasks can have budgets: register PARAM3.
  parameter bit Budget = 1'b0,
  /// Tasks can have two levels of criticality: registers PARAM2 and MODE.
  parameter bit Criticality = 1'b0,
  /// Clocks from one tick to the next after reset; TICK sets another number.
  parameter int unsigned TickClocks = 4800,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  /// Dependent, do not override: bits of a task number.
  localparam int unsigned IdWidth = $clog2(NumTasks)
) (
  input  logic                            clk_i,     /// Clock, rising edge.
  input  logic                            rst_ni,    /// Reset, asynchronous, active low.
  input  logic                            req_i,     /// A request; one can come each clock.
  input  logic                            we_i,      /// It writes.
  input  logic [CpuWidth-1:0]             cpu_i,     /// CPU that asks: selects banked registers; below NumCpus.
  input  logic [10:2]                     addr_i,    /// Word address.
  input  logic [31:0]                     wdata_i,   /// What to write.
  output logic                            rvalid_o,  /// Answer to a request, read or write.
  output logic                            err_o,     /// With it: there is no such register, or it cannot be read or written.
  output logic [31:0]                     rdata_o,   /// What was read; 0 after a write.
  output logic [NumCpus-1:0]              irq_o,     /// The CPU has to switch: level, until it has read SCHED.
  output logic                            decided_o, /// One clock: SCHED shows a new decision, maybe the same as before.
  output logic [NumCpus-1:0]              busy_o,    /// The CPU is to run a task.
  output logic [NumCpus-1:0][IdWidth-1:0] task_o     /// Which one.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumTasks < 2 || NumTasks > 64) $error("weir_laxity: NumTasks is 2 to 64, not %0d", NumTasks);
  if (NumCpus < 1 || NumCpus > 8) $error("weir_laxity: NumCpus is 1 to 8, not %0d", NumCpus);
  if (Width < 4 || Width > 16) $error("weir_laxity: Width is 4 to 16, not %0d", Width);
  if (Select > 2) $error("weir_laxity: Select is 0 to 2, not %0d", Select);
  if (Policies == 0) $error("weir_laxity: Policies needs a bit at least, not %0d", Policies);
  if (TickClocks < 1 || TickClocks > 16777215) $error("weir_laxity: TickClocks is 1 to 16777215, not %0d", TickClocks);

  localparam int unsigned JobWidth = 8;
  localparam int unsigned KeyWidth = Width + IdWidth + 5 + 32'(Hold) + 32'(Criticality);
  localparam bit HasDefer = Policies[3];
  localparam int unsigned SelectClocks =
      (Select == 0) ? NumTasks + 3 : (Select == 1) ? 1 : $clog2(NumTasks) + 1;
  // Tick, start, choice, two stages of matching.
  localparam int unsigned DecisionClocks = SelectClocks + 3;
  // A tick finds the decision before made, and all that follows from it.
  localparam int unsigned MinTick = DecisionClocks + 2 + (HasDefer ? NumTasks + 3 : 0);
  localparam int unsigned TickWidth = 24;



  // ------------------------------------------------------------------ request register
  logic                req_q, we_q;
  logic [CpuWidth-1:0] cpu_q;
  logic [10:2]         addr_q;
  logic [31:0]         data_q;
  logic                write, read;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      req_q  <= 1'b0;
      we_q   <= 1'b0;
      cpu_q  <= '0;
      addr_q <= '0;
      data_q <= '0;
    end else begin
      req_q <= req_i;
      if (req_i) begin
        we_q   <= we_i;
        cpu_q  <= cpu_i;
        addr_q <= addr_i;
        data_q <= wdata_i;
      end
    end
  end

  assign write = req_q && we_q;
  assign read  = req_q && !we_q;

  // Data as what it is for.
  weir_regs_pkg::laxity_ctrl_t   to_ctrl;
  weir_regs_pkg::laxity_cmd_t    to_cmd;
  weir_regs_pkg::laxity_done_t   to_done;
  weir_regs_pkg::laxity_hold_t   to_hold;
  weir_regs_pkg::laxity_param0_t param0_q;
  weir_regs_pkg::laxity_param1_t param1_q;
  weir_regs_pkg::laxity_param2_t param2_q;
  weir_regs_pkg::laxity_param3_t param3_q;
  assign to_ctrl = data_q;
  assign to_cmd  = data_q;
  assign to_done = data_q;
  assign to_hold = data_q;

  // ------------------------------------------------------------------ settings
  logic                 run_q, loose_q, roam_q;
  logic [1:0]           policy_q;
  logic [TickWidth-1:0] period_q, clock_q;
  logic [31:0]          ticks_q;
  logic                 tick, refused_q, fits, fits_high, fits_budget, known, take, built, apart;
  logic [7:0]           id;
  logic [3:0]           op;
  logic                 cmd;

  logic [Width-1:0] task_period, task_wcet, task_deadline, task_phase, task_wcet_high, task_virtual;

  assign task_period   = Width'(param0_q.period_f);
  assign task_wcet     = Width'(param0_q.wcet_f);
  assign task_deadline = param1_q.deadline_f == '0 ? task_period : Width'(param1_q.deadline_f);
  assign task_phase    = Width'(param1_q.phase_f);
  assign task_virtual  = param2_q.virtual_f == '0 ? task_deadline : Width'(param2_q.virtual_f);
  assign task_wcet_high = Width'(param2_q.wcet_high_f);

  assign cmd   = write && addr_q == weir_regs_pkg::LaxityCmd;
  assign op    = to_cmd.op_f;
  assign id    = to_cmd.task_f;
  assign known = id < 8'(NumTasks);
  // Execution time below the period (Mancuso et al., II), and no longer than the deadline.
  assign fits  = task_wcet != '0 && task_wcet < task_period && task_wcet <= task_deadline &&
                 task_deadline <= task_period && task_phase != '1 &&
                 (param0_q.period_f >> Width) == '0 && (param0_q.wcet_f >> Width) == '0 &&
                 (param1_q.deadline_f >> Width) == '0 && (param1_q.phase_f >> Width) == '0 &&
                 (Separation || (task_deadline == task_period && !to_cmd.sporadic_f)) && fits_high && fits_budget;
  // The high mode asks for more, the low mode is no stricter than the execution time.
  assign fits_high = !to_cmd.high_f ||
                     (Criticality && task_wcet_high >= task_wcet && task_wcet_high < task_period && task_wcet_high <= task_deadline &&
                      task_virtual >= task_wcet && task_virtual <= task_deadline &&
                      (param2_q.wcet_high_f >> Width) == '0 && (param2_q.virtual_f >> Width) == '0);
  assign fits_budget = param3_q.budget_f == '0 ||
                       (param3_q.budget_f <= param3_q.replenish_f && (param3_q.replenish_f >> Width) == '0);
  assign take  = (known && ((op == weir_regs_pkg::LaxityOpSet && fits) || op == weir_regs_pkg::LaxityOpDelete ||
                            (op == weir_regs_pkg::LaxityOpRelease && Separation))) ||
                 (op == weir_regs_pkg::LaxityOpHigh && Criticality);

  // What cannot be is refused whole, and CMD says so.
  assign built = Policies[to_ctrl.policy_f];
  assign apart = data_q >= 32'(MinTick) && data_q[31:TickWidth] == '0;

  // The first tick is in the clock after CTRL says run.
  assign tick = run_q && clock_q == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      run_q     <= 1'b0;
      loose_q   <= 1'b0;
      roam_q    <= 1'b0;
      policy_q  <= Policies[0] ? weir_regs_pkg::LaxityPolicyLlf : Policies[1] ? weir_regs_pkg::LaxityPolicyEdf : Policies[2] ? weir_regs_pkg::LaxityPolicyEdzl : weir_regs_pkg::LaxityPolicyMllf;
      period_q  <= TickWidth'(TickClocks > MinTick ? TickClocks : MinTick);
      clock_q   <= '0;
      param0_q  <= '0;
      param1_q  <= '0;
      param2_q  <= '0;
      param3_q  <= '0;
      ticks_q   <= '0;
      refused_q <= 1'b0;
    end else begin
      if (!run_q) clock_q <= '0;
      else clock_q <= tick ? period_q - TickWidth'(1) : clock_q - TickWidth'(1);
      if (tick) ticks_q <= ticks_q + 32'd1;
      if (write) begin
        unique case (addr_q)
          weir_regs_pkg::LaxityCtrl: begin
            refused_q <= !built;
            if (built) begin
              run_q    <= to_ctrl.run_f;
              loose_q  <= to_ctrl.loose_f;
              roam_q   <= to_ctrl.roam_f;
              policy_q <= to_ctrl.policy_f;
            end
          end
          weir_regs_pkg::LaxityTick: begin
            refused_q <= !apart;
            if (apart) period_q <= data_q[TickWidth-1:0];
          end
          weir_regs_pkg::LaxityParam0: param0_q <= data_q;
          weir_regs_pkg::LaxityParam1: param1_q <= data_q;
          weir_regs_pkg::LaxityParam2: if (Criticality) param2_q <= data_q;
          weir_regs_pkg::LaxityParam3: if (Budget) param3_q <= data_q;
          weir_regs_pkg::LaxityCmd: refused_q <= !take;
          default: ;
        endcase
      end
    end
  end

  // ------------------------------------------------------------------ monitors
  logic [NumTasks-1:0]               mine, valid, ready, waits, miss, comes, ends, happens, report, drop, chosen;
  logic [NumTasks-1:0][Width:0]      deadline;
  logic [NumTasks-1:0][Width-1:0]    left;
  logic [NumTasks-1:0][JobWidth-1:0] job;
  logic                              done, take_q;
  logic [NumTasks-1:0]               mine_q, set, del;
  logic [3:0]                        op_q;
  logic                              sporadic_q, high_q;

  assign done = write && addr_q == weir_regs_pkg::LaxityDone;

  // Commands and reports are checked in one clock and take effect in the next: the check is a long way.
  for (genvar t = 0; t < NumTasks; t++) begin : gen_mine
    assign mine[t] = (done ? to_done.task_f : id) == 8'(t);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      take_q     <= 1'b0;
      mine_q     <= '0;
      op_q       <= '0;
      sporadic_q <= 1'b0;
      high_q     <= 1'b0;
    end else begin
      take_q     <= cmd && take;
      mine_q     <= mine;
      op_q       <= op;
      sporadic_q <= to_cmd.sporadic_f;
      high_q     <= to_cmd.high_f;
    end
  end
  assign set = take_q && op_q == weir_regs_pkg::LaxityOpSet ? mine_q : '0;
  assign del = take_q && op_q == weir_regs_pkg::LaxityOpDelete ? mine_q : '0;

  for (genvar t = 0; t < NumTasks; t++) begin : gen_task
    // What takes effect at the next clock edge counts in a decision that is made at the same time.
    assign drop[t] = report[t] || set[t] || del[t];
    weir_laxity_monitor #(.Width(Width), .JobWidth(JobWidth), .Separation(Separation)) u_monitor (
      .clk_i, .rst_ni,
      .tick_i(tick),
      .set_i(set[t]),
      .del_i(del[t]),
      .period_i(task_period),
      .wcet_i(Criticality && high_q ? task_wcet_high : task_wcet),
      .deadline_i(task_deadline),
      .phase_i(task_phase),
      .sporadic_i(sporadic_q),
      .release_i(take_q && op_q == weir_regs_pkg::LaxityOpRelease && mine_q[t]),
      .done_i(done && mine[t]),
      .done_job_i(JobWidth'(to_done.job_f)),
      .chosen_i(chosen[t]),
      .valid_o(valid[t]),
      .ready_o(ready[t]),
      .deadline_o(deadline[t]),
      .left_o(left[t]),
      .job_o(job[t]),
      .report_o(report[t]),
      .waits_o(waits[t]),
      .miss_o(miss[t]),
      .come_o(comes[t]),
      .end_o(ends[t]),
      .event_o(happens[t])
    );
  end

  // ------------------------------------------------------------------ budgets
  // A task that is able has a job and is not withheld.
  logic [NumTasks-1:0] empty, able, turns;

  for (genvar t = 0; t < NumTasks; t++) begin : gen_budget
    if (Budget) begin : gen_server
      logic turn;
      weir_laxity_budget #(.Width(Width)) u_budget (
        .clk_i, .rst_ni,
        .tick_i(tick),
        .set_i(set[t] || del[t]),
        .budget_i(del[t] ? Width'(0) : Width'(param3_q.budget_f)),
        .replenish_i(Width'(param3_q.replenish_f)),
        .come_i(comes[t]),
        .works_i(chosen[t] && ready[t] && !report[t]),
        .empty_o(empty[t]),
        .event_o(turn)
      );
      assign turns[t] = turn && ready[t];
    end else begin : gen_no_server
      assign empty[t] = 1'b0;
      assign turns[t] = 1'b0;
    end
  end
  assign able = ready & ~empty;

  // ------------------------------------------------------------------ levels of criticality
  logic [NumTasks-1:0]            high, aside;
  logic                           mode, changes;
  logic [15:0]                    switches;
  // As decisions see them.
  logic [NumTasks-1:0][Width:0]   deadline_now;
  logic [NumTasks-1:0][Width-1:0] left_now;

  if (Criticality) begin : gen_criticality
    logic as_high;
    assign as_high = high_q && op_q == weir_regs_pkg::LaxityOpSet;
    weir_laxity_criticality #(.NumTasks(NumTasks), .Width(Width)) u_criticality (
      .clk_i, .rst_ni,
      .tick_i(tick),
      .raise_i(take_q && op_q == weir_regs_pkg::LaxityOpHigh),
      .set_i(set | del),
      .high_i(as_high),
      .extra_i(as_high ? task_wcet_high - task_wcet : Width'(0)),
      .cut_i(as_high ? task_deadline - task_virtual : Width'(0)),
      .ready_i(ready),
      .come_i(comes),
      .end_i(ends),
      .chosen_i(chosen),
      .deadline_i(deadline),
      .left_i(left),
      .deadline_o(deadline_now),
      .left_o(left_now),
      .high_o(high),
      .aside_o(aside),
      .mode_o(mode),
      .switches_o(switches),
      .event_o(changes)
    );
  end else begin : gen_one_level
    assign deadline_now = deadline;
    assign left_now     = left;
    assign high         = '0;
    assign aside        = '0;
    assign mode         = 1'b0;
    assign switches     = '0;
    assign changes      = 1'b0;
    logic unused_level;
    assign unused_level = ^{ends, high_q, task_wcet_high, task_virtual};
  end
  if (!Budget && !Criticality) begin : gen_no_extras
    logic unused_comes;
    assign unused_comes = ^comes;
  end

  // ------------------------------------------------------------------ when to decide
  logic start_q, due, happens_q;

  // Events are gathered in a register: those of the tick's own clock come with start_q.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      start_q   <= 1'b0;
      happens_q <= 1'b0;
    end else begin
      start_q   <= tick;
      happens_q <= |happens || |turns || changes;
    end
  end

  if (HasDefer) begin : gen_defer
    logic put_off;
    weir_laxity_defer #(.NumTasks(NumTasks), .Width(Width)) u_defer (
      .clk_i, .rst_ni,
      .start_i(decided_o),
      .tick_i(start_q),
      .event_i(happens_q),
      .ready_i(able),
      .deadline_i(deadline_now),
      .left_i(left_now),
      .due_o(put_off)
    );
    assign due = start_q && (put_off || policy_q != weir_regs_pkg::LaxityPolicyMllf);
  end else begin : gen_always
    logic unused_happens;
    assign unused_happens = happens_q;
    assign due = start_q;
  end

  // ------------------------------------------------------------------ sections that are not preempted
  logic [NumCpus-1:0]              hold_q, holds, keeps;
  logic [NumCpus-1:0][IdWidth-1:0] held;
  // What a CPU holds is the context that it has claimed, whatever it should run by now.
  assign keeps = hold_q & holds;

  if (Hold) begin : gen_hold
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) hold_q <= '0;
      else if (write && addr_q == weir_regs_pkg::LaxityHold) hold_q[cpu_q] <= to_hold.hold_f;
    end
  end else begin : gen_no_hold
    assign hold_q = '0;
  end

  // ------------------------------------------------------------------ choice
  logic                              found;
  logic [NumCpus-1:0][KeyWidth-1:0]  best;
  logic [NumCpus-1:0]                some;
  logic [NumCpus-1:0][IdWidth-1:0]   best_id;
  logic                              edf, edzl;

  assign edf  = policy_q == weir_regs_pkg::LaxityPolicyEdf;
  assign edzl = policy_q == weir_regs_pkg::LaxityPolicyEdzl;

  if (Select == 0) begin : gen_serial
    logic [IdWidth-1:0]  idx, id_q;
    logic                ready_q, chosen_q, keeps_q, aside_q, kept;
    logic [Width:0]      deadline_q;
    logic [Width-1:0]    left_q;
    logic [KeyWidth-1:0] key;

    always_comb begin
      kept = 1'b0;
      for (int unsigned c = 0; c < NumCpus; c++) if (keeps[c] && held[c] == idx) kept = 1'b1;
    end
    always_ff @(posedge clk_i) begin
      id_q       <= idx;
      keeps_q    <= kept;
      aside_q    <= aside[idx];
      ready_q    <= able[idx];
      chosen_q   <= chosen[idx] && !loose_q;
      deadline_q <= deadline_now[idx];
      left_q     <= left_now[idx];
    end
    weir_laxity_key #(.Width(Width), .IdWidth(IdWidth), .Hold(Hold), .Criticality(Criticality)) u_key (
      .ready_i(ready_q), .hold_i(keeps_q), .aside_i(aside_q), .deadline_i(deadline_q), .left_i(left_q), .chosen_i(chosen_q),
      .id_i(id_q), .edf_i(edf), .edzl_i(edzl), .key_o(key)
    );
    weir_select_serial #(.NumIn(NumTasks), .NumOut(NumCpus), .KeyWidth(KeyWidth)) u_select (
      .clk_i, .rst_ni, .start_i(due), .idx_o(idx), .key_i(key), .valid_o(found), .best_o(best)
    );
  end else begin : gen_tree
    logic [NumTasks-1:0][KeyWidth-1:0] keys;
    for (genvar t = 0; t < NumTasks; t++) begin : gen_key
      logic kept;
      always_comb begin
        kept = 1'b0;
        for (int unsigned c = 0; c < NumCpus; c++) if (keeps[c] && held[c] == IdWidth'(t)) kept = 1'b1;
      end
      weir_laxity_key #(.Width(Width), .IdWidth(IdWidth), .Hold(Hold), .Criticality(Criticality)) u_key (
        .ready_i(able[t]), .hold_i(kept), .aside_i(aside[t]), .deadline_i(deadline_now[t]), .left_i(left_now[t]),
        .chosen_i(chosen[t] && !loose_q), .id_i(IdWidth'(t)), .edf_i(edf), .edzl_i(edzl), .key_o(keys[t])
      );
    end
    weir_select_tree #(
      .NumIn(NumTasks), .NumOut(NumCpus), .KeyWidth(KeyWidth), .Pipelined(Select == 2)
    ) u_select (
      .clk_i, .rst_ni, .start_i(due), .keys_i(keys), .valid_o(found), .best_o(best)
    );
  end

  for (genvar c = 0; c < NumCpus; c++) begin : gen_best
    assign some[c]    = !best[c][KeyWidth-1];
    assign best_id[c] = best[c][IdWidth-1:0];
  end

  weir_laxity_match #(.NumTasks(NumTasks), .NumCpus(NumCpus), .IdWidth(IdWidth)) u_match (
    .clk_i, .rst_ni,
    .valid_i(found),
    .some_i(some),
    .best_i(best_id),
    .ready_i(able),
    .drop_i(drop),
    .stay_i(!roam_q),
    .hold_i(keeps),
    .held_i(held),
    .decided_o(decided_o),
    .busy_o(busy_o),
    .task_o(task_o),
    .chosen_o(chosen)
  );

  // ------------------------------------------------------------------ contexts and interrupts
  logic                            claim, waits_for;
  logic [NumCpus-1:0]              irq_d, irq_q;

  assign claim = read && addr_q == weir_regs_pkg::LaxitySched;

  weir_laxity_context #(.NumCpus(NumCpus), .IdWidth(IdWidth)) u_context (
    .clk_i, .rst_ni,
    .claim_i(claim), .cpu_i(cpu_q), .busy_i(busy_o[cpu_q]), .task_i(task_o[cpu_q]),
    .wait_o(waits_for), .holds_o(holds), .held_o(held)
  );

  for (genvar c = 0; c < NumCpus; c++) begin : gen_irq
    assign irq_d[c] = busy_o[c] != holds[c] || (busy_o[c] && task_o[c] != held[c]);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) irq_q <= '0;
    else irq_q <= irq_d & ~hold_q;
  end
  assign irq_o = irq_q;

  // ------------------------------------------------------------------ misses
  logic [NumTasks-1:0] missed_q, miss_q;
  logic [31:0]         misses_q;
  logic [6:0]          count, count_q;
  logic [63:0]         ready64, missed64;
  logic [NumTasks-1:0] clear;

  always_comb begin
    count = '0;
    for (int unsigned t = 0; t < NumTasks; t++) count = count + {6'd0, miss_q[t]};
  end

  always_comb begin
    clear = '0;
    if (write && addr_q == weir_regs_pkg::LaxityMissed) clear = NumTasks'(data_q);
    if (write && addr_q == weir_regs_pkg::LaxityMissed + 9'(weir_regs_pkg::LaxityMissedStride)) clear = NumTasks'({data_q, 32'd0});
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      missed_q <= '0;
      miss_q   <= '0;
      misses_q <= '0;
      count_q  <= '0;
    end else begin
      miss_q   <= miss;
      count_q  <= count;
      misses_q <= misses_q + {25'd0, count_q};
      missed_q <= (missed_q & ~clear) | miss;
    end
  end

  assign ready64  = 64'(ready);
  assign missed64 = 64'(missed_q);

  // ------------------------------------------------------------------ answers
  logic [31:0]        sched, state, answer;
  logic [IdWidth-1:0] here, asked;
  logic [15:0]        shown_left, shown_deadline;
  logic [10:2]        beyond;
  logic               of_task, absent, writable;

  // Two words a task, from STATE on. One multiplexer for SCHED, PEEK and the state of a task.
  assign beyond  = addr_q - weir_regs_pkg::LaxityState;
  assign of_task = addr_q >= weir_regs_pkg::LaxityState && 32'(beyond) / weir_regs_pkg::LaxityStateStride < NumTasks;
  assign here    = task_o[cpu_q];
  assign asked   = of_task ? IdWidth'(32'(beyond) / weir_regs_pkg::LaxityStateStride) : here;
  assign sched   = weir_regs_pkg::laxity_sched(irq_d[cpu_q], !busy_o[cpu_q], waits_for, 8'(job[asked]), 8'(here));
  assign state   = weir_regs_pkg::laxity_state(valid[asked], ready[asked], chosen[asked], missed_q[asked], waits[asked],
                                               empty[asked], aside[asked], high[asked], 8'(job[asked]), 8'(asked));

  if (ReadBack) begin : gen_read_back
    assign shown_left     = 16'(left[asked]);
    assign shown_deadline = 16'($signed(deadline[asked]));
  end else begin : gen_no_read_back
    assign shown_left     = '0;
    assign shown_deadline = '0;
  end
  // DONE is there to be written only, and has no answer below.
  always_comb begin
    unique case (addr_q)
      weir_regs_pkg::LaxityCtrl, weir_regs_pkg::LaxityTick, weir_regs_pkg::LaxityParam0, weir_regs_pkg::LaxityParam1,
      weir_regs_pkg::LaxityCmd, weir_regs_pkg::LaxityDone, weir_regs_pkg::LaxityMissed,
      weir_regs_pkg::LaxityMissed + 9'(weir_regs_pkg::LaxityMissedStride): writable = 1'b1;
      weir_regs_pkg::LaxityHold: writable = Hold;
      weir_regs_pkg::LaxityParam2: writable = Criticality;
      weir_regs_pkg::LaxityParam3: writable = Budget;
      default: writable = 1'b0;
    endcase
  end

  always_comb begin
    answer = '0;
    absent = 1'b0;
    unique case (addr_q)
      weir_regs_pkg::LaxityCtrl:   answer = weir_regs_pkg::laxity_ctrl(roam_q, loose_q, policy_q, run_q);
      weir_regs_pkg::LaxityTick:   answer = weir_regs_pkg::laxity_tick(period_q);
      weir_regs_pkg::LaxityParam0: answer = param0_q;
      weir_regs_pkg::LaxityParam1: answer = param1_q;
      weir_regs_pkg::LaxityCmd:    answer = {31'd0, refused_q};
      weir_regs_pkg::LaxitySched, weir_regs_pkg::LaxityPeek: answer = sched;
      weir_regs_pkg::LaxityCpu:    answer = 32'(cpu_q);
      weir_regs_pkg::LaxityStatus: answer = weir_regs_pkg::laxity_status(weir_regs_pkg::LaxityVersionMajor,
        weir_regs_pkg::LaxityVersionMinor, Budget, Hold, ReadBack, Separation, Policies, Criticality, 4'(NumCpus), 8'(NumTasks));
      weir_regs_pkg::LaxityTicks:  answer = ticks_q;
      weir_regs_pkg::LaxityMisses: answer = misses_q;
      weir_regs_pkg::LaxityReady:  answer = ready64[31:0];
      weir_regs_pkg::LaxityReady + 9'(weir_regs_pkg::LaxityReadyStride): answer = ready64[63:32];
      weir_regs_pkg::LaxityMissed: answer = missed64[31:0];
      weir_regs_pkg::LaxityMissed + 9'(weir_regs_pkg::LaxityMissedStride): answer = missed64[63:32];
      weir_regs_pkg::LaxityHold: begin
        absent = !Hold;
        answer = weir_regs_pkg::laxity_hold(hold_q[cpu_q]);
      end
      weir_regs_pkg::LaxityParam2: begin
        absent = !Criticality;
        answer = param2_q;
      end
      weir_regs_pkg::LaxityParam3: begin
        absent = !Budget;
        answer = param3_q;
      end
      weir_regs_pkg::LaxityMode: begin
        absent = !Criticality;
        answer = weir_regs_pkg::laxity_mode(switches, mode);
      end
      weir_regs_pkg::LaxityClocks: answer = weir_regs_pkg::laxity_clocks(16'(MinTick), 16'(DecisionClocks));
      default: begin
        absent = !of_task;
        if (of_task) answer = 32'(beyond) % weir_regs_pkg::LaxityStateStride == 0 ? state : weir_regs_pkg::laxity_counters(shown_left, shown_deadline);
      end
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rvalid_o <= 1'b0;
      err_o    <= 1'b0;
      rdata_o  <= '0;
    end else begin
      rvalid_o <= req_q;
      err_o    <= req_q && (we_q ? !writable : absent);
      if (req_q) rdata_o <= we_q ? '0 : answer;
    end
  end

  // Holes of what is written.
  logic unused;
  assign unused = ^{to_ctrl, to_cmd, to_done, to_hold};
endmodule
