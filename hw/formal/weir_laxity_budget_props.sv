// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_laxity_budget promises, for any sequence of settings, ticks, jobs and work.
module weir_laxity_budget_props #(
  parameter int unsigned Width = 4
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             tick_i,
  input logic             set_i,
  input logic [Width-1:0] budget_i,
  input logic [Width-1:0] replenish_i,
  input logic             come_i,
  input logic             works_i
);
  logic empty, happens, live_q;

  weir_laxity_budget #(.Width(Width)) u_budget (
    .clk_i, .rst_ni, .tick_i, .set_i, .budget_i, .replenish_i, .come_i, .works_i, .empty_o(empty), .event_o(happens)
  );

  // It begins with a reset.
  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // The engine lets such parameters pass only, gives a task that is withheld no CPU, and lets a job come in no clock of a setting.
  always_comb begin
    if (set_i && budget_i != '0) assume (budget_i <= replenish_i);
    if (empty) assume (!works_i);
    if (!tick_i || set_i) assume (!come_i);
  end

  // What was set; whether a job has come; ticks since the last replenishment, and those with work among them.
  logic             open_q, fills, empty_q, happens_q;
  logic [Width-1:0] budget_q, replenish_q, since_q, worked_q;
  assign fills = tick_i && !set_i && budget_q != '0 && (open_q ? since_q == replenish_q - Width'(1) : come_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q      <= 1'b0;
      open_q      <= 1'b0;
      budget_q    <= '0;
      replenish_q <= '0;
      since_q     <= '0;
      worked_q    <= '0;
      empty_q     <= 1'b0;
      happens_q   <= 1'b0;
    end else begin
      live_q    <= 1'b1;
      empty_q   <= empty;
      happens_q <= happens && !set_i;
      if (set_i) begin
        open_q      <= 1'b0;
        budget_q    <= budget_i;
        replenish_q <= replenish_i;
        empty_q     <= 1'b0;
      end else if (fills) begin
        open_q   <= 1'b1;
        since_q  <= '0;
        worked_q <= '0;
      end else if (tick_i) begin
        since_q <= since_q + Width'(1);
        if (open_q && works_i) worked_q <= worked_q + Width'(1);
      end
    end
  end

  always_comb if (rst_ni && live_q) begin
    // Between two replenishments a task never works longer than its budget, and is withheld exactly once it has.
    if (open_q) assert (worked_q <= budget_q);
    assert (empty == (open_q && worked_q == budget_q));
    // Replenishments are as far apart as was set.
    if (open_q) assert (since_q < replenish_q);
    // Whoever is withheld or may run again is an event, and nothing else is; a setting is none.
    if (set_i) assert (!happens);
    assert (happens_q == (empty != empty_q));
    cover (empty && since_q == Width'(3));
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  (* hierconn *) wire             \u_budget.open_q ;
  (* hierconn *) wire [Width-1:0] \u_budget.budget_q ;
  (* hierconn *) wire [Width-1:0] \u_budget.replenish_q ;
  (* hierconn *) wire [Width-1:0] \u_budget.left ;
  (* hierconn *) wire [Width-1:0] \u_budget.until_fill ;
  always_comb if (rst_ni && live_q) begin
    assert (\u_budget.open_q == open_q && \u_budget.budget_q == budget_q && \u_budget.replenish_q == replenish_q);
    if (open_q) assert (budget_q != '0 && budget_q <= replenish_q);
    if (budget_q != '0) assert (budget_q <= replenish_q);
    if (open_q) assert (\u_budget.left == budget_q - worked_q && \u_budget.until_fill == replenish_q - since_q);
  end
`endif
endmodule
