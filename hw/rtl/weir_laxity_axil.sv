// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_laxity_axil - the scheduling engine behind AXI4-Lite: what an SoC instantiates.
///
/// Window c of 2 KiB, from byte address c * 0x800 on, holds the registers as CPU c sees them (docs/hardware-registers.md).
///
/// latency:  as weir_laxity, and 2 clocks a transfer for the bus
/// area:     as weir_laxity
module weir_laxity_axil #(
  /// As weir_laxity.
  parameter int unsigned NumTasks = 16,
  /// As weir_laxity.
  parameter int unsigned NumCpus = 2,
  /// As weir_laxity.
  parameter int unsigned Width = 16,
  /// As weir_laxity.
  parameter int unsigned Select = 0,
  /// As weir_laxity.
  parameter bit [3:0] Policies = 4'b1111,
  /// As weir_laxity.
  parameter bit Separation = 1'b1,
  /// As weir_laxity.
  parameter bit Hold = 1'b0,
  /// As weir_laxity.
  parameter bit Budget = 1'b0,
  /// As weir_laxity.
  parameter bit Criticality = 1'b0,
  /// As weir_laxity.
  parameter bit ReadBack = 1'b1,
  /// As weir_laxity.
  parameter int unsigned TickClocks = 4800,
  /// 1: transfers without privilege are refused, so that user programs cannot claim or report for others.
  parameter bit PrivilegedOnly = 1'b0,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  /// Dependent, do not override: bits of a task number.
  localparam int unsigned IdWidth = $clog2(NumTasks)
) (
  input  logic               clk_i,      /// Clock, rising edge.
  input  logic               rst_ni,     /// Reset, asynchronous, active low.
  input  logic               awvalid_i,  /// AXI4-Lite, as weir_axil_bus.
  output logic               awready_o,  /// AXI4-Lite.
  input  logic [15:0]        awaddr_i,   /// AXI4-Lite.
  input  logic [2:0]         awprot_i,   /// AXI4-Lite.
  input  logic               wvalid_i,   /// AXI4-Lite.
  output logic               wready_o,   /// AXI4-Lite.
  input  logic [31:0]        wdata_i,    /// AXI4-Lite.
  input  logic [3:0]         wstrb_i,    /// AXI4-Lite.
  output logic               bvalid_o,   /// AXI4-Lite.
  input  logic               bready_i,   /// AXI4-Lite.
  output logic [1:0]         bresp_o,    /// AXI4-Lite.
  input  logic               arvalid_i,  /// AXI4-Lite.
  output logic               arready_o,  /// AXI4-Lite.
  input  logic [15:0]        araddr_i,   /// AXI4-Lite.
  input  logic [2:0]         arprot_i,   /// AXI4-Lite.
  output logic               rvalid_o,   /// AXI4-Lite.
  input  logic               rready_i,   /// AXI4-Lite.
  output logic [31:0]        rdata_o,    /// AXI4-Lite.
  output logic [1:0]         rresp_o,    /// AXI4-Lite.
  output logic [NumCpus-1:0] irq_o       /// One line a CPU: level, until it has read SCHED.
);
  logic                            req, we, answered, err, decided;
  logic [CpuWidth-1:0]             cpu;
  logic [10:2]                     addr;
  logic [31:0]                     wdata, rdata;
  logic [NumCpus-1:0]              busy;
  logic [NumCpus-1:0][IdWidth-1:0] task_no;

  weir_axil_bus #(.NumCpus(NumCpus), .PrivilegedOnly(PrivilegedOnly)) u_bus (
    .clk_i, .rst_ni,
    .awvalid_i, .awready_o, .awaddr_i, .awprot_i, .wvalid_i, .wready_o, .wdata_i, .wstrb_i, .bvalid_o, .bready_i, .bresp_o,
    .arvalid_i, .arready_o, .araddr_i, .arprot_i, .rvalid_o, .rready_i, .rdata_o, .rresp_o,
    .req_o(req), .we_o(we), .cpu_o(cpu), .addr_o(addr), .wdata_o(wdata), .rvalid_i(answered), .err_i(err), .rdata_i(rdata)
  );

  weir_laxity #(
    .NumTasks(NumTasks), .NumCpus(NumCpus), .Width(Width), .Select(Select), .Policies(Policies),
    .Separation(Separation), .ReadBack(ReadBack), .Hold(Hold), .Budget(Budget), .Criticality(Criticality), .TickClocks(TickClocks)
  ) u_engine (
    .clk_i, .rst_ni,
    .req_i(req), .we_i(we), .cpu_i(cpu), .addr_i(addr), .wdata_i(wdata), .rvalid_o(answered), .err_o(err), .rdata_o(rdata),
    .irq_o, .decided_o(decided), .busy_o(busy), .task_o(task_no)
  );

  // For waveforms and for circuits beside the engine.
  logic unused;
  assign unused = ^{decided, busy, task_no};
endmodule
