// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_pq_systolic - a keyed pipe whose cells know only their neighbours: the same order as weir_pq_array, equally fast at any size.
///
/// An operation walks from cell to cell, one per clock. A new entry takes the place of the first greater one, which walks on
/// instead; behind a gap each cell takes its neighbour's entry. Operations are two clocks apart, so that the neighbour of an
/// active cell is at rest. The first entry is valid one clock after each operation, whatever walks behind it.
///
/// twin:     weir_pq_array, operation by operation (hw/formal/weir_pq_props.sv, hw/models)
/// latency:  the outputs show the result one clock after the operation; ready_o is low for that clock
/// area:     O(NumEntries), two entries of registers per cell; no wire is longer than a cell
/// source:   Leiserson, "Systolic priority queues", 1979; removal from the middle is ours
module weir_pq_systolic #(
  /// Entries, 2 or more.
  parameter int unsigned NumEntries = 16,
  /// Bits of a key.
  parameter int unsigned KeyWidth = 16,
  /// Bits of a task number.
  parameter int unsigned IdWidth = 8
) (
  input  logic                clk_i,    /// Clock, rising edge.
  input  logic                rst_ni,   /// Reset, asynchronous, active low: empty.
  input  logic                push_i,   /// Put a task in; not while full_o.
  input  logic                pop_i,    /// Take the first one out; one of push_i, pop_i and remove_i at a time, while ready_o.
  input  logic                remove_i, /// Take task id_i out, wherever it is; it must be there, since full_o counts.
  input  logic [KeyWidth-1:0] key_i,    /// Key of the new task.
  input  logic [IdWidth-1:0]  id_i,     /// Its number, or that of the task to remove.
  output logic                ready_o,  /// An operation may come.
  output logic                full_o,   /// There is no room.
  output logic                valid_o,  /// There is a first one.
  output logic [KeyWidth-1:0] key_o,    /// Its key.
  output logic [IdWidth-1:0]  id_o      /// Its number.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumEntries < 2 || NumEntries > 256) $error("weir_pq_systolic: NumEntries is 2 to 256, not %0d", NumEntries);
  if (KeyWidth < 1 || KeyWidth > 64) $error("weir_pq_systolic: KeyWidth is 1 to 64, not %0d", KeyWidth);
  if (IdWidth < 1 || IdWidth > 16) $error("weir_pq_systolic: IdWidth is 1 to 16, not %0d", IdWidth);

  localparam int unsigned CountWidth = $clog2(NumEntries + 1);

  logic [NumEntries-1:0]               valid_q;
  logic [NumEntries-1:0][KeyWidth-1:0] key_q;
  logic [NumEntries-1:0][IdWidth-1:0]  id_q;
  // The operation that reaches cell e in this clock.
  logic [NumEntries:0]               push, bump, shift, drop;
  logic [NumEntries:0][KeyWidth-1:0] key;
  logic [NumEntries:0][IdWidth-1:0]  id;
  logic [CountWidth-1:0]             count_q;
  logic                              rest_q;

  assign push[0]  = push_i;
  assign bump[0]  = 1'b0;
  assign shift[0] = pop_i;
  assign drop[0]  = remove_i;
  assign key[0]   = key_i;
  assign id[0]    = id_i;

  for (genvar e = 0; e < NumEntries; e++) begin : gen_cell
    logic                take, pull, right_valid;
    logic [KeyWidth-1:0] right_key;
    logic [IdWidth-1:0]  right_id;
    logic                push_q, bump_q, shift_q, drop_q;
    logic [KeyWidth-1:0] walk_key_q;
    logic [IdWidth-1:0]  walk_id_q;

    if (e == NumEntries - 1) begin : gen_last
      assign right_valid = 1'b0;
      assign right_key   = key_q[e];
      assign right_id    = id_q[e];
    end else begin : gen_inner
      assign right_valid = valid_q[e+1];
      assign right_key   = key_q[e+1];
      assign right_id    = id_q[e+1];
    end

    // A displaced entry goes before the entries behind it, including equals.
    assign take = push[e] && (!valid_q[e] || bump[e] || key[e] < key_q[e]);
    assign pull = shift[e] || (drop[e] && valid_q[e] && id_q[e] == id[e]);

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        valid_q[e] <= 1'b0;
        key_q[e]   <= '0;
        id_q[e]    <= '0;
        push_q     <= 1'b0;
        bump_q     <= 1'b0;
        shift_q    <= 1'b0;
        drop_q     <= 1'b0;
        walk_key_q <= '0;
        walk_id_q  <= '0;
      end else begin
        if (take) begin
          valid_q[e] <= 1'b1;
          key_q[e]   <= key[e];
          id_q[e]    <= id[e];
        end else if (pull) begin
          valid_q[e] <= right_valid;
          key_q[e]   <= right_key;
          id_q[e]    <= right_id;
        end
        // The entry that was here walks on, or the arriving one; behind the last entry none does.
        push_q     <= push[e] && valid_q[e];
        bump_q     <= take;
        shift_q    <= pull && right_valid;
        drop_q     <= drop[e] && valid_q[e] && !pull;
        walk_key_q <= take ? key_q[e] : key[e];
        walk_id_q  <= take ? id_q[e] : id[e];
      end
    end

    assign push[e+1]  = push_q;
    assign bump[e+1]  = bump_q;
    assign shift[e+1] = shift_q;
    assign drop[e+1]  = drop_q;
    assign key[e+1]   = walk_key_q;
    assign id[e+1]    = walk_id_q;
  end

  // Entries are counted where operations come in: the last cell gets its own later.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      rest_q  <= 1'b0;
    end else begin
      rest_q <= push_i || pop_i || remove_i;
      if (push_i) count_q <= count_q + CountWidth'(1);
      else if ((pop_i && valid_q[0]) || remove_i) count_q <= count_q - CountWidth'(1);
    end
  end

  // No entry walks out of the last cell: that would need an entry in it before.
  logic unused;
  assign unused = ^{push[NumEntries], bump[NumEntries], shift[NumEntries], drop[NumEntries], key[NumEntries], id[NumEntries]};

  assign ready_o = !rest_q;
  assign full_o  = count_q == CountWidth'(NumEntries);
  assign valid_o = valid_q[0];
  assign key_o   = key_q[0];
  assign id_o    = id_q[0];
endmodule
