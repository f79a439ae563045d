// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_laxity_criticality - two modes for tasks of two levels: what decisions have to see of each task.
///
/// In the low mode a high task has the execution time and the (virtual) deadline that are expected to do. If the job of one has
/// worked for that time and is not complete, the high mode begins: high tasks have their greatest execution time and their own
/// deadline, and low jobs are set aside, each for good: they get what time is left. The low mode returns at a tick when no high task
/// has an unfinished job. A job that its successor drops counts no more.
///
/// latency:  all outputs are about the new tick one clock after it
/// area:     O(NumTasks * Width): two registers and two subtractions a task
/// source:   Baruah et al., EDF-VD, 2012, section 4; Vestal, 2007; the rules of components/order/edf_vd.c
module weir_laxity_criticality #(
  /// Tasks, 1..64.
  parameter int unsigned NumTasks = 16,
  /// Bits of times, in ticks.
  parameter int unsigned Width = 16
) (
  input  logic                           clk_i,       /// Clock, rising edge.
  input  logic                           rst_ni,      /// Reset, asynchronous, active low: the low mode, no high tasks.
  input  logic                           tick_i,      /// A scheduling tick.
  input  logic                           raise_i,     /// The high mode is to begin with the next tick.
  input  logic [NumTasks-1:0]            set_i,       /// Take the parameters below for this task.
  input  logic                           high_i,      /// It is a high task.
  input  logic [Width-1:0]               extra_i,     /// Ticks that it may work in the high mode only; 0 for a low one.
  input  logic [Width-1:0]               cut_i,       /// Ticks by which its deadline is sooner in the low mode; 0 for a low one.
  input  logic [NumTasks-1:0]            ready_i,     /// Tasks that have a job.
  input  logic [NumTasks-1:0]            come_i,      /// In a tick: a job comes.
  input  logic [NumTasks-1:0]            end_i,       /// In this clock the job ends.
  input  logic [NumTasks-1:0]            chosen_i,    /// Tasks that have a CPU.
  input  logic [NumTasks-1:0][Width:0]   deadline_i,  /// Ticks to their deadlines, signed.
  input  logic [NumTasks-1:0][Width-1:0] left_i,      /// Ticks of work left, in the high mode.
  output logic [NumTasks-1:0][Width:0]   deadline_o,  /// Ticks to the deadlines of this mode, signed.
  output logic [NumTasks-1:0][Width-1:0] left_o,      /// Ticks of work left in this mode.
  output logic [NumTasks-1:0]            high_o,      /// High tasks.
  output logic [NumTasks-1:0]            aside_o,     /// Low tasks whose job is set aside.
  output logic                           mode_o,      /// The high mode.
  output logic [15:0]                    switches_o,  /// How often it began.
  output logic                           event_o      /// In this clock the mode changes.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumTasks < 1 || NumTasks > 64) $error("weir_laxity_criticality: NumTasks is 1 to 64, not %0d", NumTasks);
  if (Width < 2 || Width > 16) $error("weir_laxity_criticality: Width is 2 to 16, not %0d", Width);

  logic                           mode_q, mode_d, raise_q;
  logic [15:0]                    switches_q;
  logic [NumTasks-1:0]            high_q, aside_q, over, stays;
  logic [NumTasks-1:0][Width-1:0] extra_q, cut_q;

  // What the tick leaves unfinished, and what of it has worked for all of the expected time.
  assign stays = high_q & ready_i & ~end_i & ~come_i & ~set_i;
  for (genvar t = 0; t < NumTasks; t++) begin : gen_over
    assign over[t] = stays[t] && chosen_i[t] && left_i[t] - Width'(1) == extra_q[t];
  end
  assign mode_d  = raise_q || (mode_q ? |stays : |over);
  assign event_o = tick_i && mode_d != mode_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mode_q     <= 1'b0;
      raise_q    <= 1'b0;
      switches_q <= '0;
    end else begin
      raise_q <= raise_i || (raise_q && !tick_i);
      if (tick_i) mode_q <= mode_d;
      if (event_o && mode_d) switches_q <= switches_q + 16'd1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      high_q  <= '0;
      aside_q <= '0;
      extra_q <= '0;
      cut_q   <= '0;
    end else begin
      for (int unsigned t = 0; t < NumTasks; t++) begin
        if (set_i[t]) begin
          high_q[t]  <= high_i;
          extra_q[t] <= extra_i;
          cut_q[t]   <= cut_i;
        end
        if (tick_i) aside_q[t] <= !high_q[t] && (mode_d || (aside_q[t] && !come_i[t]));
      end
    end
  end

  for (genvar t = 0; t < NumTasks; t++) begin : gen_now
    logic [Width+1:0] sooner;
    // Stops at the most negative number, as the counter does.
    assign sooner        = {deadline_i[t][Width], deadline_i[t]} - {2'b00, mode_q ? Width'(0) : cut_q[t]};
    assign deadline_o[t] = sooner[Width+1:Width] == 2'b10 ? {1'b1, Width'(0)} : sooner[Width:0];
    assign left_o[t]     = left_i[t] - (mode_q ? Width'(0) : extra_q[t]);
  end

  assign high_o     = high_q;
  assign aside_o    = aside_q;
  assign mode_o     = mode_q;
  assign switches_o = switches_q;
endmodule
