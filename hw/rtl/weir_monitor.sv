// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_monitor - a counter that follows one scheduling parameter, tick by tick.
///
/// The general monitor of the scheduling engine: the controller sets at run time whether it counts (status), by how much
/// (step) and which way (direction). A load wins over a tick.
///
/// latency:  the new value is valid one clock after tick_i; next_o has it in the clock of the tick
/// area:     O(Width)
/// source:   Mancuso et al., hardware scheduling engine, IV-B2
module weir_monitor #(
  /// Bits of the counter.
  parameter int unsigned Width = 16
) (
  input  logic             clk_i,    /// Clock, rising edge.
  input  logic             rst_ni,   /// Reset, asynchronous, active low; the value becomes 0.
  input  logic             load_i,   /// Take value_i.
  input  logic [Width-1:0] value_i,  /// What to take.
  input  logic             tick_i,   /// A tick passes.
  input  logic             count_i,  /// Status: the tick counts.
  input  logic [Width-1:0] step_i,   /// How much a tick counts.
  input  logic             up_i,     /// Direction: 1 up, 0 down.
  output logic [Width-1:0] next_o,   /// The value if this clock were a tick.
  output logic [Width-1:0] value_o   /// The value.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (Width < 1 || Width > 64) $error("weir_monitor: Width is 1 to 64, not %0d", Width);

  logic [Width-1:0] value_q;

  always_comb begin
    next_o = value_q;
    if (count_i) next_o = up_i ? value_q + step_i : value_q - step_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) value_q <= '0;
    else if (load_i) value_q <= value_i;
    else if (tick_i) value_q <= next_o;
  end

  assign value_o = value_q;
endmodule
