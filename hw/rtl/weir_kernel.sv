// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_kernel - the complete set: thread manager, scheduler, mutexes, condition variables, interrupts and timers as one slave.
///
/// Everything is called by reading, timers are set by a store; any bus master may call, one call at a time. A CPU is
/// interrupted only if a thread that is strictly more urgent than its own may run; of several CPUs, the one whose thread is the least
/// urgent. Word address, from bit 2: command (4
/// bits), thread (8), argument (8), unit (3): 0 weir_lists, 1 weir_threads, 2 weir_mutexes, 3 weir_conditions, 4
/// weir_interrupts, 5 weir_timers (docs/hardware-registers.md).
///
/// twin:     hw/models/src/kernel.rs
/// latency:  that of the unit and of its current operation; from a line to irq_o 22 clocks if all units are idle
/// area:     the sum of its parts
/// source:   Preston, 2011, 3.2 and 3.3
module weir_kernel #(
  /// Threads, 2..256, a power of two.
  parameter int unsigned NumThreads = 256,
  /// Priorities, 2..256, a power of two.
  parameter int unsigned NumLevels = 256,
  /// Mutexes, 2..256, a power of two.
  parameter int unsigned NumMutexes = 64,
  /// Condition variables, 2..256, a power of two.
  parameter int unsigned NumConditions = 64,
  /// Interrupt lines, 2..64.
  parameter int unsigned NumLines = 16,
  /// Lines that interrupt by their rising edge; the others by their level.
  parameter bit [NumLines-1:0] Edges = '0,
  /// Timers that run at the same time.
  parameter int unsigned NumTimers = 16,
  /// Bits of the clock.
  parameter int unsigned ClockWidth = 48,
  /// There are threads that no CPU runs (weir_hardware_thread).
  parameter bit Hardware = 1'b0,
  /// CPUs that run threads, 1..8.
  parameter int unsigned NumCpus = 1,
  /// Threads have keys: the scheduler is weir_ordered, not weir_lists.
  parameter bit Keys = 1'b0,
  /// Bits of a key, 1..32; without effect unless Keys.
  parameter int unsigned KeyWidth = 32,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  /// Dependent, do not override: bits of a thread number.
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input  logic                clk_i,     /// Clock, rising edge.
  input  logic                rst_ni,    /// Reset, asynchronous, active low.
  input  logic [NumLines-1:0] lines_i,   /// Interrupt lines, synchronous to the clock.
  input  logic                req_i,     /// A call; the next one only after its answer.
  input  logic [CpuWidth-1:0] cpu_i,     /// The CPU that calls; below NumCpus, held until the answer.
  input  logic                we_i,      /// It is a store.
  input  logic [24:2]         addr_i,    /// Word address: the call; held until its answer.
  input  logic [31:0]         wdata_i,   /// Data of a store; held until its answer.
  output logic                rvalid_o,  /// The answer.
  output logic [31:0]         rdata_o,   /// Its value.
  output logic [NumCpus-1:0]  irq_o,     /// A thread more urgent than the CPU's may run, or its own may not: level.
  output logic                wake_o,    /// One clock: a thread was woken, for observers.
  output logic [IdWidth-1:0]  wake_id_o, /// Which one.
  output logic                hard_wake_o,    /// One clock: a thread that no CPU runs was woken.
  output logic [IdWidth-1:0]  hard_wake_id_o  /// Which one.
);

  logic [weir_regs_pkg::NumUnits-1:0]       req, rvalid;
  logic [weir_regs_pkg::NumUnits-1:0][31:0] rdata;
  logic                      none_q;
  weir_regs_pkg::address_kernel_t call;
  logic [21:2]               unit_call;
  assign call      = addr_i;
  assign unit_call = weir_regs_pkg::address_call(call.argument_f, call.thread_f, call.command_f);

  always_comb begin
    req = '0;
    for (int unsigned u = 0; u < weir_regs_pkg::NumUnits; u++) req[u] = req_i && call.unit_f == 3'(u);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) none_q <= 1'b0;
    else none_q <= req_i && req == '0;
  end
  assign rvalid_o = |rvalid || none_q;
  always_comb begin
    rdata_o = none_q ? '1 : '0;
    for (int unsigned u = 0; u < weir_regs_pkg::NumUnits; u++) if (rvalid[u]) rdata_o = rdata[u];
  end

  // ------------------------------------------------------------------ the manager and the scheduler behind it
  logic                op_req, op_block, op_raise, op_lower, op_done, from_threads, lists_req, lists_rvalid, ours_q, busy_q, wait_q;
  logic [IdWidth-1:0]  op_id;
  logic [21:2]         threads_addr, lists_addr;
  logic [31:0]         lists_rdata;
  logic [7:0]          op_level;
  logic [NumCpus-1:0]  stop;

  weir_threads #(.NumThreads(NumThreads), .NumCpus(NumCpus), .Hardware(Hardware)) u_threads (
    .clk_i, .rst_ni, .cpu_i, .stop_o(stop), .req_i(req[weir_regs_pkg::UnitThreads]), .addr_i(unit_call), .rvalid_o(rvalid[weir_regs_pkg::UnitThreads]), .rdata_o(rdata[weir_regs_pkg::UnitThreads]),
    .op_req_i(op_req), .op_block_i(op_block),
    .op_raise_i(op_raise), .op_lower_i(op_lower), .op_level_i(op_level), .op_id_i(op_id), .op_done_o(op_done),
    .wake_o(hard_wake_o), .wake_id_o(hard_wake_id_o),
    .lists_req_o(from_threads), .lists_addr_o(threads_addr),
    .lists_rvalid_i(lists_rvalid && !ours_q), .lists_rdata_i(lists_rdata)
  );

  // A call of the CPU waits while the manager has one in progress, and vice versa.
  logic late_q, direct;
  logic [21:2] late_addr_q;
  assign direct     = (req[weir_regs_pkg::UnitLists] || wait_q) && !busy_q && !from_threads && !late_q;
  assign lists_req  = !busy_q && (from_threads || late_q || direct);
  assign lists_addr = late_q ? late_addr_q : from_threads ? threads_addr : unit_call;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ours_q      <= 1'b0;
      busy_q      <= 1'b0;
      wait_q      <= 1'b0;
      late_q      <= 1'b0;
      late_addr_q <= '0;
    end else begin
      wait_q <= (req[weir_regs_pkg::UnitLists] || wait_q) && !direct;
      late_q <= (from_threads || late_q) && busy_q;
      if (from_threads) late_addr_q <= threads_addr;
      if (lists_req) ours_q <= direct;
      busy_q <= (busy_q || lists_req) && !lists_rvalid;
    end
  end
  assign rvalid[weir_regs_pkg::UnitLists] = lists_rvalid && ours_q;
  assign rdata[weir_regs_pkg::UnitLists]  = lists_rdata;

  if (Keys) begin : gen_ordered
    weir_ordered #(.NumThreads(NumThreads), .NumLevels(NumLevels), .KeyWidth(KeyWidth), .NumCpus(NumCpus)) u_ordered (
      .clk_i, .rst_ni, .cpu_i, .stop_i(stop), .req_i(lists_req), .we_i(we_i && direct), .addr_i(lists_addr), .wdata_i,
      .rvalid_o(lists_rvalid), .rdata_o(lists_rdata), .irq_o
    );
  end else begin : gen_lists
    weir_lists #(.NumThreads(NumThreads), .NumLevels(NumLevels), .NumCpus(NumCpus)) u_lists (
      .clk_i, .rst_ni, .cpu_i, .stop_i(stop), .req_i(lists_req), .addr_i(lists_addr),
      .rvalid_o(lists_rvalid), .rdata_o(lists_rdata), .irq_o
    );
  end
  if (KeyWidth < 1 || KeyWidth > 32) $error("weir_kernel: KeyWidth is 1 to 32, not %0d", KeyWidth);

  // ------------------------------------------------------------------ what else wakes and blocks threads
  logic [3:0]              ops, blocks, granted, done;
  logic                    raises, lowers;
  logic [3:0][IdWidth-1:0] ids;

  weir_mutexes #(.NumMutexes(NumMutexes), .NumThreads(NumThreads)) u_mutexes (
    .clk_i, .rst_ni, .req_i(req[weir_regs_pkg::UnitMutexes]), .addr_i(unit_call), .rvalid_o(rvalid[weir_regs_pkg::UnitMutexes]), .rdata_o(rdata[weir_regs_pkg::UnitMutexes]),
    .op_req_o(ops[0]), .op_block_o(blocks[0]), .op_raise_o(raises), .op_lower_o(lowers),
    .op_level_o(op_level), .op_id_o(ids[0]), .op_done_i(done[0]), .op_before_i(rdata[weir_regs_pkg::UnitThreads][7:0])
  );
  weir_conditions #(.NumConditions(NumConditions), .NumThreads(NumThreads)) u_conditions (
    .clk_i, .rst_ni, .req_i(req[weir_regs_pkg::UnitConditions]), .addr_i(unit_call),
    .rvalid_o(rvalid[weir_regs_pkg::UnitConditions]), .rdata_o(rdata[weir_regs_pkg::UnitConditions]),
    .op_req_o(ops[1]), .op_block_o(blocks[1]), .op_id_o(ids[1]), .op_done_i(done[1])
  );
  weir_interrupts #(.NumLines(NumLines), .Edges(Edges), .NumThreads(NumThreads)) u_interrupts (
    .clk_i, .rst_ni, .lines_i, .req_i(req[weir_regs_pkg::UnitInterrupts]), .addr_i(unit_call),
    .rvalid_o(rvalid[weir_regs_pkg::UnitInterrupts]), .rdata_o(rdata[weir_regs_pkg::UnitInterrupts]),
    .op_req_o(ops[2]), .op_block_o(blocks[2]), .op_id_o(ids[2]), .op_done_i(done[2])
  );
  weir_timers #(.NumTimers(NumTimers), .NumThreads(NumThreads), .ClockWidth(ClockWidth)) u_timers (
    .clk_i, .rst_ni, .req_i(req[weir_regs_pkg::UnitTimers]), .we_i, .addr_i(unit_call), .wdata_i,
    .rvalid_o(rvalid[weir_regs_pkg::UnitTimers]), .rdata_o(rdata[weir_regs_pkg::UnitTimers]),
    .op_req_o(ops[3]), .op_block_o(blocks[3]), .op_id_o(ids[3]), .op_done_i(done[3])
  );

  // The manager serves one at a time to its end, and not the same one twice while others wait.
  logic [1:0] turn_q, turn;
  logic       taken_q;
  always_comb begin
    turn = turn_q;
    if (!taken_q) begin
      for (int unsigned i = 4; i > 0; i--) begin
        if (ops[2'(turn_q + 2'(i))]) turn = turn_q + 2'(i);
      end
    end
    granted       = '0;
    granted[turn] = ops[turn];
  end
  assign op_req   = |granted;
  assign op_block = blocks[turn];
  // Only mutexes change priorities.
  assign op_raise = granted[0] && raises;
  assign op_lower = granted[0] && lowers;
  assign op_id    = ids[turn];
  assign done     = op_done ? granted : '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      turn_q  <= '0;
      taken_q <= 1'b0;
    end else begin
      turn_q  <= turn;
      taken_q <= op_req && !op_done;
    end
  end

  assign wake_o    = op_done && op_req && !op_block && !op_raise && !op_lower;
  assign wake_id_o = op_id;
endmodule
