// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_lists - a thread scheduler: one list per priority, first come first served within it, called by reading.
///
/// Each call is one read of a word whose address holds the command and its arguments, and whose data is the answer, so the bus
/// makes calls atomic. A CPU is interrupted only while a thread strictly more urgent than its current one is queued and its
/// preemption is on; of several CPUs, only the one that runs the least. So the most urgent threads run, as many as there are CPUs.
/// Greater numbers are more urgent. Removing a thread from the middle of its list takes constant time.
///
/// Word address, from bit 2: command (4 bits), thread (8), argument (8). Commands and answers: docs/hardware-registers.md.
///
/// twin:     components/order/priority_order.c, priorities set while a task does not wait (hw/models)
/// latency:  every answer within 8 clocks of the request; irq_o follows an answer within 3 clocks
/// area:     five memories of NumThreads or NumLevels words of 8 bits, one bit per level and per thread, a comparator per pair of CPUs
/// source:   Preston, 2011, 3.2.4; constant-time removal, current threads and errors are ours
module weir_lists #(
  /// Threads, 2..256, a power of two.
  parameter int unsigned NumThreads = 256,
  /// Priorities, 2..256, a power of two.
  parameter int unsigned NumLevels = 256,
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 1,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  /// Dependent, do not override: bits of a thread number.
  localparam int unsigned IdWidth = $clog2(NumThreads),
  /// Dependent, do not override: bits of a priority.
  localparam int unsigned LevelWidth = $clog2(NumLevels)
) (
  input  logic                clk_i,    /// Clock, rising edge.
  input  logic                rst_ni,   /// Reset, asynchronous, active low: nothing is queued, thread 0 idles, preemption is off.
  input  logic                req_i,    /// A call; the next one only after its answer.
  input  logic [CpuWidth-1:0] cpu_i,    /// With it: the CPU that calls; below NumCpus.
  input  logic [21:2]         addr_i,   /// Word address: the call.
  output logic                rvalid_o, /// The answer.
  output logic [31:0]         rdata_o,  /// Its value.
  input  logic [NumCpus-1:0]  stop_i,   /// The CPU's thread may not run any more: interrupt it.
  output logic [NumCpus-1:0]  irq_o     /// Something more urgent than the CPU's thread waits, and that is the least urgent one: level.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumThreads < 2 || NumThreads > 256 || (NumThreads & (NumThreads - 1)) != 0)
    $error("weir_lists: NumThreads is a power of two, 2 to 256, not %0d", NumThreads);
  if (NumLevels < 2 || NumLevels > 256 || (NumLevels & (NumLevels - 1)) != 0)
    $error("weir_lists: NumLevels is a power of two, 2 to 256, not %0d", NumLevels);
  if (NumCpus < 1 || NumCpus > 8) $error("weir_lists: NumCpus is 1 to 8, not %0d", NumCpus);

  typedef logic [IdWidth-1:0]    id_t;
  typedef logic [LevelWidth-1:0] level_t;
  // Rest: wait until the highest level is known. Head: its first thread. Thread: that thread's state. Change: link it to its
  // list or unlink it. Relink: the ends of the other list, in a change of priority.
  typedef enum logic [2:0] {Idle, Rest, Head, Thread, Change, Relink} state_e;

  state_e state_q;
  weir_regs_pkg::address_call_t call;
  assign call = addr_i;
  logic [3:0] cmd_q;
  id_t    id_q;
  logic [7:0] arg_q;
  logic   again_q;
  level_t before_q;
  logic [CpuWidth-1:0] cpu_q;
  logic [1:0] rest_q;

  // ------------------------------------------------------------------ memories: one read and one write port each
  level_t prio_mem[NumThreads];
  id_t    next_mem[NumThreads];
  id_t    prev_mem[NumThreads];
  id_t    head_mem[NumLevels];
  id_t    tail_mem[NumLevels];

  logic   prio_we, next_we, prev_we, head_we, tail_we;
  id_t    thread_addr, next_waddr, next_wdata, prev_waddr, prev_wdata, head_wdata, tail_wdata;
  level_t level_addr, prio, prio_wdata, list;
  id_t    next, prev, head, tail;

  always_ff @(posedge clk_i) begin
    prio <= prio_mem[thread_addr];
    next <= next_mem[thread_addr];
    prev <= prev_mem[thread_addr];
    head <= head_mem[level_addr];
    tail <= tail_mem[level_addr];
    if (prio_we) prio_mem[id_q] <= prio_wdata;
    if (next_we) next_mem[next_waddr] <= next_wdata;
    if (prev_we) prev_mem[prev_waddr] <= prev_wdata;
    if (head_we) head_mem[list] <= head_wdata;
    if (tail_we) tail_mem[list] <= tail_wdata;
  end

  // ------------------------------------------------------------------ which level is the highest: two stages
  localparam int unsigned Group = (NumLevels > 16) ? 16 : NumLevels;
  localparam int unsigned Groups = NumLevels / Group;
  localparam int unsigned GroupWidth = $clog2(Group);

  logic [NumLevels-1:0]               some_q;
  logic [NumThreads-1:0]              queued_q;
  logic [Groups-1:0]                  group_q;
  logic [Groups-1:0][GroupWidth-1:0]  within_q;
  logic                               top_valid_q;
  level_t                             top_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      group_q     <= '0;
      within_q    <= '0;
      top_valid_q <= 1'b0;
      top_q       <= '0;
    end else begin
      // The two clocks after a change.
      if (rest_q == 2'd3) begin
        for (int unsigned g = 0; g < Groups; g++) begin
          group_q[g] <= |some_q[g*Group+:Group];
          for (int unsigned i = 0; i < Group; i++) if (some_q[g*Group+i]) within_q[g] <= GroupWidth'(i);
        end
      end
      if (rest_q == 2'd2) begin
        top_valid_q <= |group_q;
        for (int unsigned g = 0; g < Groups; g++)
          if (group_q[g]) top_q <= LevelWidth'(g * Group) | LevelWidth'(within_q[g]);
      end
    end
  end

  // ------------------------------------------------------------------ calls
  logic   unlink, link, front, only, first, last, was_queued, moves, sets;
  level_t level_q;

  assign was_queued = queued_q[id_q];
  assign list       = level_q;
  assign first      = head == id_q;
  assign last       = tail == id_q;
  assign only       = first && last;
  // A change of priority of a queued thread unlinks it, and links it again. RAISE changes it to greater ones only.
  assign moves  = cmd_q == weir_regs_pkg::ListsSetPriority || cmd_q == weir_regs_pkg::ListsRaise;
  assign sets   = cmd_q == weir_regs_pkg::ListsSetPriority || (cmd_q == weir_regs_pkg::ListsRaise && LevelWidth'(arg_q) > prio);
  assign unlink = state_q == Change && (cmd_q == weir_regs_pkg::ListsDequeue || cmd_q == weir_regs_pkg::ListsNext || (moves && !again_q));
  assign link   = state_q == Change && !unlink;
  // A preempted thread goes before its equals.
  assign front  = cmd_q == weir_regs_pkg::ListsEnqueue && arg_q[0];

  assign thread_addr = state_q == Head ? head : (state_q == Idle ? IdWidth'(call.thread_f) : id_q);
  assign level_addr  = state_q == Rest ? top_q : (state_q == Thread ? prio : level_q);

  always_comb begin
    prio_we    = 1'b0;
    prio_wdata = LevelWidth'(arg_q);
    // At the end of its list a thread comes behind the last one, at its front before the first; in the middle its neighbours
    // are joined.
    next_we    = (link && some_q[level_q]) || (unlink && !first && !last);
    next_waddr = link ? (front ? id_q : tail) : prev;
    next_wdata = link ? (front ? head : id_q) : next;
    prev_we    = (link && some_q[level_q]) || (unlink && !first && !last);
    prev_waddr = link ? (front ? head : id_q) : next;
    prev_wdata = link ? (front ? id_q : tail) : prev;
    head_we    = (link && (front || !some_q[level_q])) || (unlink && first && !only);
    head_wdata = link ? id_q : next;
    tail_we    = (link && (!front || !some_q[level_q])) || (unlink && last && !only);
    tail_wdata = link ? id_q : prev;
    if (state_q == Thread && sets) prio_we = 1'b1;
  end

  logic   runs, may;
  id_t    current, idle;
  level_t current_level;
  weir_cpus #(.NumCpus(NumCpus), .IdWidth(IdWidth), .RankWidth(LevelWidth)) u_cpus (
    .clk_i, .rst_ni, .cpu_i(cpu_q), .run_i(state_q == Thread && cmd_q == weir_regs_pkg::ListsNext),
    .rest_i(state_q == Rest && rest_q == '0 && !top_valid_q), .set_idle_i(state_q == Thread && cmd_q == weir_regs_pkg::ListsSetIdle),
    .set_may_i(state_q == Thread && cmd_q == weir_regs_pkg::ListsPreemption), .may_i(arg_q[0]),
    .ranked_i(state_q == Thread && sets), .id_i(id_q), .rank_i(sets ? LevelWidth'(arg_q) : prio),
    .runs_o(runs), .current_o(current), .rank_o(current_level), .idle_o(idle), .may_o(may),
    .waits_i(state_q == Idle && rest_q == '0 && top_valid_q), .first_i(top_q), .stop_i, .irq_o
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q         <= Idle;
      cmd_q           <= '0;
      id_q            <= '0;
      arg_q           <= '0;
      cpu_q           <= '0;
      level_q         <= '0;
      before_q        <= '0;
      again_q         <= 1'b0;
      rest_q          <= '0;
      some_q          <= '0;
      queued_q        <= '0;
      rvalid_o        <= 1'b0;
      rdata_o         <= '0;
    end else begin
      rvalid_o <= 1'b0;
      rdata_o  <= '0;
      if (rest_q != '0) rest_q <= rest_q - 2'd1;
      unique case (state_q)
        Idle: if (req_i) begin
          cmd_q   <= call.command_f;
          id_q    <= IdWidth'(call.thread_f);
          arg_q   <= call.argument_f;
          cpu_q   <= cpu_i;
          again_q <= 1'b0;
          state_q <= call.command_f == weir_regs_pkg::ListsNext ? Rest : Thread;
        end
        Rest: if (rest_q == '0) begin
          state_q <= Head;
          if (!top_valid_q) begin
            rvalid_o  <= 1'b1;
            rdata_o   <= weir_regs_pkg::lists_next(1'b1, 8'd0, 8'(idle));
            state_q   <= Idle;
          end
        end
        Head: begin
          // The first thread is known now, and looked up.
          state_q <= Thread;
          id_q    <= head;
        end
        Thread: begin
          level_q  <= prio;
          before_q <= prio;
          unique case (cmd_q)
            weir_regs_pkg::ListsEnqueue: if (was_queued) begin
              rdata_o  <= 32'd1;
              rvalid_o <= 1'b1;
              state_q  <= Idle;
            end else state_q <= Change;
            weir_regs_pkg::ListsDequeue: if (!was_queued) begin
              rdata_o  <= 32'd1;
              rvalid_o <= 1'b1;
              state_q  <= Idle;
            end else state_q <= Change;
            weir_regs_pkg::ListsNext: state_q <= Change;
            weir_regs_pkg::ListsSetPriority, weir_regs_pkg::ListsRaise: begin
              if (sets && was_queued) state_q <= Change;
              else begin
                if (cmd_q == weir_regs_pkg::ListsRaise) rdata_o <= 32'(prio);
                rvalid_o <= 1'b1;
                state_q  <= Idle;
              end
            end
            default: begin
              rvalid_o <= 1'b1;
              state_q  <= Idle;
              unique case (cmd_q)
                weir_regs_pkg::ListsIsEmpty:     rdata_o <= {31'd0, some_q == '0};
                weir_regs_pkg::ListsIsQueued:    rdata_o <= {31'd0, was_queued};
                weir_regs_pkg::ListsGetPriority: rdata_o <= 32'(prio);
                weir_regs_pkg::ListsGetEntry:    rdata_o <= weir_regs_pkg::lists_entry(was_queued, 8'(prio), 8'(next), 8'(prev));
                weir_regs_pkg::ListsPreemption:  rdata_o <= {31'd0, may};
                weir_regs_pkg::ListsSetIdle: ;
                weir_regs_pkg::ListsGetIdle: rdata_o <= 32'(idle);
                weir_regs_pkg::ListsCurrent: rdata_o <= weir_regs_pkg::lists_next(!runs, 8'(current_level), 8'(current));
                default: rdata_o <= '1;
              endcase
            end
          endcase
        end
        Change: begin
          if (unlink) begin
            queued_q[id_q] <= 1'b0;
            if (only) some_q[level_q] <= 1'b0;
          end else begin
            queued_q[id_q]  <= 1'b1;
            some_q[level_q] <= 1'b1;
          end
          rest_q <= 2'd3;
          if (moves && !again_q) begin
            again_q <= 1'b1;
            level_q <= LevelWidth'(arg_q);
            state_q <= Relink;
          end else begin
            rvalid_o <= 1'b1;
            if (cmd_q == weir_regs_pkg::ListsRaise) rdata_o <= 32'(before_q);
            if (cmd_q == weir_regs_pkg::ListsNext) rdata_o <= weir_regs_pkg::lists_next(1'b0, 8'(level_q), 8'(id_q));
            state_q <= Idle;
          end
        end
        Relink: state_q <= Change;
        default: state_q <= Idle;
      endcase
    end
  end

`ifdef FORMAL
  // Proofs begin with all priorities 0, so that they need not be set one by one.
  initial for (int unsigned t = 0; t < NumThreads; t++) prio_mem[t] = '0;

`ifndef PROMISES_ONLY
  // What the memories have to say: which threads are in which list, and behind which. These are steps of the induction for each module
  // with this scheduler; they look at each pair of threads, so they are for few.
  localparam bit          Steps  = NumThreads <= 8 && NumLevels <= 8;
  localparam int unsigned Few    = Steps ? NumThreads : 0;
  localparam int unsigned Levels = Steps ? NumLevels : 0;
  logic [NumThreads-1:0][LevelWidth-1:0] at_q, prios;
  logic [NumThreads-1:0][NumThreads-1:0] older_q;
  logic [NumLevels-1:0][NumThreads-1:0]  waiting;
  level_t                                highest;
  always_comb begin
    waiting = '0;
    highest = '0;
    for (int l = 0; l < Levels; l++) begin
      for (int t = 0; t < Few; t++) waiting[l][t] = queued_q[t] && at_q[t] == LevelWidth'(l);
      if (some_q[l]) highest = LevelWidth'(l);
    end
    prios = '0;
    for (int t = 0; t < Few; t++) prios[t] = prio_mem[t];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      at_q    <= '0;
      older_q <= '0;
    end else if (link) begin
      at_q[id_q] <= level_q;
      for (int t = 0; t < Few; t++) older_q[t][id_q] <= front && IdWidth'(t) != id_q;
      older_q[id_q] <= front ? '0 : waiting[level_q];
    end
  end
  always_comb if (rst_ni && Steps) begin
    // What is read of the memories.
    if (state_q == Head) assert (some_q[top_q] && head == head_mem[top_q]);
    if (state_q == Thread) assert (prio == prio_mem[id_q] && next == next_mem[id_q] && prev == prev_mem[id_q]);
    if (state_q == Thread && cmd_q == weir_regs_pkg::ListsNext) assert (queued_q[id_q] && prio == highest && id_q == head_mem[highest]);
    if (state_q == Change) begin
      assert (!some_q[level_q] || (head == head_mem[level_q] && tail == tail_mem[level_q]));
      if (unlink) assert (queued_q[id_q] && level_q == at_q[id_q] && next == next_mem[id_q] && prev == prev_mem[id_q]);
      if (link) assert (!queued_q[id_q] && level_q == prio_mem[id_q]);
    end
    if (state_q == Rest || state_q == Head) assert (cmd_q == weir_regs_pkg::ListsNext);
    if (state_q == Relink || again_q) assert (moves);
    if (state_q == Relink) assert (again_q && !queued_q[id_q] && level_q == prio_mem[id_q]);
    if (again_q) assert (state_q == Relink || state_q == Change || state_q == Idle);
    if (state_q == Change) assert (cmd_q == weir_regs_pkg::ListsEnqueue || cmd_q == weir_regs_pkg::ListsDequeue || cmd_q == weir_regs_pkg::ListsNext || moves);
    // The highest level, two clocks after a change.
    for (int g = 0; g < (Steps ? Groups : 0); g++)
      if (rest_q <= 2'd2) begin
        assert (group_q[g] == |some_q[g*Group+:Group]);
        for (int i = 0; i < Group; i++)
          if (some_q[g*Group+i]) assert (within_q[g] >= GroupWidth'(i) && some_q[g*Group+32'(within_q[g])]);
      end
    if (rest_q <= 2'd1) assert (top_valid_q == |some_q && (!top_valid_q || top_q == highest));
    for (int l = 0; l < Levels; l++) begin
      assert (some_q[l] == |waiting[l]);
      if (some_q[l]) begin
        assert (waiting[l][head_mem[l]] && (older_q[head_mem[l]] & waiting[l]) == '0);
        assert (waiting[l][tail_mem[l]] &&
                (older_q[tail_mem[l]] & waiting[l]) == (waiting[l] & ~(NumThreads'(1) << tail_mem[l])));
      end
      for (int t = 0; t < Few; t++)
        if (waiting[l][t]) begin
          assert (!older_q[t][t]);
          for (int u = 0; u < Few; u++) if (u != t && waiting[l][u]) assert (older_q[t][u] != older_q[u][t]);
          if (tail_mem[l] != IdWidth'(t))
            assert (waiting[l][next_mem[t]] && (older_q[next_mem[t]] & waiting[l]) ==
                    ((older_q[t] & waiting[l]) | (NumThreads'(1) << t)));
          if (head_mem[l] != IdWidth'(t))
            assert (waiting[l][prev_mem[t]] && (older_q[t] & waiting[l]) ==
                    ((older_q[prev_mem[t]] & waiting[l]) | (NumThreads'(1) << prev_mem[t])));
          // A priority is written a clock before the thread leaves its list.
          if (!(state_q == Change && moves && !again_q && id_q == IdWidth'(t))) assert (prio_mem[t] == at_q[t]);
        end
    end
  end
`endif
`endif

  // Of a smaller configuration not all bits of arguments count.
  logic unused;
  assign unused = ^{call, arg_q};
endmodule
