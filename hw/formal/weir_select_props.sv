// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// What all selectors promise: for any keys of which no two are equal, the smallest ones, in order, at the time that they say.
module weir_select_props #(
  parameter int unsigned NumIn = 5,
  parameter int unsigned NumOut = 3,
  parameter int unsigned KeyWidth = 4,
  /// 0 serial, 1 tree, 2 pipelined tree.
  parameter int unsigned Select = 0,
  localparam int unsigned IdxWidth = $clog2(NumIn)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic start_i
);
  localparam int unsigned Latency = (Select == 0) ? NumIn + 3 : (Select == 1) ? 1 : $clog2(NumIn) + 1;

  (* anyconst *) logic [NumIn-1:0][KeyWidth-1:0] keys;
  logic                            valid, live_q;
  logic [NumOut-1:0][KeyWidth-1:0] best;
  logic [Latency:0]                wait_q;

  always_comb
    for (int a = 0; a < NumIn; a++)
      for (int b = 0; b < a; b++) assume (keys[a] != keys[b]);

  if (Select == 0) begin : gen_serial
    logic [IdxWidth-1:0] idx;
    logic [KeyWidth-1:0] key_q;
    always_ff @(posedge clk_i) key_q <= keys[idx];
    weir_select_serial #(.NumIn(NumIn), .NumOut(NumOut), .KeyWidth(KeyWidth)) u_select (
      .clk_i, .rst_ni, .start_i, .idx_o(idx), .key_i(key_q), .valid_o(valid), .best_o(best)
    );
  end else begin : gen_tree
    weir_select_tree #(.NumIn(NumIn), .NumOut(NumOut), .KeyWidth(KeyWidth), .Pipelined(Select == 2)) u_select (
      .clk_i, .rst_ni, .start_i, .keys_i(keys), .valid_o(valid), .best_o(best)
    );
  end

  // It begins with a reset.
  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q <= 1'b0;
      wait_q <= '0;
    end else begin
      live_q <= 1'b1;
      // The serial one starts over at each start; the trees answer all.
      wait_q <= {wait_q[Latency-1:0] & {Latency{!(Select == 0 && start_i)}}, start_i};
    end
  end
  always_comb if (!live_q) assume (!start_i);

  always_comb if (rst_ni && live_q) begin
    assert (valid == wait_q[Latency-1]);
    if (valid) begin
      for (int o = 0; o < NumOut; o++) begin
        // As many as NumOut keys are smaller than, or are, the one in place o: it is the right one.
        logic [$clog2(NumIn+1)-1:0] below;
        logic                       there;
        below = '0;
        there = 1'b0;
        for (int i = 0; i < NumIn; i++) begin
          if (keys[i] < best[o]) below = below + 1'b1;
          if (keys[i] == best[o]) there = 1'b1;
        end
        assert (below == o && there);
      end
    end
  end
endmodule
