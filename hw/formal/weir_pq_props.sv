// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// Both priority queues give the same first entry after every operation, and that is the right one: for any operations, that
/// do not push what is there, or into a full queue.
module weir_pq_props #(
  parameter int unsigned NumEntries = 3,
  parameter int unsigned KeyWidth = 2,
  parameter int unsigned IdWidth = 2
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                push_i,
  input logic                pop_i,
  input logic                remove_i,
  input logic [KeyWidth-1:0] key_i,
  input logic [IdWidth-1:0]  id_i
);
  localparam int unsigned Ids = 1 << IdWidth;

  logic                array_ready, array_full, array_valid, ready, full, valid, live_q;
  logic [KeyWidth-1:0] array_key, key;
  logic [IdWidth-1:0]  array_id, id;

  weir_pq_array #(.NumEntries(NumEntries), .KeyWidth(KeyWidth), .IdWidth(IdWidth)) u_array (
    .clk_i, .rst_ni, .push_i, .pop_i, .remove_i, .key_i, .id_i,
    .ready_o(array_ready), .full_o(array_full), .valid_o(array_valid), .key_o(array_key), .id_o(array_id)
  );
  weir_pq_systolic #(.NumEntries(NumEntries), .KeyWidth(KeyWidth), .IdWidth(IdWidth)) u_systolic (
    .clk_i, .rst_ni, .push_i, .pop_i, .remove_i, .key_i, .id_i,
    .ready_o(ready), .full_o(full), .valid_o(valid), .key_o(key), .id_o(id)
  );

  // Which tasks are in, with what key, and how many operations ago they came.
  logic [Ids-1:0]               in_q;
  logic [Ids-1:0][KeyWidth-1:0] keys_q;
  logic [Ids-1:0][Ids-1:0]      older_q;

  // It begins with a reset.
  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (!rst_ni);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q <= 1'b0;
      in_q   <= '0;
    end else begin
      live_q <= 1'b1;
      if (push_i) begin
        in_q[id_i] <= 1'b1;
      end
      if (pop_i && array_valid) in_q[array_id] <= 1'b0;
      if (remove_i) in_q[id_i] <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (push_i) begin
      keys_q[id_i] <= key_i;
      // A task that comes is younger than all that are there.
      for (int t = 0; t < Ids; t++) older_q[t][id_i] <= 1'b0;
      older_q[id_i] <= in_q;
    end
  end

  always_comb begin
    assume (!(push_i && pop_i) && !(push_i && remove_i) && !(pop_i && remove_i));
    if (!ready || !live_q) assume (!push_i && !pop_i && !remove_i);
    if (push_i) assume (!in_q[id_i] && !full);
    if (remove_i) assume (in_q[id_i]);
  end

  always_comb if (rst_ni && live_q) begin
    assert (array_ready && array_valid == |in_q && array_full == full);
    assert (valid == array_valid);
    if (valid) assert (key == array_key && id == array_id);
    if (array_valid) begin
      assert (in_q[array_id] && keys_q[array_id] == array_key);
      for (int t = 0; t < Ids; t++)
        if (in_q[t]) begin
          // Nothing is before the first one, and of equals it came first.
          assert (keys_q[t] >= array_key);
          if (keys_q[t] == array_key && t != array_id) assert (!older_q[array_id][t]);
        end
    end
  end
endmodule
