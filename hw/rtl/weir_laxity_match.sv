// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_laxity_match - which CPU gets which of the chosen tasks ("mix and match").
///
/// A chosen task that a CPU holds goes to that CPU; a task that is chosen again stays on its CPU (R5) unless that one has such a task;
/// the others go to the remaining CPUs, the most urgent one to the lowest number; CPUs without a task idle. A task that stops being ready meanwhile is not given to any CPU; its place stays empty
/// until the next decision.
///
/// latency:  2 clocks from valid_i to decided_o
/// area:     O(NumCpus^2) comparators of task numbers, one multiplexer of NumTasks bits per CPU
/// source:   Mancuso et al., IV-B3
module weir_laxity_match #(
  /// Tasks, 2..64.
  parameter int unsigned NumTasks = 16,
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 2,
  /// Bits of a task number.
  parameter int unsigned IdWidth = 4
) (
  input  logic                            clk_i,      /// Clock, rising edge.
  input  logic                            rst_ni,     /// Reset, asynchronous, active low: no task anywhere.
  input  logic                            valid_i,    /// The choice is there.
  input  logic [NumCpus-1:0]              some_i,     /// Place i of the choice holds a task.
  input  logic [NumCpus-1:0][IdWidth-1:0] best_i,     /// The chosen tasks, the most urgent one first.
  input  logic [NumTasks-1:0]             ready_i,    /// Tasks that are ready.
  input  logic [NumTasks-1:0]             drop_i,     /// Tasks that stop being ready in this clock.
  input  logic                            stay_i,     /// 1: R5 holds; 0: the order alone decides.
  input  logic [NumCpus-1:0]              hold_i,     /// The CPU holds the task below, and must keep it; no task has two CPUs.
  input  logic [NumCpus-1:0][IdWidth-1:0] held_i,     /// Which one.
  output logic                            decided_o,  /// One clock: the outputs below are those of a new decision.
  output logic [NumCpus-1:0]              busy_o,     /// The CPU has a task.
  output logic [NumCpus-1:0][IdWidth-1:0] task_o,     /// Its number; of an idle CPU the last one that it had.
  output logic [NumTasks-1:0]             chosen_o    /// Tasks that have a CPU.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumTasks < 2 || NumTasks > 64) $error("weir_laxity_match: NumTasks is 2 to 64, not %0d", NumTasks);
  if (NumCpus < 1 || NumCpus > 8) $error("weir_laxity_match: NumCpus is 1 to 8, not %0d", NumCpus);
  if (IdWidth != $clog2(NumTasks)) $error("weir_laxity_match: IdWidth is as many bits as NumTasks needs, not %0d", IdWidth);

  typedef logic [IdWidth-1:0] id_t;

  // First stage: tasks that are still ready, and their previous CPUs.
  logic               go_q;
  logic [NumCpus-1:0] some_q, some_d;
  id_t [NumCpus-1:0]  best_q;
  logic [NumCpus-1:0][NumCpus-1:0] home_q, home_d, kept;
  logic [NumCpus-1:0]              keeps;

  logic [NumCpus-1:0] busy_q, busy_d;
  id_t [NumCpus-1:0]  task_q, task_d;
  logic [NumTasks-1:0] chosen_q, chosen_d, awake;
  logic               decided_q;

  assign awake = ready_i & ~drop_i;

  for (genvar b = 0; b < NumCpus; b++) begin : gen_place
    assign some_d[b] = some_i[b] && awake[best_i[b]];
    for (genvar c = 0; c < NumCpus; c++) begin : gen_home
      assign kept[b][c]   = hold_i[c] && some_d[b] && held_i[c] == best_i[b];
      assign home_d[b][c] = kept[b][c] || (stay_i && busy_q[c] && task_q[c] == best_i[b] && !keeps[c] && kept[b] == '0);
    end
  end
  always_comb begin
    keeps = '0;
    for (int unsigned b = 0; b < NumCpus; b++) keeps = keeps | kept[b];
  end

  // Second stage: staying tasks first, then the others in order to free CPUs.
  logic [NumCpus-1:0] some, taken, placed;
  always_comb begin
    busy_d = '0;
    task_d = task_q;
    placed = '0;
    for (int unsigned b = 0; b < NumCpus; b++) some[b] = some_q[b] && !drop_i[best_q[b]];
    for (int unsigned b = 0; b < NumCpus; b++) begin
      for (int unsigned c = 0; c < NumCpus; c++) begin
        if (some[b] && home_q[b][c]) begin
          busy_d[c] = 1'b1;
          task_d[c] = best_q[b];
          placed[b] = 1'b1;
        end
      end
    end
    taken = busy_d;
    for (int unsigned b = 0; b < NumCpus; b++) begin
      for (int unsigned c = 0; c < NumCpus; c++) begin
        if (some[b] && !placed[b] && !taken[c]) begin
          busy_d[c] = 1'b1;
          task_d[c] = best_q[b];
          taken[c]  = 1'b1;
          placed[b] = 1'b1;
        end
      end
    end
  end

  for (genvar t = 0; t < NumTasks; t++) begin : gen_chosen
    logic [NumCpus-1:0] on;
    for (genvar c = 0; c < NumCpus; c++) begin : gen_cpu
      assign on[c] = busy_d[c] && task_d[c] == IdWidth'(t);
    end
    assign chosen_d[t] = |on;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      go_q      <= 1'b0;
      some_q    <= '0;
      best_q    <= '0;
      home_q    <= '0;
      decided_q <= 1'b0;
      busy_q    <= '0;
      task_q    <= '0;
      chosen_q  <= '0;
    end else begin
      go_q      <= valid_i;
      decided_q <= go_q;
      if (valid_i) begin
        some_q <= some_d;
        best_q <= best_i;
        home_q <= home_d;
      end
      if (go_q) begin
        busy_q   <= busy_d;
        task_q   <= task_d;
        chosen_q <= chosen_d;
      end
    end
  end

  assign decided_o = decided_q;
  assign busy_o    = busy_q;
  assign task_o    = task_q;
  assign chosen_o  = chosen_q;
endmodule
