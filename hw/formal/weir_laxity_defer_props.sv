// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_laxity_defer promises: after a decision, as many ticks without one as the ready tasks of that decision allow, unless a job
/// comes or ends.
module weir_laxity_defer_props #(
  parameter int unsigned NumTasks = 3,
  parameter int unsigned Width = 3
) (
  input logic                            clk_i,
  input logic                            rst_ni,
  input logic                            start_i,
  input logic                            tick_i,
  input logic                            event_i,
  input logic [NumTasks-1:0]             ready_i,
  input logic [NumTasks*(Width+1)-1:0]   deadline_i,
  input logic [NumTasks*Width-1:0]       left_i
);
  // From start_i on so many clocks pass before a tick counts on it.
  localparam int unsigned Clocks = NumTasks + 2;
  localparam int unsigned AgeWidth = $clog2(Clocks + 2);
  typedef logic signed [Width+2:0] time_t;

  logic due;
  weir_laxity_defer #(.NumTasks(NumTasks), .Width(Width)) u_defer (
    .clk_i, .rst_ni, .start_i, .tick_i, .event_i, .ready_i, .deadline_i, .left_i, .due_o(due)
  );

  // It begins with a reset.
  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  // The clocks since the decision; the tasks of that time; whether one of them has changed since, which an event says.
  logic                  live_q, calm_q, event_q, tick_q;
  logic [AgeWidth-1:0]   age_q;
  logic [NumTasks-1:0]   ready_q;
  logic [NumTasks-1:0][Width+2:0] deadline_q, laxity_q;
  // By the paper's rule: the time to the earliest deadline less the least laxity.
  time_t                 first, least, alpha;
  // Ticks that are still to be skipped.
  logic [Width+2:0]      wait_q;
  always_comb begin
    first = time_t'(0);
    least = time_t'(0);
    for (int t = 0; t < NumTasks; t++) begin
      logic earliest, tightest;
      earliest = ready_q[t];
      tightest = ready_q[t];
      for (int u = 0; u < NumTasks; u++) begin
        if (ready_q[u] && $signed(deadline_q[u]) < $signed(deadline_q[t])) earliest = 1'b0;
        if (ready_q[u] && $signed(laxity_q[u]) < $signed(laxity_q[t])) tightest = 1'b0;
      end
      if (earliest) first = deadline_q[t];
      if (tightest) least = laxity_q[t];
    end
    alpha = first - least;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q  <= 1'b0;
      calm_q  <= 1'b0;
      event_q <= 1'b0;
      tick_q  <= 1'b1;
      age_q   <= AgeWidth'(Clocks + 1);
      ready_q <= '0;
      wait_q  <= '0;
    end else begin
      live_q  <= 1'b1;
      event_q <= (event_q || event_i) && !(tick_i && due);
      tick_q  <= (tick_q || tick_i) && !start_i;
      if (start_i) begin
        age_q   <= AgeWidth'(1);
        calm_q  <= 1'b1;
        ready_q <= ready_i;
        for (int t = 0; t < NumTasks; t++) begin
          deadline_q[t] <= time_t'($signed(deadline_i[t*(Width+1)+:Width+1]));
          laxity_q[t]   <= time_t'($signed(deadline_i[t*(Width+1)+:Width+1])) - $signed({3'b000, left_i[t*Width+:Width]});
        end
      end else begin
        if (age_q <= AgeWidth'(Clocks)) age_q <= age_q + AgeWidth'(1);
        if (event_i) calm_q <= 1'b0;
      end
      if (tick_i) wait_q <= due || wait_q == '0 ? '0 : wait_q - (Width+3)'(1);
      else if (!start_i && age_q == AgeWidth'(Clocks)) wait_q <= ready_q != '0 && alpha > time_t'(1) ? alpha - time_t'(1) : '0;
    end
  end

  always_comb begin
    // One decision a tick at most, and no tick before the tasks have been read.
    if (!tick_q) assume (!start_i);
    if (start_i || age_q <= AgeWidth'(Clocks)) assume (!tick_i);
    // Times change with ticks, jobs with events.
    if (age_q <= AgeWidth'(Clocks) && calm_q && !event_i) begin
      assume (ready_i == ready_q);
      for (int t = 0; t < NumTasks; t++)
        if (ready_q[t]) begin
          assume (time_t'($signed(deadline_i[t*(Width+1)+:Width+1])) == deadline_q[t]);
          assume (deadline_q[t] - $signed({3'b000, left_i[t*Width+:Width]}) == laxity_q[t]);
        end
    end
  end

  always_comb if (rst_ni && live_q) begin
    // A tick brings a decision exactly if no tick is left to be skipped, or a job has come or ended since the last that did.
    if (age_q > AgeWidth'(Clocks)) assert (due == (wait_q == '0 || event_q || event_i));
    // No decision is put off for as long as all tasks have work left.
    if (age_q > AgeWidth'(Clocks) && wait_q != '0) begin
      logic works;
      works = 1'b0;
      for (int t = 0; t < NumTasks; t++) if (ready_q[t] && wait_q < deadline_q[t] - laxity_q[t]) works = 1'b1;
      assert (works);
    end
    cover (tick_i && !due && wait_q == (Width+3)'(2));
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  localparam int unsigned IdxWidth = (NumTasks > 1) ? $clog2(NumTasks) : 1;
  (* hierconn *) wire [IdxWidth-1:0] \u_defer.idx_q ;
  (* hierconn *) wire                \u_defer.read_q ;
  (* hierconn *) wire                \u_defer.look_q ;
  (* hierconn *) wire                \u_defer.last_q ;
  (* hierconn *) wire                \u_defer.done_q ;
  (* hierconn *) wire                \u_defer.ready_q ;
  (* hierconn *) wire                \u_defer.found_q ;
  (* hierconn *) wire                \u_defer.event_q ;
  (* hierconn *) wire [Width+1:0]    \u_defer.deadline_q ;
  (* hierconn *) wire [Width+1:0]    \u_defer.laxity_q ;
  (* hierconn *) wire [Width+1:0]    \u_defer.first_q ;
  (* hierconn *) wire [Width+1:0]    \u_defer.least_q ;
  (* hierconn *) wire [Width+1:0]    \u_defer.skip_q ;
  // What has been read so far: the least of the tasks before one.
  logic               found;
  logic [Width+2:0]   earliest_yet, tightest_yet;
  always_comb begin
    found        = 1'b0;
    earliest_yet = '0;
    tightest_yet = '0;
    for (int t = 0; t < NumTasks; t++)
      if (ready_q[t] && 32'(age_q) > 32'(t) + 32'd2) begin
        if (!found || $signed(deadline_q[t]) < $signed(earliest_yet)) earliest_yet = deadline_q[t];
        if (!found || $signed(laxity_q[t]) < $signed(tightest_yet)) tightest_yet = laxity_q[t];
        found = 1'b1;
      end
  end
  always_comb if (rst_ni && live_q) begin
    assert (\u_defer.event_q == event_q);
    assert (age_q != '0 && age_q <= AgeWidth'(Clocks + 1));
    // One task after the other is read, looked at a clock later.
    assert (\u_defer.read_q == (age_q <= AgeWidth'(NumTasks)));
    if (\u_defer.read_q ) assert (32'(\u_defer.idx_q ) + 32'd1 == 32'(age_q));
    assert (\u_defer.look_q == (age_q >= AgeWidth'(2) && age_q <= AgeWidth'(NumTasks + 1)));
    assert (\u_defer.last_q == (age_q == AgeWidth'(NumTasks + 1)) && \u_defer.done_q == (age_q == AgeWidth'(Clocks)));
    if (age_q <= AgeWidth'(Clocks)) begin
      assert (!tick_q);
      // Of tasks that have changed anything may have been read: an event is pending then.
      assert (calm_q || event_q);
      if (calm_q) begin
        assert (\u_defer.found_q == found);
        if (found) assert ($signed(\u_defer.first_q ) == $signed(earliest_yet) && $signed(\u_defer.least_q ) == $signed(tightest_yet));
        for (int t = 0; t < NumTasks; t++)
          if (32'(age_q) == 32'(t) + 32'd2) begin
            assert (\u_defer.ready_q == ready_q[t]);
            if (ready_q[t])
              assert ($signed(\u_defer.deadline_q ) == $signed(deadline_q[t]) && $signed(\u_defer.laxity_q ) == $signed(laxity_q[t]));
          end
      end
    end else assert (event_q || (Width+3)'(\u_defer.skip_q ) == wait_q);
    // No time is beyond its bits.
    for (int t = 0; t < NumTasks; t++)
      if (ready_q[t]) begin
        logic [Width+2:0] work;
        work = deadline_q[t] - laxity_q[t];
        assert (work < (Width+3)'(1) << Width);
        assert ($signed(deadline_q[t]) >= -$signed((Width+3)'(1) << Width) && $signed(deadline_q[t]) < $signed((Width+3)'(1) << Width));
      end
  end
`endif
endmodule
