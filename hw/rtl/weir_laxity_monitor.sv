// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_laxity_monitor - follow one task: time to its deadline, work left, ready or done, job number.
///
/// A job is ready from its release until it reports DONE or has used up its execution time, whichever comes first. A release
/// takes place at a tick; a job that is still unfinished then is dropped (it was counted as a miss at its deadline). With
/// Separation off the deadline is the period and one counter serves both; with it on, deadlines may be shorter than
/// periods, and sporadic tasks are released on demand, no sooner than a period after the release before.
///
/// latency:  all outputs hold the new state one clock after the input; a report takes effect a clock later than the others, because its
///           job number is compared first
/// area:     O(Width): two counters, three with Separation
/// source:   Mancuso et al., V-B4; sporadic tasks and phases are ours
module weir_laxity_monitor #(
  /// Bits of times, in ticks.
  parameter int unsigned Width = 16,
  /// Bits of the job number.
  parameter int unsigned JobWidth = 8,
  /// 1: a separate counter for the time to the next release.
  parameter bit Separation = 1'b1
) (
  input  logic                clk_i,       /// Clock, rising edge.
  input  logic                rst_ni,      /// Reset, asynchronous, active low.
  input  logic                tick_i,      /// A scheduling tick.
  input  logic                set_i,       /// Take the parameters below; the first release is at a tick, phase_i ticks later.
  input  logic                del_i,       /// Forget the task.
  input  logic [Width-1:0]    period_i,    /// Period or least time between releases, ticks, above 0.
  input  logic [Width-1:0]    wcet_i,      /// Execution time of a job, ticks, above 0.
  input  logic [Width-1:0]    deadline_i,  /// Relative deadline, ticks, above 0; looked at with Separation only.
  input  logic [Width-1:0]    phase_i,     /// Ticks that the first release is put off; below the greatest number.
  input  logic                sporadic_i,  /// Released by release_i only; looked at with Separation only.
  input  logic                release_i,   /// Ask for a release of a sporadic task; one is remembered.
  input  logic                done_i,      /// Job done_job_i is complete: takes effect in the next clock, as if it came then.
  input  logic [JobWidth-1:0] done_job_i,  /// Which job.
  input  logic                chosen_i,    /// The task has a CPU.
  output logic                valid_o,     /// There is such a task.
  output logic                ready_o,     /// A job wants a CPU.
  output logic [Width:0]      deadline_o,  /// Ticks to the deadline, signed: below 0 once it has passed.
  output logic [Width-1:0]    left_o,      /// Ticks of work left.
  output logic [JobWidth-1:0] job_o,       /// Number of the present job.
  output logic                report_o,    /// In this clock a report of the present job takes effect.
  output logic                waits_o,     /// A sporadic release is remembered.
  output logic                miss_o,      /// In a tick: the deadline passes and the job is not complete.
  output logic                come_o,      /// In a tick: a job comes.
  output logic                end_o,       /// In this clock the job ends by its report or its time.
  output logic                event_o      /// In this clock a job comes or ends.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (Width < 2 || Width > 16) $error("weir_laxity_monitor: Width is 2 to 16, not %0d", Width);
  if (JobWidth < 1 || JobWidth > 8) $error("weir_laxity_monitor: JobWidth is 1 to 8, not %0d", JobWidth);

  logic                valid_q, ready_q, report_q;
  logic [Width-1:0]    period_q, wcet_q;
  logic [JobWidth-1:0] job_q;
  logic                done, count_left, spent, due, come, pass;
  logic [Width-1:0]    left, left_next;

  assign done       = report_q && ready_q;
  assign count_left = chosen_i && ready_q;
  assign spent      = left_next == '0;
  assign come       = tick_i && valid_q && due && !set_i && !del_i;

  // The number that the job has when the report takes effect; both are compared, because a release is known late in a clock.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) report_q <= 1'b0;
    else report_q <= done_i && (come ? done_job_i - JobWidth'(1) == job_q : done_job_i == job_q);
  end

  weir_monitor #(.Width(Width)) u_left (
    .clk_i, .rst_ni, .load_i(come), .value_i(wcet_q), .tick_i(tick_i), .count_i(count_left),
    .step_i(Width'(1)), .up_i(1'b0), .next_o(left_next), .value_o(left)
  );

  if (Separation) begin : gen_separation
    logic             sporadic_q, wait_q;
    logic [Width-1:0] deadline_q;
    logic [Width:0]   time_left, time_next;
    logic [Width-1:0] apart, apart_next;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        sporadic_q <= 1'b0;
        wait_q     <= 1'b0;
        deadline_q <= '0;
      end else if (set_i) begin
        sporadic_q <= sporadic_i;
        wait_q     <= 1'b0;
        deadline_q <= deadline_i;
      end else if (del_i) begin
        wait_q <= 1'b0;
      end else if (come || release_i) begin
        wait_q <= release_i && valid_q && sporadic_q;
      end
    end

    // Stops at the most negative number: a late job of a sporadic task may wait for its successor for long.
    weir_monitor #(.Width(Width + 1)) u_deadline (
      .clk_i, .rst_ni, .load_i(come), .value_i({1'b0, deadline_q}), .tick_i(tick_i),
      .count_i(time_left != {1'b1, {Width{1'b0}}}), .step_i((Width + 1)'(1)), .up_i(1'b0),
      .next_o(time_next), .value_o(time_left)
    );
    weir_monitor #(.Width(Width)) u_apart (
      .clk_i, .rst_ni, .load_i(come || set_i),
      .value_i(set_i ? (sporadic_i ? '0 : phase_i + Width'(1)) : period_q), .tick_i(tick_i),
      .count_i(apart != '0), .step_i(Width'(1)), .up_i(1'b0), .next_o(apart_next), .value_o(apart)
    );
    assign due        = apart_next == '0 && (!sporadic_q || wait_q);
    assign pass       = time_next == '0;
    assign deadline_o = time_left;
    assign waits_o    = wait_q;
  end else begin : gen_implicit
    logic [Width-1:0] time_left, time_next;

    weir_monitor #(.Width(Width)) u_deadline (
      .clk_i, .rst_ni, .load_i(come || set_i), .value_i(set_i ? phase_i + Width'(1) : period_q),
      .tick_i(tick_i), .count_i(1'b1), .step_i(Width'(1)), .up_i(1'b0), .next_o(time_next),
      .value_o(time_left)
    );
    assign due        = time_next == '0;
    assign pass       = due;
    assign deadline_o = {1'b0, time_left};
    assign waits_o    = 1'b0;
    logic unused;
    assign unused = ^{deadline_i, sporadic_i, release_i};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q  <= 1'b0;
      ready_q  <= 1'b0;
      period_q <= '0;
      wcet_q   <= '0;
      job_q    <= '0;
    end else if (set_i) begin
      valid_q  <= 1'b1;
      ready_q  <= 1'b0;
      period_q <= period_i;
      wcet_q   <= wcet_i;
    end else if (del_i) begin
      valid_q <= 1'b0;
      ready_q <= 1'b0;
    end else begin
      if (come) begin
        ready_q <= 1'b1;
        job_q   <= job_q + JobWidth'(1);
      end else if (done || (tick_i && spent)) begin
        ready_q <= 1'b0;
      end
    end
  end

  assign valid_o = valid_q;
  assign ready_o = ready_q;
  assign left_o  = left;
  assign job_o   = job_q;
  assign report_o = report_q;
  assign come_o  = come;
  assign end_o   = done || (tick_i && ready_q && spent);
  assign miss_o  = tick_i && valid_q && ready_q && !done && !spent && pass && !set_i && !del_i;
  assign event_o = come || end_o || ((set_i || del_i) && ready_q);
endmodule
