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

`ifndef PROMISES_ONLY
  // ------------------------------------------------------------------ steps of the induction
  // It sees registers of the modules: these wires are joined with them when the hierarchy is flattened.
  (* hierconn *) wire [NumEntries-1:0]              \u_array.valid_q ;
  (* hierconn *) wire [NumEntries*KeyWidth-1:0]     \u_array.key_q ;
  (* hierconn *) wire [NumEntries*IdWidth-1:0]      \u_array.id_q ;
  (* hierconn *) wire [NumEntries-1:0]              \u_systolic.valid_q ;
  (* hierconn *) wire [NumEntries*KeyWidth-1:0]     \u_systolic.key_q ;
  (* hierconn *) wire [NumEntries*IdWidth-1:0]      \u_systolic.id_q ;
  (* hierconn *) wire [NumEntries:0]                \u_systolic.push ;
  (* hierconn *) wire [NumEntries:0]                \u_systolic.bump ;
  (* hierconn *) wire [NumEntries:0]                \u_systolic.shift ;
  (* hierconn *) wire [NumEntries:0]                \u_systolic.drop ;
  (* hierconn *) wire [(NumEntries+1)*KeyWidth-1:0] \u_systolic.key ;
  (* hierconn *) wire [(NumEntries+1)*IdWidth-1:0]  \u_systolic.id ;
  (* hierconn *) wire                               \u_systolic.rest_q ;
  (* hierconn *) wire [$clog2(NumEntries+1)-1:0]    \u_systolic.count_q ;
  logic [NumEntries-1:0]               a_valid, s_valid, f_valid;
  logic [NumEntries-1:0][KeyWidth-1:0] a_key, s_key, f_key;
  logic [NumEntries-1:0][IdWidth-1:0]  a_id, s_id, f_id;
  logic [NumEntries:0]                 push, bump, shift, drop;
  logic [NumEntries:0][KeyWidth-1:0]   walk_key;
  logic [NumEntries:0][IdWidth-1:0]    walk_id;
  assign a_valid  = \u_array.valid_q ;
  assign a_key    = \u_array.key_q ;
  assign a_id     = \u_array.id_q ;
  assign s_valid  = \u_systolic.valid_q ;
  assign s_key    = \u_systolic.key_q ;
  assign s_id     = \u_systolic.id_q ;
  assign push     = \u_systolic.push ;
  assign bump     = \u_systolic.bump ;
  assign shift    = \u_systolic.shift ;
  assign drop     = \u_systolic.drop ;
  assign walk_key = \u_systolic.key ;
  assign walk_id  = \u_systolic.id ;

  // The systolic array once the operations that walk through it have reached its end: one wave after the other, the first that
  // came in being the farthest.
  logic                w_push, w_bump, w_shift, w_drop, w_take, w_pull, w_some;
  logic [KeyWidth-1:0] w_key, w_key_d;
  logic [IdWidth-1:0]  w_id, w_id_d;
  always_comb begin
    f_valid = s_valid;
    f_key   = s_key;
    f_id    = s_id;
    w_push  = 1'b0;
    w_bump  = 1'b0;
    w_shift = 1'b0;
    w_drop  = 1'b0;
    w_take  = 1'b0;
    w_pull  = 1'b0;
    w_some  = 1'b0;
    w_key   = '0;
    w_key_d = '0;
    w_id    = '0;
    w_id_d  = '0;
    for (int from = NumEntries - 1; from > 0; from--) begin
      w_push  = push[from];
      w_bump  = bump[from];
      w_shift = shift[from];
      w_drop  = drop[from];
      w_key   = walk_key[from];
      w_id    = walk_id[from];
      for (int e = 1; e < NumEntries; e++)
        if (e >= from) begin
          w_take  = w_push && (!f_valid[e] || w_bump || w_key < f_key[e]);
          w_pull  = w_shift || (w_drop && f_valid[e] && f_id[e] == w_id);
          w_some  = e == NumEntries - 1 ? 1'b0 : f_valid[(e+1)%NumEntries];
          w_key_d = w_take ? f_key[e] : w_key;
          w_id_d  = w_take ? f_id[e] : w_id;
          w_push  = w_push && f_valid[e];
          w_drop  = w_drop && f_valid[e] && !w_pull;
          if (w_take) begin
            f_valid[e] = 1'b1;
            f_key[e]   = w_key;
            f_id[e]    = w_id;
          end else if (w_pull) begin
            f_valid[e] = w_some;
            f_key[e]   = f_key[(e+1)%NumEntries];
            f_id[e]    = f_id[(e+1)%NumEntries];
          end
          w_bump  = w_take;
          w_shift = w_pull && w_some;
          w_key   = w_key_d;
          w_id    = w_id_d;
        end
    end
  end

  logic [NumEntries:0] waves;
  logic [31:0]         entries;
  assign waves = push | shift | drop;
  always_comb begin
    entries = '0;
    for (int e = 0; e < NumEntries; e++) entries = entries + 32'(a_valid[e]);
  end

  always_comb if (rst_ni && live_q) begin
    assert (32'(\u_systolic.count_q ) == entries);
    // A cell rests between two operations.
    for (int e = 1; e < NumEntries; e++) assert (!(waves[e] && waves[e+1]));
    if (!\u_systolic.rest_q ) assert (!waves[1]);
    for (int e = 0; e <= NumEntries; e++) assert (32'(push[e]) + 32'(shift[e]) + 32'(drop[e]) <= 32'd1);
    for (int e = 0; e < NumEntries; e++) begin
      // Entries fill the array from its head, by key, and equals in order of arrival.
      if (e > 0 && a_valid[e]) begin
        assert (a_valid[e-1] && a_key[e-1] <= a_key[e]);
        if (a_key[e-1] == a_key[e]) assert (older_q[a_id[e]][a_id[e-1]]);
      end
      for (int f = 0; f < e; f++) if (a_valid[e]) begin
        assert (a_id[e] != a_id[f]);
        assert (older_q[a_id[e]][a_id[f]] != older_q[a_id[f]][a_id[e]]);
        if (a_key[e] == a_key[f]) assert (older_q[a_id[e]][a_id[f]]);
      end
      if (a_valid[e]) assert (in_q[a_id[e]] && keys_q[a_id[e]] == a_key[e] && !older_q[a_id[e]][a_id[e]]);
      // The other one has the same, once its waves are through.
      assert (f_valid[e] == a_valid[e]);
      if (a_valid[e]) assert (f_key[e] == a_key[e] && f_id[e] == a_id[e]);
    end
    for (int t = 0; t < Ids; t++) if (in_q[t]) begin
      logic there;
      there = 1'b0;
      for (int e = 0; e < NumEntries; e++) if (a_valid[e] && a_id[e] == IdWidth'(t)) there = 1'b1;
      assert (there);
    end
  end
`endif
endmodule
