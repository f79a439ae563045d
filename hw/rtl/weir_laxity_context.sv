// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_laxity_context - no CPU loads a context that another CPU has not saved.
///
/// A claiming CPU returns its context (the program saves it first), and gets the context of the task that it must run, unless
/// another CPU still holds that: then it holds none and asks again. No CPU waits while it holds a context, so all of them
/// make progress. A claim is one register read, so it is atomic.
///
/// latency:  the answer is there in the clock of the claim
/// area:     O(NumCpus^2) comparators of task numbers
/// source:   ours: without it contexts are lost once a switch takes longer than a tick
module weir_laxity_context #(
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 2,
  /// Bits of a task number.
  parameter int unsigned IdWidth = 4,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input  logic                            clk_i,    /// Clock, rising edge.
  input  logic                            rst_ni,   /// Reset, asynchronous, active low: no CPU holds a context.
  input  logic                            claim_i,  /// CPU cpu_i has saved its context and asks for its task's.
  input  logic [CpuWidth-1:0]             cpu_i,    /// The requesting CPU; below NumCpus.
  input  logic                            busy_i,   /// It has a task.
  input  logic [IdWidth-1:0]              task_i,   /// Which one.
  output logic                            wait_o,   /// Another CPU holds that context.
  output logic [NumCpus-1:0]              holds_o,  /// The CPU holds a context.
  output logic [NumCpus-1:0][IdWidth-1:0] held_o    /// Whose.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumCpus < 1 || NumCpus > 8) $error("weir_laxity_context: NumCpus is 1 to 8, not %0d", NumCpus);
  if (IdWidth < 1 || IdWidth > 8) $error("weir_laxity_context: IdWidth is 1 to 8, not %0d", IdWidth);

  logic [NumCpus-1:0]              holds_q;
  logic [NumCpus-1:0][IdWidth-1:0] held_q;
  logic [NumCpus-1:0]              other;

  for (genvar c = 0; c < NumCpus; c++) begin : gen_other
    assign other[c] = cpu_i != CpuWidth'(c) && holds_q[c] && held_q[c] == task_i;
  end
  assign wait_o = busy_i && |other;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      holds_q <= '0;
      held_q  <= '0;
    end else if (claim_i) begin
      for (int unsigned c = 0; c < NumCpus; c++) begin
        if (cpu_i == CpuWidth'(c)) begin
          holds_q[c] <= busy_i && !wait_o;
          if (busy_i && !wait_o) held_q[c] <= task_i;
        end
      end
    end
  end

  assign holds_o = holds_q;
  assign held_o  = held_q;
endmodule
