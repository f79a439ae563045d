// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_interrupts - the CPU bypass interrupt scheduler: interrupt lines end here, and an interrupt is the wake-up of a thread.
///
/// A thread associates itself with a line. If the line is pending, the answer is 1 and the thread serves at once; else the same call
/// blocks it, and the next interrupt wakes it. The CPU is not interrupted unless the thread is more urgent than its current one.
/// Word address, from bit 2: command (4 bits), thread (8), line (8). Commands and answers: docs/hardware-registers.md.
///
/// At hand-over the line's pending bit and its enable bit are cleared together; later edges are kept, and levels are checked when
/// the thread associates itself again. A wake-up that the manager has not taken yet stays pending.
///
/// twin:     hw/models/src/kernel.rs
/// latency:  ENABLE, DISABLE, CLEAR and READ answer within 2 clocks, READ_ASSOCIATED within 4; ASSOCIATE 2 and the manager's.
///           From the line to the wake-up 5 clocks if the module is idle
/// area:     one memory of NumLines thread numbers, four bits per line
/// source:   Preston, 2011, 3.3.1; associating blocks (the source's driver could lose a wake-up), clearing, retry: ours
module weir_interrupts #(
  /// Interrupt lines, 2..64.
  parameter int unsigned NumLines = 16,
  /// Lines that interrupt by their rising edge; the others by their level.
  parameter bit [NumLines-1:0] Edges = '0,
  /// Threads, 2..256, a power of two.
  parameter int unsigned NumThreads = 256,
  /// Dependent, do not override: bits of a line number.
  localparam int unsigned LineWidth = $clog2(NumLines),
  /// Dependent, do not override: bits of a thread number.
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input  logic                clk_i,      /// Clock, rising edge.
  input  logic                rst_ni,     /// Reset, asynchronous, active low: no line is enabled or pending.
  input  logic [NumLines-1:0] lines_i,    /// The lines, synchronous to the clock.
  input  logic                req_i,      /// A call; the next one only after its answer.
  input  logic [21:2]         addr_i,     /// Word address: the call; held until its answer.
  output logic                rvalid_o,   /// The answer.
  output logic [31:0]         rdata_o,    /// Its value.
  output logic                op_req_o,   /// To the thread manager: block or wake a thread; held until op_done_i.
  output logic                op_block_o, /// Block it; else wake it.
  output logic [IdWidth-1:0]  op_id_o,    /// The thread.
  input  logic                op_done_i   /// The manager has done it.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumLines < 2 || NumLines > 64) $error("weir_interrupts: NumLines is 2 to 64, not %0d", NumLines);
  if (NumThreads < 2 || NumThreads > 256 || (NumThreads & (NumThreads - 1)) != 0)
    $error("weir_interrupts: NumThreads is a power of two, 2 to 256, not %0d", NumThreads);


  // Look: a line's thread is read, for a call or, with deliver_q, for an interrupt.
  typedef enum logic [2:0] {Idle, Look, Tell, Block, Wake} state_e;
  state_e state_q;
  weir_regs_pkg::address_call_t call;
  assign call = addr_i;

  logic                 held_q, go, deliver_q, any_q, we;
  logic [NumLines-1:0]  lines_q, latched_q, pending, enabled_q, reserved_q, hot;
  logic [LineWidth-1:0] top_q, line_q, line;
  logic [IdWidth-1:0]   thread, id_q;

  logic [IdWidth-1:0] thread_mem[NumLines];

  // An edge is kept until it is handed over; a level counts as long as it stands.
  assign pending = (latched_q & Edges) | (lines_q & ~Edges);
  assign hot     = pending & enabled_q;
  assign go      = req_i || held_q;
  assign line    = LineWidth'(call.argument_f);

  logic known, was;
  assign known = 32'(call.argument_f) < NumLines;
  assign was   = known && pending[line];
  assign we    = state_q == Idle && go && known && call.command_f == weir_regs_pkg::InterruptsAssociate && !was;

  always_ff @(posedge clk_i) begin
    thread <= thread_mem[line_q];
    if (we) thread_mem[line] <= IdWidth'(call.thread_f);
  end

  assign op_req_o   = state_q == Block || state_q == Wake;
  assign op_block_o = state_q == Block;
  assign op_id_o    = state_q == Block ? id_q : thread;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q    <= Idle;
      held_q     <= 1'b0;
      deliver_q  <= 1'b0;
      any_q      <= 1'b0;
      top_q      <= '0;
      line_q     <= '0;
      id_q       <= '0;
      lines_q    <= '0;
      latched_q  <= '0;
      enabled_q  <= '0;
      reserved_q <= '0;
      rvalid_o   <= 1'b0;
      rdata_o    <= '0;
    end else begin
      rvalid_o <= 1'b0;
      rdata_o  <= '0;
      held_q   <= go && state_q != Idle;
      lines_q  <= lines_i;
      // The highest line goes first; later changes are handled in Idle.
      any_q <= |hot;
      for (int unsigned l = 0; l < NumLines; l++) if (hot[l]) top_q <= LineWidth'(l);
      unique case (state_q)
        Idle: begin
          if (go) begin
            line_q   <= line;
            id_q     <= IdWidth'(call.thread_f);
            rvalid_o <= 1'b1;
            if (!known) rdata_o <= '1;
            else begin
              unique case (call.command_f)
                weir_regs_pkg::InterruptsAssociate: begin
                  if (was) begin
                    latched_q[line] <= 1'b0;
                    rdata_o         <= 32'd1;
                  end else begin
                    // Reserved and enabled together.
                    reserved_q[line] <= 1'b1;
                    enabled_q[line]  <= 1'b1;
                    rvalid_o         <= 1'b0;
                    state_q          <= Block;
                  end
                end
                // Without a thread there is none to wake.
                weir_regs_pkg::InterruptsEnable: begin
                  enabled_q[line] <= reserved_q[line];
                  rdata_o         <= {31'd0, !reserved_q[line]};
                end
                weir_regs_pkg::InterruptsDisable: begin
                  enabled_q[line] <= 1'b0;
                  rdata_o         <= {31'd0, enabled_q[line]};
                end
                weir_regs_pkg::InterruptsClear: begin
                  latched_q[line] <= 1'b0;
                  rdata_o         <= {31'd0, was};
                end
                weir_regs_pkg::InterruptsReadPending: rdata_o <= {31'd0, was};
                weir_regs_pkg::InterruptsReadEnabled: rdata_o <= {31'd0, enabled_q[line]};
                weir_regs_pkg::InterruptsReadAssociated: begin
                  rvalid_o  <= 1'b0;
                  deliver_q <= 1'b0;
                  state_q   <= Look;
                end
                default: rdata_o <= '1;
              endcase
            end
          end else if (any_q && hot[top_q]) begin
            line_q    <= top_q;
            deliver_q <= 1'b1;
            state_q   <= Look;
          end
        end
        Look: state_q <= deliver_q ? Wake : Tell;
        Tell: begin
          rvalid_o <= 1'b1;
          rdata_o  <= weir_regs_pkg::interrupts_associated(!reserved_q[line_q], 8'(thread));
          state_q  <= Idle;
        end
        Block: if (op_done_i) begin
          rvalid_o <= 1'b1;
          state_q  <= Idle;
        end
        Wake: if (op_done_i) begin
          // Cleared together, and only once the thread is awake: no event is dropped.
          latched_q[line_q] <= 1'b0;
          enabled_q[line_q] <= 1'b0;
          state_q           <= Idle;
        end
        default: state_q <= Idle;
      endcase
      // Last: an edge in the clock of a hand-over is a new one.
      for (int unsigned l = 0; l < NumLines; l++) if (lines_i[l] && !lines_q[l]) latched_q[l] <= 1'b1;
    end
  end

`ifdef FORMAL
  // For the steps of an induction, which sees no memories.
  logic [NumLines-1:0][IdWidth-1:0] threads;
  always_comb for (int unsigned l = 0; l < NumLines; l++) threads[l] = thread_mem[l];
`endif

  // Of a smaller configuration not all bits of arguments count.
  logic unused;
  assign unused = ^call;
endmodule
