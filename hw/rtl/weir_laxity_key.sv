// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_laxity_key - a task's urgency as one unsigned number; the smallest goes first.
///
/// From the most significant bit: not ready; with Hold, not held; with Criticality, set aside; second class (EDZL: still has laxity); laxity or time to the deadline, offset so
/// that unsigned comparison orders signed numbers; not chosen before (R2); task number (R3). Keys of two tasks are never equal.
///
/// latency:  combinational
/// area:     O(Width)
/// source:   Mancuso et al., IV-B3, V-B5, V-B6
module weir_laxity_key #(
  /// Bits of times, in ticks.
  parameter int unsigned Width = 16,
  /// Bits of a task number.
  parameter int unsigned IdWidth = 4,
  /// Held tasks go first.
  parameter bit Hold = 1'b0,
  /// Tasks that are set aside go last.
  parameter bit Criticality = 1'b0,
  /// Dependent, do not override: bits of a key.
  localparam int unsigned KeyWidth = Width + IdWidth + 5 + 32'(Hold) + 32'(Criticality)
) (
  input  logic                ready_i,     /// A job wants a CPU.
  input  logic                hold_i,      /// A CPU holds the task; without effect unless Hold.
  input  logic                aside_i,     /// The task is set aside; without effect unless Criticality.
  input  logic [Width:0]      deadline_i,  /// Ticks to the deadline, signed.
  input  logic [Width-1:0]    left_i,      /// Ticks of work left.
  input  logic                chosen_i,    /// The decision before chose the task, and that counts.
  input  logic [IdWidth-1:0]  id_i,        /// Number of the task.
  input  logic                edf_i,       /// The deadline decides.
  input  logic                edzl_i,      /// The deadline decides, but tasks without laxity go first.
  output logic [KeyWidth-1:0] key_o        /// The key.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (Width < 2 || Width > 16) $error("weir_laxity_key: Width is 2 to 16, not %0d", Width);
  if (IdWidth < 1 || IdWidth > 8) $error("weir_laxity_key: IdWidth is 1 to 8, not %0d", IdWidth);

  logic [Width+1:0] deadline, laxity, value;
  logic             slack;
  logic [Width+IdWidth+3:0]                   order;
  logic [Width+IdWidth+3+32'(Criticality):0] level;

  assign deadline = {deadline_i[Width], deadline_i};
  assign laxity   = deadline - {2'b00, left_i};
  assign slack    = !laxity[Width+1] && laxity != '0;
  assign value    = (edf_i || (edzl_i && slack)) ? deadline : laxity;
  // A task without laxity is as urgent as any other such task under EDZL: the last two fields decide.
  assign order    = {edzl_i && slack, edzl_i && !slack ? (Width + 2)'(0) :
                     {~value[Width+1], value[Width:0]}, !chosen_i, id_i};
  if (Criticality) begin : gen_level
    assign level = {aside_i, order};
  end else begin : gen_one_level
    logic unused_aside;
    assign unused_aside = aside_i;
    assign level = order;
  end
  if (Hold) begin : gen_hold
    assign key_o = {!ready_i, !hold_i, level};
  end else begin : gen_free
    logic unused_hold;
    assign unused_hold = hold_i;
    assign key_o = {!ready_i, level};
  end
endmodule
