// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_timers - the timer core: one timer per thread, kept in order of expiry by a keyed pipe.
///
/// A store to ADD sets the thread's timer and, unless it is an alarm, blocks the thread in the same transfer: it sleeps. The expiry
/// wakes the thread, and its priority then decides. Word address, from bit 2: command (4 bits), thread (8), argument (8):
/// 0 ADD, 1 STATUS, 2 CANCEL, 3 CLOCK (docs/hardware-registers.md). An ADD without room does not block the thread: STATUS then says 0.
///
/// twin:     hw/models/src/kernel.rs
/// latency:  ADD 5 clocks and the manager's, STATUS and CANCEL 4, however many timers there are. A wake-up leaves 1 clock
///           after the expiry, later ones after the manager has taken those before
/// area:     a keyed pipe of NumTimers entries of 48 bits, a memory of NumThreads expiries
/// source:   Preston, 2011, 3.3.2; the order in constant time, the width, and waking in order are ours
module weir_timers #(
  /// Timers that run at the same time, 2 or more.
  parameter int unsigned NumTimers = 16,
  /// Threads, 2..256, a power of two.
  parameter int unsigned NumThreads = 256,
  /// Bits of the clock; 48 last for a month at 100 MHz.
  parameter int unsigned ClockWidth = 48,
  /// Dependent, do not override: bits of a thread number.
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input  logic               clk_i,      /// Clock, rising edge.
  input  logic               rst_ni,     /// Reset, asynchronous, active low: no timer runs, the clock is 0.
  input  logic               req_i,      /// A call; the next one only after its answer.
  input  logic               we_i,       /// It is a store: ADD.
  input  logic [21:2]        addr_i,     /// Word address: the call; held until its answer.
  input  logic [31:0]        wdata_i,    /// Clocks until the expiry; held until the answer.
  output logic               rvalid_o,   /// The answer.
  output logic [31:0]        rdata_o,    /// Its value.
  output logic               op_req_o,   /// To the thread manager: block or wake a thread; held until op_done_i.
  output logic               op_block_o, /// Block it; else wake it.
  output logic [IdWidth-1:0] op_id_o,    /// The thread.
  input  logic               op_done_i   /// The manager has done it.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumTimers < 2 || NumTimers > 256) $error("weir_timers: NumTimers is 2 to 256, not %0d", NumTimers);
  if (NumThreads < 2 || NumThreads > 256 || (NumThreads & (NumThreads - 1)) != 0)
    $error("weir_timers: NumThreads is a power of two, 2 to 256, not %0d", NumThreads);
  if (ClockWidth < 34 || ClockWidth > 64) $error("weir_timers: ClockWidth is 34 to 64, not %0d", ClockWidth);


  typedef enum logic [2:0] {Idle, Look, Do, Push, Block, Wake} state_e;
  state_e state_q;
  weir_regs_pkg::address_call_t call;
  assign call = addr_i;

  logic                  held_q, go, we_q, push, pop, remove, full, valid, ready, due;
  logic [3:0]            cmd_q;
  logic [IdWidth-1:0]    id_q, first, wake_q;
  logic                  alarm_q;
  logic [ClockWidth-1:0] now_q, key, expiry, at_q, left;
  logic [NumThreads-1:0] armed_q;

  logic [ClockWidth-1:0] expiry_mem[NumThreads];

  always_ff @(posedge clk_i) begin
    expiry <= expiry_mem[id_q];
    if (push) expiry_mem[id_q] <= at_q;
  end

  weir_pq_array #(.NumEntries(NumTimers), .KeyWidth(ClockWidth), .IdWidth(IdWidth)) u_queue (
    .clk_i, .rst_ni, .push_i(push), .pop_i(pop), .remove_i(remove), .key_i(at_q), .id_i(id_q),
    .ready_o(ready), .full_o(full), .valid_o(valid), .key_o(key), .id_o(first)
  );

  assign go         = req_i || held_q;
  assign due        = valid && key <= now_q;
  assign pop        = state_q == Idle && due;
  assign remove     = state_q == Do && armed_q[id_q] && (cmd_q == weir_regs_pkg::TimersCancel || (cmd_q == weir_regs_pkg::TimersAdd && we_q));
  assign push       = state_q == Push && !full;
  assign left       = expiry - now_q;
  assign op_req_o   = state_q == Block || state_q == Wake;
  assign op_block_o = state_q == Block;
  assign op_id_o    = state_q == Block ? id_q : wake_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      held_q   <= 1'b0;
      we_q     <= 1'b0;
      cmd_q    <= '0;
      id_q     <= '0;
      alarm_q  <= 1'b0;
      wake_q   <= '0;
      at_q     <= '0;
      now_q    <= '0;
      armed_q  <= '0;
      rvalid_o <= 1'b0;
      rdata_o  <= '0;
    end else begin
      rvalid_o <= 1'b0;
      rdata_o  <= '0;
      now_q    <= now_q + ClockWidth'(1);
      held_q   <= go && !(state_q == Idle && !due);
      unique case (state_q)
        Idle: begin
          if (due) begin
            wake_q         <= first;
            armed_q[first] <= 1'b0;
            state_q        <= Wake;
          end else if (go) begin
            cmd_q   <= call.command_f;
            we_q    <= we_i;
            id_q    <= IdWidth'(call.thread_f);
            alarm_q <= call.argument_f[0];
            at_q    <= now_q + ClockWidth'(wdata_i);
            state_q <= Look;
          end
        end
        Look: state_q <= Do;
        Do: begin
          rvalid_o <= 1'b1;
          state_q  <= Idle;
          unique case (cmd_q)
            weir_regs_pkg::TimersAdd: if (we_q) begin
              rvalid_o <= 1'b0;
              state_q  <= Push;
            end else rdata_o <= '1;
            // A timer that is due but not served yet has no clocks left.
            weir_regs_pkg::TimersStatus:  rdata_o <= !armed_q[id_q] || left[ClockWidth-1] ? '0 : |left[ClockWidth-2:32] ? '1 : left[31:0];
            weir_regs_pkg::TimersCancel:  rdata_o <= {31'd0, armed_q[id_q]};
            weir_regs_pkg::TimersClock:   rdata_o <= now_q[31:0];
            default: rdata_o <= '1;
          endcase
          if (remove) armed_q[id_q] <= 1'b0;
        end
        Push: begin
          rvalid_o <= full || alarm_q;
          state_q  <= full || alarm_q ? Idle : Block;
          if (!full) armed_q[id_q] <= 1'b1;
        end
        Block: if (op_done_i) begin
          rvalid_o <= 1'b1;
          state_q  <= Idle;
        end
        Wake: if (op_done_i) state_q <= Idle;
        default: state_q <= Idle;
      endcase
    end
  end

`ifdef FORMAL
  // For the steps of an induction, which sees no memories.
  logic [NumThreads-1:0][ClockWidth-1:0] expiries;
  always_comb for (int unsigned t = 0; t < NumThreads; t++) expiries[t] = expiry_mem[t];
`endif

  // The array takes an operation each clock; of a smaller configuration not all bits of arguments count.
  logic unused;
  assign unused = ^{ready, call};
endmodule
