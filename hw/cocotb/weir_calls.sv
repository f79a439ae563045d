// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_calls - the whole set, or the unified controller, behind AXI4-Lite, APB and Wishbone, for the bench in weir_calls_test.py.
///
/// latency:  as each shell
/// area:     for simulation only
module weir_calls #(
  /// 1: weir_unified, for one CPU; 0: weir_kernel, for two.
  parameter bit Unified = 1'b0,
  /// Dependent, do not override: CPUs.
  localparam int unsigned NumCpus = Unified ? 1 : 2,
  /// Dependent, do not override: bits of an address in a window.
  localparam int unsigned WindowWidth = Unified ? 28 : 25,
  /// Dependent, do not override: bits of an address.
  localparam int unsigned AddrWidth = Unified ? 32 : 30
) (
  input  logic                    clk_i,     /// Clock, rising edge.
  input  logic                    rst_ni,    /// Reset, asynchronous, active low.
  input  logic                    awvalid_i, /// AXI4-Lite, as weir_axil_bus.
  output logic                    awready_o, /// AXI4-Lite.
  input  logic [AddrWidth-1:0]    awaddr_i,  /// AXI4-Lite.
  input  logic [2:0]              awprot_i,  /// AXI4-Lite.
  input  logic                    wvalid_i,  /// AXI4-Lite.
  output logic                    wready_o,  /// AXI4-Lite.
  input  logic [31:0]             wdata_i,   /// AXI4-Lite.
  input  logic [3:0]              wstrb_i,   /// AXI4-Lite.
  output logic                    bvalid_o,  /// AXI4-Lite.
  input  logic                    bready_i,  /// AXI4-Lite.
  output logic [1:0]              bresp_o,   /// AXI4-Lite.
  input  logic                    arvalid_i, /// AXI4-Lite.
  output logic                    arready_o, /// AXI4-Lite.
  input  logic [AddrWidth-1:0]    araddr_i,  /// AXI4-Lite.
  input  logic [2:0]              arprot_i,  /// AXI4-Lite.
  output logic                    rvalid_o,  /// AXI4-Lite.
  input  logic                    rready_i,  /// AXI4-Lite.
  output logic [31:0]             rdata_o,   /// AXI4-Lite.
  output logic [1:0]              rresp_o,   /// AXI4-Lite.
  input  logic                    psel_i,    /// APB, as weir_apb_bus.
  input  logic                    penable_i, /// APB.
  input  logic                    pwrite_i,  /// APB.
  input  logic [AddrWidth-1:0]    paddr_i,   /// APB.
  input  logic [2:0]              pprot_i,   /// APB.
  input  logic [31:0]             pwdata_i,  /// APB.
  input  logic [3:0]              pstrb_i,   /// APB.
  output logic                    pready_o,  /// APB.
  output logic [31:0]             prdata_o,  /// APB.
  output logic                    pslverr_o, /// APB.
  input  logic                    cyc_i,     /// Wishbone, as weir_wishbone_bus.
  input  logic                    stb_i,     /// Wishbone.
  input  logic                    we_i,      /// Wishbone.
  input  logic [AddrWidth-1:2]    adr_i,     /// Wishbone.
  input  logic [3:0]              sel_i,     /// Wishbone.
  input  logic [31:0]             dat_i,     /// Wishbone.
  output logic [31:0]             dat_o,     /// Wishbone.
  output logic                    ack_o,     /// Wishbone.
  output logic                    err_o,     /// Wishbone.
  output logic [2:0][NumCpus-1:0] irq_o      /// Interrupts, in this order of buses.
);
  logic [2:0]                    req, we, answered;
  logic [2:0][0:0]               cpu;
  logic [2:0][WindowWidth-1:2]   addr;
  logic [2:0][31:0]              wdata, rdata;

  weir_axil_bus #(.NumCpus(NumCpus), .WindowWidth(WindowWidth)) u_axil (
    .clk_i, .rst_ni, .awvalid_i, .awready_o, .awaddr_i, .awprot_i, .wvalid_i, .wready_o, .wdata_i, .wstrb_i, .bvalid_o, .bready_i,
    .bresp_o, .arvalid_i, .arready_o, .araddr_i, .arprot_i, .rvalid_o, .rready_i, .rdata_o, .rresp_o,
    .req_o(req[0]), .we_o(we[0]), .cpu_o(cpu[0]), .addr_o(addr[0]), .wdata_o(wdata[0]),
    .rvalid_i(answered[0]), .err_i(1'b0), .rdata_i(rdata[0])
  );
  weir_apb_bus #(.NumCpus(NumCpus), .WindowWidth(WindowWidth)) u_apb (
    .clk_i, .rst_ni, .psel_i, .penable_i, .pwrite_i, .paddr_i, .pprot_i, .pwdata_i, .pstrb_i, .pready_o, .prdata_o, .pslverr_o,
    .req_o(req[1]), .we_o(we[1]), .cpu_o(cpu[1]), .addr_o(addr[1]), .wdata_o(wdata[1]),
    .rvalid_i(answered[1]), .err_i(1'b0), .rdata_i(rdata[1])
  );
  weir_wishbone_bus #(.NumCpus(NumCpus), .WindowWidth(WindowWidth)) u_wishbone (
    .clk_i, .rst_ni, .cyc_i, .stb_i, .we_i, .adr_i, .sel_i, .dat_i, .dat_o, .ack_o, .err_o,
    .req_o(req[2]), .we_o(we[2]), .cpu_o(cpu[2]), .addr_o(addr[2]), .wdata_o(wdata[2]),
    .rvalid_i(answered[2]), .err_i(1'b0), .rdata_i(rdata[2])
  );

  for (genvar b = 0; b < 3; b++) begin : gen_block
    if (Unified) begin : gen_unified
      weir_unified #(.NumThreads(8), .NumLevels(16)) u_unified (
        .clk_i, .rst_ni, .lines_i('0), .req_i(req[b]), .we_i(we[b]), .addr_i(addr[b]), .wdata_i(wdata[b]),
        .rvalid_o(answered[b]), .rdata_o(rdata[b]), .irq_o(irq_o[b])
      );
    end else begin : gen_kernel
      logic       wake, hard_wake;
      logic [2:0] wake_id, hard_wake_id;
      weir_kernel #(.NumThreads(8), .NumLevels(16), .NumMutexes(2), .NumConditions(2), .NumTimers(4), .NumCpus(NumCpus)) u_kernel (
        .clk_i, .rst_ni, .lines_i('0), .req_i(req[b]), .cpu_i(cpu[b]), .we_i(we[b]), .addr_i(addr[b]), .wdata_i(wdata[b]),
        .rvalid_o(answered[b]), .rdata_o(rdata[b]), .irq_o(irq_o[b]), .wake_o(wake), .wake_id_o(wake_id),
        .hard_wake_o(hard_wake), .hard_wake_id_o(hard_wake_id)
      );
    end
  end
endmodule
