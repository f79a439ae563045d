// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_level_field - one bit per priority, and the highest set bit, found in two stages.
///
/// twin:     crates/weir-hw/src/unified.rs, within weir_unified
/// latency:  top_o is valid with settled_o, 3 clocks after the last change
/// area:     NumLevels registers, two encoders of 16
/// source:   Preston, 2011, 3.2.4 (five clocks there)
module weir_level_field #(
  /// Levels, 2..256, a power of two.
  parameter int unsigned NumLevels = 256,
  /// Dependent, do not override: bits of a level.
  localparam int unsigned LevelWidth = $clog2(NumLevels)
) (
  input  logic                  clk_i,         /// Clock, rising edge.
  input  logic                  rst_ni,        /// Reset, asynchronous, active low: no bit is set.
  input  logic                  set_i,         /// Set the bit of a level.
  input  logic [LevelWidth-1:0] set_level_i,   /// Which one.
  input  logic                  clear_i,       /// Clear the bit of a level; setting it in the same clock wins.
  input  logic [LevelWidth-1:0] clear_level_i, /// Which one.
  output logic                  settled_o,     /// What follows is right.
  output logic                  some_o,        /// Some bit is set.
  output logic [LevelWidth-1:0] top_o          /// The highest of them.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumLevels < 2 || NumLevels > 256 || (NumLevels & (NumLevels - 1)) != 0)
    $error("weir_level_field: NumLevels is a power of two, 2 to 256, not %0d", NumLevels);

  localparam int unsigned Group = (NumLevels > 16) ? 16 : NumLevels;
  localparam int unsigned Groups = NumLevels / Group;
  localparam int unsigned GroupWidth = $clog2(Group);

  logic [Groups-1:0]                 some, group_q;
  logic [Groups-1:0][GroupWidth-1:0] place, place_q;
  logic [1:0]                        rest_q;

  assign settled_o = rest_q == '0;

  for (genvar g = 0; g < Groups; g++) begin : gen_group
    logic [Group-1:0] field_q;
    logic             set, clear;
    assign set   = set_i && 32'(set_level_i) / Group == g;
    assign clear = clear_i && 32'(clear_level_i) / Group == g;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) field_q <= '0;
      else begin
        if (clear) field_q[clear_level_i[GroupWidth-1:0]] <= 1'b0;
        if (set) field_q[set_level_i[GroupWidth-1:0]] <= 1'b1;
      end
    end
    assign some[g] = |field_q;
    always_comb begin
      place[g] = '0;
      for (int unsigned i = 0; i < Group; i++) if (field_q[i]) place[g] = GroupWidth'(i);
    end
  end

  // Nothing moves while nothing changes.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      group_q  <= '0;
      place_q <= '0;
      some_o   <= 1'b0;
      top_o    <= '0;
      rest_q   <= '0;
    end else begin
      if (set_i || clear_i) rest_q <= 2'd2;
      else if (rest_q != '0) rest_q <= rest_q - 2'd1;
      if (rest_q == 2'd2) begin
        group_q  <= some;
        place_q <= place;
      end
      if (rest_q == 2'd1) begin
        some_o <= |group_q;
        for (int unsigned g = 0; g < Groups; g++)
          if (group_q[g]) top_o <= LevelWidth'(g * Group) | LevelWidth'(place_q[g]);
      end
    end
  end
endmodule
