// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_cpus - which thread each CPU runs, how urgent that is, and which CPU makes room for a more urgent one.
///
/// A part of the thread schedulers: weir_lists and weir_ordered. Of the CPUs that may be interrupted, the one that runs the least urgent
/// thread is, if something strictly more urgent waits: an idle one first, of equals the one with the lowest number.
///
/// latency:  an interrupt follows its reason by one clock
/// area:     O(NumCpus) registers, a comparator per pair of CPUs
/// source:   ours
module weir_cpus #(
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 1,
  /// Bits of a thread number.
  parameter int unsigned IdWidth = 8,
  /// Bits of a rank; the greatest is the most urgent.
  parameter int unsigned RankWidth = 8,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input  logic                 clk_i,       /// Clock, rising edge.
  input  logic                 rst_ni,      /// Reset, asynchronous, active low: all run thread 0 as their idle one, and are not interrupted.
  input  logic [CpuWidth-1:0]  cpu_i,       /// The CPU that the next inputs are about, but for ranked_i; below NumCpus.
  input  logic                 run_i,       /// It runs thread id_i, of rank rank_i.
  input  logic                 rest_i,      /// It runs its idle thread.
  input  logic                 set_idle_i,  /// Its idle thread is id_i.
  input  logic                 set_may_i,   /// Whether it may be interrupted is may_i.
  input  logic                 may_i,       /// See set_may_i.
  input  logic                 ranked_i,    /// The rank of thread id_i is rank_i now, on whichever CPU it runs.
  input  logic [IdWidth-1:0]   id_i,        /// A thread.
  input  logic [RankWidth-1:0] rank_i,      /// A rank.
  output logic                 runs_o,      /// CPU cpu_i runs a thread that is not its idle one.
  output logic [IdWidth-1:0]   current_o,   /// What it runs.
  output logic [RankWidth-1:0] rank_o,      /// The rank of what it runs, or ran last.
  output logic [IdWidth-1:0]   idle_o,      /// Its idle thread.
  output logic                 may_o,       /// It may be interrupted.
  input  logic                 waits_i,     /// A thread waits, and it is known which one is the first.
  input  logic [RankWidth-1:0] first_i,     /// Its rank.
  input  logic [NumCpus-1:0]   stop_i,      /// The CPU's thread may not run any more: interrupt it.
  output logic [NumCpus-1:0]   irq_o        /// The CPU has to switch: level.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumCpus < 1 || NumCpus > 8) $error("weir_cpus: NumCpus is 1 to 8, not %0d", NumCpus);
  if (IdWidth < 1 || IdWidth > 8) $error("weir_cpus: IdWidth is 1 to 8, not %0d", IdWidth);
  if (RankWidth < 1 || RankWidth > 64) $error("weir_cpus: RankWidth is 1 to 64, not %0d", RankWidth);

  logic [NumCpus-1:0]                runs_q, may_q, irq_q, runs;
  logic [NumCpus-1:0][IdWidth-1:0]   current_q, idle_q;
  logic [NumCpus-1:0][RankWidth-1:0] rank_q;
  // With a bit above them, for CPUs that run nothing.
  logic [NumCpus-1:0][RankWidth:0]   level;

  assign runs      = runs_q & ~stop_i;
  assign runs_o    = runs_q[cpu_i];
  assign current_o = runs_q[cpu_i] ? current_q[cpu_i] : idle_q[cpu_i];
  assign rank_o    = rank_q[cpu_i];
  assign idle_o    = idle_q[cpu_i];
  assign may_o     = may_q[cpu_i];

  for (genvar c = 0; c < NumCpus; c++) begin : gen_cpu
    // CPUs that make room rather than this one.
    logic [NumCpus-1:0] others;
    assign level[c] = runs[c] ? {1'b1, rank_q[c]} : '0;
    for (genvar d = 0; d < NumCpus; d++) begin : gen_other
      if (d < c) begin : gen_lower
        assign others[d] = may_q[d] && level[d] <= level[c];
      end else if (d > c) begin : gen_higher
        assign others[d] = may_q[d] && level[d] < level[c];
      end else begin : gen_same
        assign others[d] = 1'b0;
      end
    end

    logic mine;
    assign mine = cpu_i == CpuWidth'(c);
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        runs_q[c]    <= 1'b0;
        may_q[c]     <= 1'b0;
        irq_q[c]     <= 1'b0;
        current_q[c] <= '0;
        idle_q[c]    <= '0;
        rank_q[c]    <= '0;
      end else begin
        irq_q[c] <= may_q[c] && (stop_i[c] || (waits_i && others == '0 && {1'b1, first_i} > level[c]));
        if (mine && set_may_i) may_q[c] <= may_i;
        if (mine && set_idle_i) idle_q[c] <= id_i;
        if (mine && rest_i) runs_q[c] <= 1'b0;
        if (mine && run_i) begin
          runs_q[c]    <= 1'b1;
          current_q[c] <= id_i;
          rank_q[c]    <= rank_i;
        end else if (ranked_i && runs_q[c] && current_q[c] == id_i) rank_q[c] <= rank_i;
      end
    end
  end
  assign irq_o = irq_q;
endmodule
