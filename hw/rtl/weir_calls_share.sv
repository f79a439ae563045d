// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_calls_share - several masters call one slave, as CPUs and accelerators call weir_kernel.
///
/// Each master keeps the rules of the slave as if it were alone: one call at a time, its address held until the answer. Calls that come
/// together are served in turn, so a call waits for one of each other master at most. If the CPUs are the first masters, master_o is the
/// number of the CPU that calls.
///
/// latency:  none while no other call is under way
/// area:     O(NumMasters) multiplexers of 56 bits, two bits per master
/// source:   ours
module weir_calls_share #(
  /// Masters, 2..8.
  parameter int unsigned NumMasters = 2,
  /// Dependent, do not override: bits of a master's number.
  localparam int unsigned MasterWidth = $clog2(NumMasters)
) (
  input  logic                         clk_i,     /// Clock, rising edge.
  input  logic                         rst_ni,    /// Reset, asynchronous, active low.
  input  logic [NumMasters-1:0]        req_i,     /// A call of the master; its next one only after its answer.
  input  logic [NumMasters-1:0]        we_i,      /// It is a store.
  input  logic [NumMasters-1:0][24:2]  addr_i,    /// Its word address; held until its answer.
  input  logic [NumMasters-1:0][31:0]  wdata_i,   /// Data of a store; held until its answer.
  output logic [NumMasters-1:0]        rvalid_o,  /// The answer to the master's call.
  output logic [31:0]                  rdata_o,   /// Its value.
  output logic                         req_o,     /// To the slave: a call.
  output logic                         we_o,      /// It is a store.
  output logic [24:2]                  addr_o,    /// Its word address.
  output logic [31:0]                  wdata_o,   /// Data of a store.
  output logic [MasterWidth-1:0]       master_o,  /// Whose call it is; held until its answer.
  input  logic                         rvalid_i,  /// The slave's answer.
  input  logic [31:0]                  rdata_i    /// Its value.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumMasters < 2 || NumMasters > 8) $error("weir_calls_share: NumMasters is 2 to 8, not %0d", NumMasters);

  logic [NumMasters-1:0]  wait_q, asks;
  logic [MasterWidth-1:0] turn_q, turn;
  logic                   busy_q;
  assign asks = req_i | wait_q;

  // The first that asks, after the one that was served last.
  always_comb begin
    turn = turn_q;
    if (!busy_q)
      for (int unsigned i = NumMasters; i > 0; i--)
        if (asks[MasterWidth'((32'(turn_q) + i) % NumMasters)]) turn = MasterWidth'((32'(turn_q) + i) % NumMasters);
  end
  assign req_o   = !busy_q && |asks;
  assign we_o    = we_i[turn];
  assign addr_o  = addr_i[turn];
  assign wdata_o = wdata_i[turn];
  assign master_o = turn;
  assign rdata_o = rdata_i;

  for (genvar m = 0; m < NumMasters; m++) begin : gen_master
    assign rvalid_o[m] = rvalid_i && turn_q == MasterWidth'(m);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wait_q <= '0;
      turn_q <= '0;
      busy_q <= 1'b0;
    end else begin
      turn_q <= turn;
      busy_q <= (busy_q || req_o) && !rvalid_i;
      wait_q <= asks;
      if (req_o) wait_q[turn] <= 1'b0;
    end
  end
endmodule
