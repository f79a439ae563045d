// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_laxity_criticality promises, for any jobs that come, work and end as those of the monitors do.
module weir_laxity_criticality_props #(
  parameter int unsigned NumTasks = 2,
  parameter int unsigned Width = 4
) (
  input logic                         clk_i,
  input logic                         rst_ni,
  input logic                         tick_i,
  input logic                         raise_i,
  input logic [NumTasks-1:0]          set_i,
  input logic                         high_i,
  input logic [Width-1:0]             wcet_i,
  input logic [Width-1:0]             extra_i,
  input logic [Width-1:0]             cut_i,
  input logic [NumTasks-1:0]          come_i,
  input logic [NumTasks-1:0]          report_i,
  input logic [NumTasks-1:0]          chosen_i,
  input logic [NumTasks*(Width+1)-1:0] deadline_i
);
  // Tasks and their jobs: expected time, further time, how long the job has worked.
  logic [NumTasks-1:0]            high_q, ready_q, ends, had_q;
  logic [NumTasks-1:0][Width-1:0] wcet_q, extra_q, cut_q, worked_q, left;
  logic                           mode_q, raised_q, mode_d, live_q, over, unfinished;
  logic [15:0]                    switches_q;

  logic                           mode, happens;
  logic [NumTasks-1:0]            high, aside;
  logic [NumTasks-1:0][Width:0]   deadline_now;
  logic [NumTasks-1:0][Width-1:0] left_now;
  logic [15:0]                    switches;

  weir_laxity_criticality #(.NumTasks(NumTasks), .Width(Width)) u_criticality (
    .clk_i, .rst_ni, .tick_i, .raise_i, .set_i, .high_i, .extra_i, .cut_i, .ready_i(ready_q), .come_i, .end_i(ends), .chosen_i,
    .deadline_i, .left_i(left), .deadline_o(deadline_now), .left_o(left_now), .high_o(high), .aside_o(aside), .mode_o(mode),
    .switches_o(switches), .event_o(happens)
  );

  // It begins with a reset.
  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // What the engine and the monitors see to.
  always_comb begin
    if (set_i != '0) begin
      assume (wcet_i != '0 && {1'b0, wcet_i} + {1'b0, extra_i} < 1 << Width);
      assume (high_i || (extra_i == '0 && cut_i == '0));
    end
    for (int t = 0; t < NumTasks; t++) if (!tick_i || set_i[t] || wcet_q[t] == '0) assume (!come_i[t]);
  end

  always_comb begin
    over       = 1'b0;
    unfinished = 1'b0;
    for (int t = 0; t < NumTasks; t++) begin
      left[t] = wcet_q[t] + extra_q[t] - worked_q[t];
      ends[t] = ready_q[t] && (report_i[t] || (tick_i && chosen_i[t] && left[t] == Width'(1)));
      if (high_q[t] && ready_q[t] && !ends[t] && !come_i[t] && !set_i[t]) begin
        unfinished = 1'b1;
        if (chosen_i[t] && worked_q[t] + Width'(1) == wcet_q[t]) over = 1'b1;
      end
    end
    // A tick begins the high mode for an overrun or a command, and ends it when no high task has a job that goes on.
    mode_d = raised_q || (mode_q ? unfinished : over);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q     <= 1'b0;
      high_q     <= '0;
      ready_q    <= '0;
      had_q      <= '0;
      wcet_q     <= '0;
      extra_q    <= '0;
      cut_q      <= '0;
      worked_q   <= '0;
      mode_q     <= 1'b0;
      raised_q   <= 1'b0;
      switches_q <= '0;
    end else begin
      live_q   <= 1'b1;
      raised_q <= raise_i || (raised_q && !tick_i);
      if (tick_i) begin
        mode_q <= mode_d;
        if (mode_d && !mode_q) switches_q <= switches_q + 16'd1;
      end
      for (int t = 0; t < NumTasks; t++) begin
        if (set_i[t]) begin
          high_q[t]  <= high_i;
          wcet_q[t]  <= wcet_i;
          extra_q[t] <= extra_i;
          cut_q[t]   <= cut_i;
          ready_q[t] <= 1'b0;
        end else if (come_i[t]) begin
          ready_q[t]  <= 1'b1;
          worked_q[t] <= '0;
        end else if (ends[t]) ready_q[t] <= 1'b0;
        else if (tick_i && ready_q[t] && chosen_i[t]) worked_q[t] <= worked_q[t] + Width'(1);
        // Whether there was a high mode while there was this job.
        if (tick_i) had_q[t] <= mode_d || (had_q[t] && !come_i[t]);
      end
    end
  end

  always_comb if (rst_ni && live_q) begin
    assert (mode == mode_q && switches == switches_q && high == high_q);
    assert (happens == (tick_i && mode_d != mode_q));
    for (int t = 0; t < NumTasks; t++) begin
      logic signed [Width+2:0] sooner;
      sooner = $signed(deadline_i[t*(Width+1)+:Width+1]) - $signed({3'b000, mode_q ? Width'(0) : cut_q[t]});
      if (sooner < -$signed((Width+3)'(1) << Width)) sooner = -$signed((Width+3)'(1) << Width);
      // In the low mode no job of a high task goes on beyond its expected time.
      if (!mode && high_q[t] && ready_q[t]) assert (worked_q[t] < wcet_q[t]);
      // Decisions see the work and the time that are left in the mode.
      if (ready_q[t]) assert (left_now[t] == (mode ? wcet_q[t] + extra_q[t] : wcet_q[t]) - worked_q[t]);
      if (ready_q[t]) assert (left_now[t] != '0);
      assert (deadline_now[t] == sooner[Width:0]);
      // A low job that has seen the high mode is set aside until it is over; no high one ever is.
      if (ready_q[t]) assert (aside[t] == (!high_q[t] && had_q[t]));
    end
    cover (mode && !happens && switches == 16'd2);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  (* hierconn *) wire                      \u_criticality.raise_q ;
  (* hierconn *) wire [NumTasks*Width-1:0] \u_criticality.extra_q ;
  (* hierconn *) wire [NumTasks*Width-1:0] \u_criticality.cut_q ;
  always_comb if (rst_ni && live_q) begin
    assert (\u_criticality.raise_q == raised_q && \u_criticality.extra_q == extra_q && \u_criticality.cut_q == cut_q);
    for (int t = 0; t < NumTasks; t++) begin
      assert ({1'b0, wcet_q[t]} + {1'b0, extra_q[t]} < 1 << Width);
      if (!high_q[t]) assert (extra_q[t] == '0 && cut_q[t] == '0);
      if (ready_q[t]) assert (worked_q[t] < wcet_q[t] + extra_q[t] && wcet_q[t] != '0);
    end
  end
`endif
endmodule
