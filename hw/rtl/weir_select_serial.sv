// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_select_serial - the NumOut smallest of NumIn keys, one examined per clock.
///
/// The smallest selector, and fast enough if a tick has more clocks than there are keys. It requests a key by number; the
/// keys' holder answers a clock later, so that one circuit computes all keys.
///
/// latency:  NumIn + 3 clocks from start_i to valid_o, whatever the keys
/// area:     O(NumOut) comparators
module weir_select_serial #(
  /// Keys, 1..64.
  parameter int unsigned NumIn = 16,
  /// Keys to find, 1..8.
  parameter int unsigned NumOut = 2,
  /// Bits of a key.
  parameter int unsigned KeyWidth = 25,
  /// Dependent, do not override: bits of the number of a key.
  localparam int unsigned IdxWidth = (NumIn > 1) ? $clog2(NumIn) : 1
) (
  input  logic                             clk_i,    /// Clock, rising edge.
  input  logic                             rst_ni,   /// Reset, asynchronous, active low.
  input  logic                             start_i,  /// Begin; starts over if it is at work.
  output logic [IdxWidth-1:0]              idx_o,    /// Number of the key that is wanted.
  input  logic [KeyWidth-1:0]              key_i,    /// The key that was wanted a clock ago.
  output logic                             valid_o,  /// One clock: best_o is the answer, and stays.
  output logic [NumOut-1:0][KeyWidth-1:0]  best_o    /// The smallest keys, ascending; all ones where there are no more.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumIn < 1 || NumIn > 64) $error("weir_select_serial: NumIn is 1 to 64, not %0d", NumIn);
  if (NumOut < 1 || NumOut > 8) $error("weir_select_serial: NumOut is 1 to 8, not %0d", NumOut);
  if (KeyWidth < 1 || KeyWidth > 64) $error("weir_select_serial: KeyWidth is 1 to 64, not %0d", KeyWidth);

  logic [IdxWidth-1:0]             idx_q;
  logic                            read_q, take_q, end_q, look_q, last_q, valid_q;
  logic [KeyWidth-1:0]             key_q;
  logic [NumOut-1:0][KeyWidth-1:0] best_q, best_d;
  logic [NumOut-1:0]               below;

  // The new key goes before the first greater one; the keys behind move by one.
  for (genvar o = 0; o < NumOut; o++) begin : gen_cell
    assign below[o] = key_q < best_q[o];
    if (o == 0) begin : gen_first
      assign best_d[o] = below[o] ? key_q : best_q[o];
    end else begin : gen_other
      assign best_d[o] = !below[o] ? best_q[o] : below[o-1] ? best_q[o-1] : key_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      idx_q   <= '0;
      read_q  <= 1'b0;
      take_q  <= 1'b0;
      end_q   <= 1'b0;
      look_q  <= 1'b0;
      last_q  <= 1'b0;
      valid_q <= 1'b0;
      key_q   <= '1;
      best_q  <= '1;
    end else begin
      take_q  <= read_q && !start_i;
      end_q   <= read_q && !start_i && idx_q == IdxWidth'(NumIn - 1);
      look_q  <= take_q && !start_i;
      last_q  <= end_q && !start_i;
      valid_q <= look_q && last_q && !start_i;
      key_q   <= key_i;
      if (start_i) begin
        idx_q  <= '0;
        read_q <= 1'b1;
        best_q <= '1;
      end else begin
        if (read_q) begin
          if (idx_q == IdxWidth'(NumIn - 1)) read_q <= 1'b0;
          else idx_q <= idx_q + IdxWidth'(1);
        end
        if (look_q) best_q <= best_d;
      end
    end
  end

  assign idx_o   = idx_q;
  assign valid_o = valid_q;
  assign best_o  = best_q;
endmodule
