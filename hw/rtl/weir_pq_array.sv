// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_pq_array - a keyed pipe: tasks in the order of their keys, equals in order of arrival.
///
/// A register array: the new entry is compared with all at once, and the entries behind it move by one. One operation per clock.
/// The key defines the order: a deadline, a virtual time, an inverted priority, with an arrival number in its low bits if a task
/// that gets another key must keep its place among equals.
///
/// twin:     any order component with a keyed out-pipe: edf, priority_order, rm, fcfs (hw/models)
/// latency:  the outputs show the result one clock after the operation
/// area:     O(NumEntries) comparators and registers; each new entry is wired to all
module weir_pq_array #(
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
  input  logic                pop_i,    /// Take the first one out; one of push_i, pop_i and remove_i at a time.
  input  logic                remove_i, /// Take task id_i out, wherever it is; nothing happens if it is not there.
  input  logic [KeyWidth-1:0] key_i,    /// Key of the new task.
  input  logic [IdWidth-1:0]  id_i,     /// Its number, or that of the task to remove.
  output logic                ready_o,  /// An operation may come.
  output logic                full_o,   /// There is no room.
  output logic                valid_o,  /// There is a first one.
  output logic [KeyWidth-1:0] key_o,    /// Its key.
  output logic [IdWidth-1:0]  id_o      /// Its number.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumEntries < 2 || NumEntries > 256) $error("weir_pq_array: NumEntries is 2 to 256, not %0d", NumEntries);
  if (KeyWidth < 1 || KeyWidth > 64) $error("weir_pq_array: KeyWidth is 1 to 64, not %0d", KeyWidth);
  if (IdWidth < 1 || IdWidth > 16) $error("weir_pq_array: IdWidth is 1 to 16, not %0d", IdWidth);

  logic [NumEntries-1:0]               valid_q;
  logic [NumEntries-1:0][KeyWidth-1:0] key_q;
  logic [NumEntries-1:0][IdWidth-1:0]  id_q;
  logic [NumEntries-1:0]               behind, match, gap;

  for (genvar e = 0; e < NumEntries; e++) begin : gen_entry
    // The new task goes before this entry.
    assign behind[e] = !valid_q[e] || key_i < key_q[e];
    assign match[e]  = valid_q[e] && id_q[e] == id_i;

    logic                up_valid, down_valid, move_up, move_down;
    logic [KeyWidth-1:0] up_key, down_key;
    logic [IdWidth-1:0]  up_id, down_id;

    // Entries behind the gap move towards the head.
    assign gap[e] = pop_i || (remove_i && |match[e:0]);
    if (e == 0) begin : gen_first
      assign up_valid = push_i;
      assign up_key   = key_i;
      assign up_id    = id_i;
    end else begin : gen_other
      assign up_valid = behind[e-1] ? valid_q[e-1] : push_i;
      assign up_key   = behind[e-1] ? key_q[e-1] : key_i;
      assign up_id    = behind[e-1] ? id_q[e-1] : id_i;
    end
    if (e == NumEntries - 1) begin : gen_last
      assign down_valid = 1'b0;
      assign down_key   = key_q[e];
      assign down_id    = id_q[e];
    end else begin : gen_inner
      assign down_valid = valid_q[e+1];
      assign down_key   = key_q[e+1];
      assign down_id    = id_q[e+1];
    end
    assign move_up   = push_i && behind[e];
    assign move_down = gap[e];

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        valid_q[e] <= 1'b0;
        key_q[e]   <= '0;
        id_q[e]    <= '0;
      end else if (move_up) begin
        valid_q[e] <= up_valid;
        key_q[e]   <= up_key;
        id_q[e]    <= up_id;
      end else if (move_down) begin
        valid_q[e] <= down_valid;
        key_q[e]   <= down_key;
        id_q[e]    <= down_id;
      end
    end
  end

  assign ready_o = 1'b1;
  assign full_o  = valid_q[NumEntries-1];
  assign valid_o = valid_q[0];
  assign key_o   = key_q[0];
  assign id_o    = id_q[0];
endmodule
