// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_select_tree - the NumOut smallest of NumIn keys, by a tree of merges.
///
/// All at once with Pipelined off: the shortest time in clocks and the longest in nanoseconds. With Pipelined on there is a
/// register after each level. Keys are sampled in the clock of start_i.
///
/// latency:  from start_i to valid_o 1 clock; ceil(log2(NumIn)) + 1 clocks if Pipelined
/// area:     O(NumIn) merges of NumOut keys
module weir_select_tree #(
  /// Keys, 1..64.
  parameter int unsigned NumIn = 16,
  /// Keys to find, 1..8.
  parameter int unsigned NumOut = 2,
  /// Bits of a key.
  parameter int unsigned KeyWidth = 25,
  /// 1: a register after each level.
  parameter bit Pipelined = 1'b0
) (
  input  logic                             clk_i,    /// Clock, rising edge.
  input  logic                             rst_ni,   /// Reset, asynchronous, active low.
  input  logic                             start_i,  /// Begin.
  input  logic [NumIn-1:0][KeyWidth-1:0]   keys_i,   /// Keys.
  output logic                             valid_o,  /// One clock: best_o is the answer; it stays until the next but with Pipelined.
  output logic [NumOut-1:0][KeyWidth-1:0]  best_o    /// The smallest keys, ascending; all ones where there are no more.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumIn < 1 || NumIn > 64) $error("weir_select_tree: NumIn is 1 to 64, not %0d", NumIn);
  if (NumOut < 1 || NumOut > 8) $error("weir_select_tree: NumOut is 1 to 8, not %0d", NumOut);
  if (KeyWidth < 1 || KeyWidth > 64) $error("weir_select_tree: KeyWidth is 1 to 64, not %0d", KeyWidth);

  localparam int unsigned Levels = (NumIn > 1) ? $clog2(NumIn) : 0;
  localparam int unsigned Leaves = 1 << Levels;
  localparam int unsigned List   = 1 << $clog2(NumOut);

  // Flat vectors: Yosys takes no element of an array in another generate block.
  for (genvar l = 0; l <= Levels; l++) begin : gen_level
    localparam int unsigned Nodes = Leaves >> l;
    localparam int unsigned NodeWidth = List * KeyWidth;
    logic [Nodes*NodeWidth-1:0] x, q;
    logic                       start, start_q;

    for (genvar n = 0; n < Nodes; n++) begin : gen_node
      if (l != 0) begin : gen_merge
        weir_select_merge #(.NumKeys(List), .KeyWidth(KeyWidth)) u_merge (
          .a_i(gen_level[l-1].q[2*n*NodeWidth+:NodeWidth]), .b_i(gen_level[l-1].q[(2*n+1)*NodeWidth+:NodeWidth]),
          .o(x[n*NodeWidth+:NodeWidth])
        );
      end else if (n < NumIn) begin : gen_leaf
        always_comb begin
          x[n*NodeWidth+:NodeWidth] = '1;
          x[n*NodeWidth+:KeyWidth]  = keys_i[n];
        end
      end else begin : gen_none
        assign x[n*NodeWidth+:NodeWidth] = '1;
      end
    end

    if (l == 0) begin : gen_begin
      assign start = start_i;
    end else begin : gen_go
      assign start = gen_level[l-1].start_q;
    end

    if (Pipelined || l == Levels) begin : gen_register
      // Values need no reset: start_q says when they are valid.
      always_ff @(posedge clk_i) if (Pipelined || start) q <= x;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) start_q <= 1'b0;
        else start_q <= start;
      end
    end else begin : gen_wire
      assign q       = x;
      assign start_q = start;
    end
  end

  if (List != NumOut) begin : gen_unused
    logic unused;
    assign unused = ^gen_level[Levels].q[List*KeyWidth-1:NumOut*KeyWidth];
  end

  assign valid_o = gen_level[Levels].start_q;
  assign best_o  = gen_level[Levels].q[NumOut*KeyWidth-1:0];
endmodule
