// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_hardware_thread - an accelerator as a thread of weir_kernel: it makes calls, and where a call blocks it, it waits until it is woken.
///
/// Its number comes from CREATE, and HARDWARE tells the manager that no CPU is to run it (parameter Hardware of weir_kernel). Calls go by
/// weir_calls_share to the set. A wake-up that comes before the answer of the call that blocks is not lost.
///
/// latency:  done_o a clock after the answer, or after the wake-up
/// area:     O(1): the call and its answer, 60 bits
/// source:   Preston, 2011, 3.2.3 (HWTI); the form is ours
module weir_hardware_thread #(
  /// Threads of the set, 2..256, a power of two.
  parameter int unsigned NumThreads = 256,
  /// Dependent, do not override: bits of a thread number.
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input  logic               clk_i,       /// Clock, rising edge.
  input  logic               rst_ni,      /// Reset, asynchronous, active low.
  input  logic [IdWidth-1:0] thread_i,    /// Number of the thread; stays while it has a call under way.
  input  logic               start_i,     /// From the accelerator: a call; the next one only after done_o.
  input  logic               store_i,     /// It is a store.
  input  logic [2:0]         unit_i,      /// Unit.
  input  logic [3:0]         command_i,   /// Command.
  input  logic [7:0]         argument_i,  /// Argument.
  input  logic [31:0]        data_i,      /// Data of a store.
  input  logic               sleeps_i,    /// The answer 1 of this call, or any to a store, says that the thread is blocked.
  output logic               done_o,      /// One clock: the call has returned, and the thread goes on.
  output logic [31:0]        answer_o,    /// What the call answered; with done_o.
  output logic               irq_o,       /// The thread was blocked, and has been woken: level, until its next call.
  output logic               req_o,       /// To weir_calls_share: a call.
  output logic               we_o,        /// It is a store.
  output logic [24:2]        addr_o,      /// Its word address.
  output logic [31:0]        wdata_o,     /// Data of a store.
  input  logic               rvalid_i,    /// The answer.
  input  logic [31:0]        rdata_i,     /// Its value.
  input  logic               wake_i,      /// From the set: a hardware thread is woken.
  input  logic [IdWidth-1:0] wake_id_i    /// Which one.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumThreads < 2 || NumThreads > 256 || (NumThreads & (NumThreads - 1)) != 0)
    $error("weir_hardware_thread: NumThreads is a power of two, 2 to 256, not %0d", NumThreads);

  typedef enum logic [1:0] {Idle, Call, Sleep} state_e;
  state_e state_q;
  logic   woken_q, sleeps_q, wakes;
  assign wakes = wake_i && wake_id_i == thread_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      woken_q  <= 1'b0;
      sleeps_q <= 1'b0;
      req_o    <= 1'b0;
      we_o     <= 1'b0;
      addr_o   <= '0;
      wdata_o  <= '0;
      done_o   <= 1'b0;
      answer_o <= '0;
      irq_o    <= 1'b0;
    end else begin
      req_o   <= 1'b0;
      done_o  <= 1'b0;
      woken_q <= woken_q || wakes;
      unique case (state_q)
        Idle: if (start_i) begin
          req_o    <= 1'b1;
          we_o     <= store_i;
          addr_o   <= weir_regs_pkg::address_kernel(unit_i, argument_i, 8'(thread_i), command_i);
          wdata_o  <= data_i;
          sleeps_q <= sleeps_i;
          // Earlier wake-ups are of earlier calls.
          woken_q  <= wakes;
          irq_o    <= 1'b0;
          state_q  <= Call;
        end
        Call: if (rvalid_i) begin
          answer_o <= rdata_i;
          if (sleeps_q && (we_o || rdata_i == 32'd1)) state_q <= Sleep;
          else begin
            done_o  <= 1'b1;
            state_q <= Idle;
          end
        end
        Sleep: if (woken_q) begin
          done_o  <= 1'b1;
          irq_o   <= 1'b1;
          state_q <= Idle;
        end
        default: state_q <= Idle;
      endcase
    end
  end
endmodule
