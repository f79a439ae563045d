// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_select_merge - the NumKeys smallest of two ascending lists of NumKeys keys, ascending.
///
/// A bitonic half-cleaner keeps the smaller ones, a bitonic sorter puts them in order.
///
/// latency:  combinational, 1 + log2(NumKeys) comparators in a row
/// area:     O(NumKeys log NumKeys) comparators
module weir_select_merge #(
  /// Keys in a list, a power of two.
  parameter int unsigned NumKeys = 2,
  /// Bits of a key.
  parameter int unsigned KeyWidth = 25
) (
  input  logic [NumKeys-1:0][KeyWidth-1:0] a_i,  /// Ascending.
  input  logic [NumKeys-1:0][KeyWidth-1:0] b_i,  /// Ascending.
  output logic [NumKeys-1:0][KeyWidth-1:0] o     /// The smallest of both, ascending.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumKeys < 1 || NumKeys > 8 || (NumKeys & (NumKeys - 1)) != 0)
    $error("weir_select_merge: NumKeys is a power of two, 1 to 8, not %0d", NumKeys);
  if (KeyWidth < 1 || KeyWidth > 64) $error("weir_select_merge: KeyWidth is 1 to 64, not %0d", KeyWidth);

  localparam int unsigned Levels = $clog2(NumKeys);

  // Flat vectors: Yosys takes no element of an array in another generate block.
  for (genvar l = 0; l <= Levels; l++) begin : gen_level
    logic [NumKeys*KeyWidth-1:0] x;
    for (genvar e = 0; e < NumKeys; e++) begin : gen_key
      if (l == 0) begin : gen_half
        assign x[e*KeyWidth+:KeyWidth] = a_i[e] < b_i[NumKeys-1-e] ? a_i[e] : b_i[NumKeys-1-e];
      end else begin : gen_sort
        localparam int unsigned Span = NumKeys >> l;
        localparam int unsigned Low  = e & ~Span;
        localparam int unsigned High = e | Span;
        logic [KeyWidth-1:0] low, high;
        logic                swap;
        assign low  = gen_level[l-1].x[Low*KeyWidth+:KeyWidth];
        assign high = gen_level[l-1].x[High*KeyWidth+:KeyWidth];
        assign swap = high < low;
        assign x[e*KeyWidth+:KeyWidth] = (swap ^ (e == Low)) ? low : high;
      end
    end
  end

  assign o = gen_level[Levels].x;
endmodule
