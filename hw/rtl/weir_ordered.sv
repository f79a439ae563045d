// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_ordered - a thread scheduler whose threads have keys: of one priority, the one with the least key goes first, as by deadline.
///
/// It takes the place of weir_lists, with the same calls but GET_ENTRY, and keys: SET_KEY, a store, and GET_KEY. With one priority for
/// all it is EDF, with one key for all it is weir_lists. Of equals the first that came goes first, and one that was preempted before them.
/// The queue behind it is a keyed pipe.
///
/// twin:     components/order/edf.c, deadlines set while a task does not wait (hw/models)
/// latency:  every answer within 4 clocks of the request; irq_o follows an answer within 4 clocks
/// area:     that of the queue, and two memories of NumThreads words
/// source:   ours
module weir_ordered #(
  /// Threads, 2..256, a power of two.
  parameter int unsigned NumThreads = 32,
  /// Priorities, 2..256, a power of two.
  parameter int unsigned NumLevels = 256,
  /// Bits of a key, 1..32.
  parameter int unsigned KeyWidth = 32,
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 1,
  /// 1: the queue is weir_pq_systolic, which is as fast at any size; 0: weir_pq_array.
  parameter bit Systolic = 1'b1,
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
  input  logic                we_i,     /// With it: a store.
  input  logic [CpuWidth-1:0] cpu_i,    /// With it: the CPU that calls; below NumCpus.
  input  logic [21:2]         addr_i,   /// Word address: the call.
  input  logic [31:0]         wdata_i,  /// Data of a store.
  output logic                rvalid_o, /// The answer.
  output logic [31:0]         rdata_o,  /// Its value.
  input  logic [NumCpus-1:0]  stop_i,   /// The CPU's thread may not run any more: interrupt it.
  output logic [NumCpus-1:0]  irq_o     /// Something more urgent than the CPU's thread waits, and that is the least urgent one: level.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumThreads < 2 || NumThreads > 256 || (NumThreads & (NumThreads - 1)) != 0)
    $error("weir_ordered: NumThreads is a power of two, 2 to 256, not %0d", NumThreads);
  if (NumLevels < 2 || NumLevels > 256 || (NumLevels & (NumLevels - 1)) != 0)
    $error("weir_ordered: NumLevels is a power of two, 2 to 256, not %0d", NumLevels);
  if (KeyWidth < 1 || KeyWidth > 32) $error("weir_ordered: KeyWidth is 1 to 32, not %0d", KeyWidth);
  if (NumCpus < 1 || NumCpus > 8) $error("weir_ordered: NumCpus is 1 to 8, not %0d", NumCpus);

  typedef logic [IdWidth-1:0]    id_t;
  typedef logic [LevelWidth-1:0] level_t;
  typedef logic [KeyWidth-1:0]   key_t;
  // Thread: its priority and key are known. Move: it is out of the queue, and goes back with another one.
  typedef enum logic [1:0] {Idle, Thread, Move} state_e;

  state_e state_q;
  weir_regs_pkg::address_call_t call;
  assign call = addr_i;
  logic [3:0]            cmd_q;
  logic [7:0]            arg_q;
  logic [31:0]           data_q;
  id_t                   id_q;
  logic                  we_q;
  logic [CpuWidth-1:0]   cpu_q;
  logic [NumThreads-1:0] queued_q;
  level_t                level_q;
  key_t                  key_q;
  // Clocks until interrupts are decided again: a thread that is put back, and taken again at once, is none that waits.
  logic [1:0]            rest_q;

  // ------------------------------------------------------------------ memories: one read and one write port each
  level_t prio_mem[NumThreads];
  key_t   key_mem[NumThreads];
  level_t prio;
  key_t   key;
  id_t    thread_addr;
  logic   sets_level, sets_key, raises;
  assign thread_addr = state_q == Idle ? IdWidth'(call.thread_f) : id_q;
  assign raises      = cmd_q == weir_regs_pkg::ListsRaise && LevelWidth'(arg_q) > prio;
  assign sets_level  = state_q == Thread && (cmd_q == weir_regs_pkg::ListsSetPriority || raises);
  assign sets_key    = state_q == Thread && cmd_q == weir_regs_pkg::ListsSetKey && we_q;
  always_ff @(posedge clk_i) begin
    prio <= prio_mem[thread_addr];
    key  <= key_mem[thread_addr];
    if (sets_level) prio_mem[id_q] <= LevelWidth'(arg_q);
    if (sets_key) key_mem[id_q] <= KeyWidth'(data_q);
  end
  level_t now_level;
  key_t   now_key;
  assign now_level = sets_level ? LevelWidth'(arg_q) : prio;
  assign now_key   = sets_key ? KeyWidth'(data_q) : key;

  // ------------------------------------------------------------------ the queue: the least number first
  localparam int unsigned PlaceWidth = LevelWidth + KeyWidth + 1;
  logic                  push, pop, remove, ready, full, some, was_queued;
  logic [PlaceWidth-1:0] place, first_place;
  id_t                   first;
  level_t                first_level;
  key_t                  first_key;
  assign was_queued = queued_q[id_q];
  assign pop    = state_q == Thread && cmd_q == weir_regs_pkg::ListsNext && some;
  assign remove = was_queued && (sets_level || sets_key || (state_q == Thread && cmd_q == weir_regs_pkg::ListsDequeue));
  assign push   = (state_q == Thread && cmd_q == weir_regs_pkg::ListsEnqueue && !was_queued) || (state_q == Move && ready);
  // A preempted thread goes before its equals.
  assign place  = state_q == Move ? {~level_q, key_q, 1'b1} : {~prio, key, !arg_q[0]};
  assign first_level = ~first_place[PlaceWidth-1-:LevelWidth];
  assign first_key   = first_place[KeyWidth:1];
  if (Systolic) begin : gen_systolic
    weir_pq_systolic #(.NumEntries(NumThreads), .KeyWidth(PlaceWidth), .IdWidth(IdWidth)) u_queue (
      .clk_i, .rst_ni, .push_i(push), .pop_i(pop), .remove_i(remove), .key_i(place), .id_i(id_q), .ready_o(ready), .full_o(full),
      .valid_o(some), .key_o(first_place), .id_o(first)
    );
  end else begin : gen_array
    weir_pq_array #(.NumEntries(NumThreads), .KeyWidth(PlaceWidth), .IdWidth(IdWidth)) u_queue (
      .clk_i, .rst_ni, .push_i(push), .pop_i(pop), .remove_i(remove), .key_i(place), .id_i(id_q), .ready_o(ready), .full_o(full),
      .valid_o(some), .key_o(first_place), .id_o(first)
    );
  end

  // ------------------------------------------------------------------ what the CPUs run
  localparam int unsigned RankWidth = LevelWidth + KeyWidth;
  logic                 runs, may, next;
  id_t                  current, idle;
  logic [RankWidth-1:0] rank;
  assign next = state_q == Thread && cmd_q == weir_regs_pkg::ListsNext;
  weir_cpus #(.NumCpus(NumCpus), .IdWidth(IdWidth), .RankWidth(RankWidth)) u_cpus (
    .clk_i, .rst_ni, .cpu_i(cpu_q), .run_i(pop), .rest_i(next && !some),
    .set_idle_i(state_q == Thread && cmd_q == weir_regs_pkg::ListsSetIdle),
    .set_may_i(state_q == Thread && cmd_q == weir_regs_pkg::ListsPreemption), .may_i(arg_q[0]),
    .ranked_i(sets_level || sets_key), .id_i(next ? first : id_q),
    .rank_i(next ? {first_level, ~first_key} : {now_level, ~now_key}),
    .runs_o(runs), .current_o(current), .rank_o(rank), .idle_o(idle), .may_o(may),
    .waits_i(state_q == Idle && rest_q == '0 && some), .first_i({first_level, ~first_key}), .stop_i, .irq_o
  );

  // ------------------------------------------------------------------ calls
  // What RAISE answers when the thread has moved.
  level_t before_q;
  always_ff @(posedge clk_i) if (state_q == Thread) before_q <= prio;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      cmd_q    <= '0;
      arg_q    <= '0;
      data_q   <= '0;
      id_q     <= '0;
      we_q     <= 1'b0;
      cpu_q    <= '0;
      queued_q <= '0;
      level_q  <= '0;
      key_q    <= '0;
      rest_q   <= '0;
      rvalid_o <= 1'b0;
      rdata_o  <= '0;
    end else begin
      rvalid_o <= 1'b0;
      rdata_o  <= '0;
      if (rest_q != '0) rest_q <= rest_q - 2'd1;
      if (push || pop || remove) rest_q <= 2'd3;
      if (push) queued_q[id_q] <= 1'b1;
      if (pop) queued_q[first] <= 1'b0;
      if (remove) queued_q[id_q] <= 1'b0;
      unique case (state_q)
        Idle: if (req_i) begin
          cmd_q   <= call.command_f;
          arg_q   <= call.argument_f;
          id_q    <= IdWidth'(call.thread_f);
          we_q    <= we_i;
          data_q  <= wdata_i;
          cpu_q   <= cpu_i;
          state_q <= Thread;
        end
        Thread: begin
          state_q  <= Idle;
          rvalid_o <= 1'b1;
          level_q  <= now_level;
          key_q    <= now_key;
          unique case (cmd_q)
            weir_regs_pkg::ListsIsEmpty:     rdata_o <= {31'd0, !some};
            weir_regs_pkg::ListsEnqueue:     rdata_o <= {31'd0, was_queued};
            weir_regs_pkg::ListsDequeue:     rdata_o <= {31'd0, !was_queued};
            weir_regs_pkg::ListsIsQueued:    rdata_o <= {31'd0, was_queued};
            weir_regs_pkg::ListsGetPriority: rdata_o <= 32'(prio);
            weir_regs_pkg::ListsGetKey:      rdata_o <= 32'(key);
            weir_regs_pkg::ListsPreemption:  rdata_o <= {31'd0, may};
            weir_regs_pkg::ListsSetIdle: ;
            weir_regs_pkg::ListsGetIdle: rdata_o <= 32'(idle);
            weir_regs_pkg::ListsNext:    rdata_o <= some ? weir_regs_pkg::lists_next(1'b0, 8'(first_level), 8'(first)) :
                                                           weir_regs_pkg::lists_next(1'b1, 8'd0, 8'(idle));
            weir_regs_pkg::ListsCurrent: rdata_o <= weir_regs_pkg::lists_next(!runs, 8'(rank[KeyWidth+:LevelWidth]), 8'(current));
            weir_regs_pkg::ListsSetPriority, weir_regs_pkg::ListsRaise, weir_regs_pkg::ListsSetKey: begin
              if (cmd_q == weir_regs_pkg::ListsRaise) rdata_o <= 32'(prio);
              if (cmd_q == weir_regs_pkg::ListsSetKey && !we_q) rdata_o <= '1;
              // It leaves its place for another one.
              if (remove) begin
                rvalid_o <= 1'b0;
                state_q  <= Move;
              end
            end
            default: rdata_o <= '1;
          endcase
        end
        Move: if (ready) begin
          rvalid_o <= 1'b1;
          if (cmd_q == weir_regs_pkg::ListsRaise) rdata_o <= 32'(before_q);
          state_q <= Idle;
        end
        default: state_q <= Idle;
      endcase
    end
  end

`ifdef FORMAL
  // Proofs begin with all priorities and keys 0, so that they need not be set one by one.
  initial for (int unsigned t = 0; t < NumThreads; t++) begin
    prio_mem[t] = '0;
    key_mem[t]  = '0;
  end
`ifndef PROMISES_ONLY
  // What the memories hold, for the steps of the induction.
  logic [NumThreads-1:0][LevelWidth+KeyWidth-1:0] ranks;
  always_comb for (int t = 0; t < NumThreads; t++) ranks[t] = {prio_mem[t], ~key_mem[t]};
`endif
`endif

  // There is a place for each thread. Of a smaller configuration not all bits of arguments count.
  logic unused;
  assign unused = ^{full, call, arg_q, data_q, rank, first_place};
endmodule
