// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_laxity_budget - limit the work of one task between two replenishments.
///
/// The server of a task is full when the first job after its setting comes, and again every replenish_i ticks from then on. Each
/// tick of work takes one off; at 0 the task is withheld until the next replenishment. What is left then is lost.
///
/// latency:  empty_o holds the new state one clock after the tick
/// area:     O(Width): two counters, two registers of parameters
/// source:   Strosnider, Lehoczky and Sha, deferrable server, 1995; the rules of components/annotate/bandwidth.c, a group a task
module weir_laxity_budget #(
  /// Bits of times, in ticks.
  parameter int unsigned Width = 16
) (
  input  logic             clk_i,        /// Clock, rising edge.
  input  logic             rst_ni,       /// Reset, asynchronous, active low: no limit.
  input  logic             tick_i,       /// A scheduling tick.
  input  logic             set_i,        /// Take the parameters below.
  input  logic [Width-1:0] budget_i,     /// Ticks of work, 0: no limit.
  input  logic [Width-1:0] replenish_i,  /// Ticks between replenishments, no fewer than budget_i.
  input  logic             come_i,       /// In a tick: a job comes.
  input  logic             works_i,      /// In a tick: the task has a CPU and a job.
  output logic             empty_o,      /// The task is withheld.
  output logic             event_o       /// In this clock its budget is used up, or is replenished after it was.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (Width < 2 || Width > 16) $error("weir_laxity_budget: Width is 2 to 16, not %0d", Width);

  logic             open_q, fill, takes;
  logic [Width-1:0] budget_q, replenish_q, left, left_next, until_fill, until_next;

  assign fill  = tick_i && !set_i && budget_q != '0 && (open_q ? until_next == '0 : come_i);
  assign takes = open_q && works_i && left != '0;

  weir_monitor #(.Width(Width)) u_left (
    .clk_i, .rst_ni, .load_i(fill), .value_i(budget_q), .tick_i(tick_i), .count_i(takes),
    .step_i(Width'(1)), .up_i(1'b0), .next_o(left_next), .value_o(left)
  );
  weir_monitor #(.Width(Width)) u_until (
    .clk_i, .rst_ni, .load_i(fill), .value_i(replenish_q), .tick_i(tick_i), .count_i(1'b1),
    .step_i(Width'(1)), .up_i(1'b0), .next_o(until_next), .value_o(until_fill)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q      <= 1'b0;
      budget_q    <= '0;
      replenish_q <= '0;
    end else if (set_i) begin
      open_q      <= 1'b0;
      budget_q    <= budget_i;
      replenish_q <= replenish_i;
    end else if (fill) begin
      open_q <= 1'b1;
    end
  end

  assign empty_o = open_q && left == '0;
  assign event_o = fill ? empty_o : tick_i && !set_i && takes && left_next == '0;

  // When the next one is, is for proofs and waveforms.
  logic unused;
  assign unused = ^until_fill;
endmodule
