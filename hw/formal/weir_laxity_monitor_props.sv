// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What weir_laxity_monitor promises, for any sequence of settings, ticks, releases and reports.
module weir_laxity_monitor_props #(
  parameter int unsigned Width = 4,
  parameter int unsigned JobWidth = 3,
  parameter bit Separation = 1'b1
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                tick_i,
  input logic                set_i,
  input logic                del_i,
  input logic [Width-1:0]    period_i,
  input logic [Width-1:0]    wcet_i,
  input logic [Width-1:0]    deadline_i,
  input logic [Width-1:0]    phase_i,
  input logic                sporadic_i,
  input logic                release_i,
  input logic                done_i,
  input logic [JobWidth-1:0] done_job_i,
  input logic                chosen_i
);
  logic                valid, ready, report, waits, miss, comes, ends, happens, live_q;
  logic [Width:0]      deadline;
  logic [Width-1:0]    left;
  logic [JobWidth-1:0] job;

  weir_laxity_monitor #(.Width(Width), .JobWidth(JobWidth), .Separation(Separation)) u_monitor (
    .clk_i, .rst_ni, .tick_i, .set_i, .del_i, .period_i, .wcet_i, .deadline_i, .phase_i, .sporadic_i,
    .release_i, .done_i, .done_job_i, .chosen_i, .valid_o(valid), .ready_o(ready), .deadline_o(deadline),
    .left_o(left), .job_o(job), .report_o(report), .waits_o(waits), .miss_o(miss), .come_o(comes),
    .end_o(ends), .event_o(happens)
  );

  // The engine lets such parameters pass only; SET_TASK and DEL_TASK are one register.
  always_comb begin
    assume (!(set_i && del_i));
    if (set_i) begin
      assume (wcet_i != '0 && wcet_i < period_i && wcet_i <= deadline_i && deadline_i <= period_i);
      assume (phase_i != '1);
      assume (Separation || deadline_i == period_i);
    end
  end

  // What was set, how long ago the last release was, and what the clock before looked like.
  logic                sporadic_q, ready_q, done_q, tick_q, set_q, del_q, chosen_q, miss_q, wait_q;
  logic [Width-1:0]    period_q, wcet_q, relative_q, left_q, since_q;
  logic [Width:0]      deadline_q;
  logic [JobWidth-1:0] job_q;
  logic                had_q, came, begged_q, happens_q;
  // Ticks to the next release of a periodic task; whether the clock before had to release a job.
  logic [Width-1:0]    next_q;
  logic [Width:0]      elapsed;
  logic                must, must_q;
  assign elapsed = (came ? '0 : {1'b0, since_q}) + (Width + 1)'(1);
  assign must    = tick_i && valid && !set_i && !del_i &&
                   (sporadic_q ? waits && (!(had_q || came) || elapsed >= {1'b0, period_q}) : next_q == Width'(1));
  // A report takes effect a clock after it came.
  logic                asked_q;
  logic [JobWidth-1:0] asked_job;

  assign came = live_q && job != job_q;

  // It begins with a reset.
  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q     <= 1'b0;
      asked_q    <= 1'b0;
      had_q      <= 1'b0;
      sporadic_q <= 1'b0;
      period_q   <= '0;
      wcet_q     <= '0;
      relative_q <= '0;
      since_q    <= '0;
      next_q     <= '0;
    end else begin
      live_q  <= 1'b1;
      asked_q <= done_i;
      if (set_i) begin
        sporadic_q <= Separation && sporadic_i;
        period_q   <= period_i;
        wcet_q     <= wcet_i;
        relative_q <= deadline_i;
        had_q      <= 1'b0;
        next_q     <= phase_i + Width'(1);
      end else begin
        if (tick_i) next_q <= next_q == Width'(1) ? period_q : next_q - Width'(1);
        // Ticks since the release before, of the same task.
        if (came) had_q <= 1'b1;
        if (came) since_q <= tick_i ? Width'(1) : '0;
        else if (tick_i && since_q != '1) since_q <= since_q + Width'(1);
      end
    end
  end
  always_ff @(posedge clk_i) begin
    ready_q    <= ready;
    wait_q     <= waits;
    deadline_q <= deadline;
    left_q     <= left;
    job_q      <= job;
    tick_q     <= tick_i;
    set_q      <= set_i;
    del_q      <= del_i;
    chosen_q   <= chosen_i;
    begged_q   <= release_i && valid && sporadic_q && !set_i && !del_i;
    miss_q     <= miss;
    happens_q  <= happens;
    must_q     <= must;
    asked_job  <= done_job_i;
    done_q     <= asked_q && asked_job == job;
  end

  always_comb if (rst_ni && live_q) begin
    // A report counts if it is of the job that there is when it takes effect.
    assert (report == (asked_q && asked_job == job));
    // A job wants a CPU only while there is a task and work left.
    if (ready) assert (valid && left != '0 && left <= wcet_q);
    if (valid) assert (wcet_q != '0 && wcet_q < period_q && relative_q <= period_q && relative_q != '0);
    if (!Separation && ready) assert (deadline != '0 && deadline <= {1'b0, period_q});
    if (!Separation && valid && ready) assert (relative_q == period_q);
    // Each release is in its tick: of a periodic task one a period, the first after its phase; of a sporadic one the first that may be.
    assert (came == must_q);
    if (came) begin
      // A job comes at a tick, whole, and is the next one.
      assert (tick_q && valid && ready && left == wcet_q && deadline == {1'b0, relative_q});
      assert (job == job_q + JobWidth'(1));
      // A sporadic job was asked for.
      if (Separation && sporadic_q) assert (wait_q);
    end else if (live_q && ready_q && !set_q && !del_q) begin
      // A job ends by its report or by using up its time, and by nothing else; a report of another job has no effect.
      assert (ready == !(done_q || (tick_q && chosen_q && left_q == Width'(1))));
    end else if (live_q && !ready_q) begin
      assert (!ready);
    end
    // Work is done in ticks with a CPU only, one a tick; time to the deadline passes in ticks only.
    if (ready_q && ready && !came) assert (left == left_q - Width'(tick_q && chosen_q));
    if (ready_q && ready && !came)
      assert (deadline == deadline_q - (Width + 1)'(tick_q && deadline_q != {1'b1, {Width{1'b0}}}));
    // A release that is asked for is remembered, in whatever clock it is, until a job comes.
    if (Separation && begged_q) assert (waits);
    else if (Separation && wait_q && !set_q && !del_q) assert (waits == !came);
    if (waits) assert (Separation && valid && sporadic_q);
    // What comes and ends is told in its clock.
    assert (comes == must);
    assert (ends == (ready && (report || (tick_i && chosen_i && left == Width'(1)))));
    // Each job that comes, ends or is dropped by a setting is an event, and nothing else is.
    assert (happens_q == (came || (ready_q && !ready)));
    // A miss is the tick in which the deadline of a job passes that has work left, and that no report or setting ends.
    assert (miss == (tick_i && ready && !report && !set_i && !del_i && deadline == (Width + 1)'(1) && left > Width'(chosen_i)));
    // A miss: the job is late now, and had work left.
    if (miss_q) assert (came || deadline == '0);
    if (miss_q) assert (ready_q && tick_q && left_q > Width'(chosen_q));
    cover (came && miss_q);
  end

  // Jobs of a task are a period apart at least; exactly, if it is periodic.
  always_comb if (rst_ni && live_q && came && had_q) begin
    if (Separation && sporadic_q) assert (since_q >= period_q);
    else assert (since_q == period_q);
  end

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  // It sees registers of the module: these wires are joined with them when the hierarchy is flattened.
  (* hierconn *) wire [Width-1:0] \u_monitor.period_q ;
  (* hierconn *) wire [Width-1:0] \u_monitor.wcet_q ;
  always_comb if (rst_ni && begun_q) begin
    if (!live_q) assert (!valid && !ready && job == '0 && !report && !waits && !asked_q);
    if (ready) assert (valid);
    if (valid) assert (\u_monitor.period_q == period_q && \u_monitor.wcet_q == wcet_q);
    if (valid) assert (wcet_q != '0 && wcet_q < period_q && relative_q <= period_q && relative_q != '0 && wcet_q <= relative_q);
    if (live_q && valid && !had_q && !came) assert (!ready);
  end
  // Time to the next release, of the counter that there is.
  (* hierconn *) wire             \u_monitor.gen_separation.sporadic_q ;
  (* hierconn *) wire [Width-1:0] \u_monitor.gen_separation.deadline_q ;
  (* hierconn *) wire [Width-1:0] \u_monitor.gen_separation.apart ;
  (* hierconn *) wire [Width-1:0] \u_monitor.gen_implicit.time_left ;
  logic [Width-1:0] apart;
  assign apart = Separation ? \u_monitor.gen_separation.apart : \u_monitor.gen_implicit.time_left ;
  always_comb if (rst_ni && live_q && valid) begin
    if (Separation) assert (\u_monitor.gen_separation.sporadic_q == sporadic_q && \u_monitor.gen_separation.deadline_q == relative_q);
    else assert (!sporadic_q && relative_q == period_q);
    if (!sporadic_q) assert (apart != '0 && apart == next_q);
    else if (!had_q && !came) assert (apart == '0);
    if (came) assert (apart == period_q);
    else if (had_q && apart != '0) assert (apart <= period_q && since_q == period_q - apart);
    else if (had_q) assert (since_q >= period_q);
  end
`endif
endmodule
