// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_shells - an engine behind each of the shells for APB, Wishbone, OBI and TL-UL, for the bench in weir_shells_test.py.
///
/// latency:  as each shell
/// area:     for simulation only
module weir_shells #(
  /// As weir_laxity.
  parameter int unsigned NumTasks = 8,
  /// As weir_laxity.
  parameter int unsigned NumCpus = 2,
  /// As weir_laxity.
  parameter int unsigned Width = 16,
  /// As weir_laxity.
  parameter int unsigned Select = 0,
  /// As weir_laxity.
  parameter bit ReadBack = 1'b1,
  /// As the shells that have it: APB and OBI.
  parameter bit PrivilegedOnly = 1'b1,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  /// Dependent, do not override: bits of a task number.
  localparam int unsigned IdWidth = $clog2(NumTasks)
) (
  input  logic                    clk_i,          /// Clock, rising edge.
  input  logic                    rst_ni,         /// Reset, asynchronous, active low.
  input  logic                    psel_i,         /// APB, as weir_apb_bus.
  input  logic                    penable_i,      /// APB.
  input  logic                    pwrite_i,       /// APB.
  input  logic [15:0]             paddr_i,        /// APB.
  input  logic [2:0]              pprot_i,        /// APB.
  input  logic [31:0]             pwdata_i,       /// APB.
  input  logic [3:0]              pstrb_i,        /// APB.
  output logic                    pready_o,       /// APB.
  output logic [31:0]             prdata_o,       /// APB.
  output logic                    pslverr_o,      /// APB.
  input  logic                    cyc_i,          /// Wishbone, as weir_wishbone_bus.
  input  logic                    stb_i,          /// Wishbone.
  input  logic                    we_i,           /// Wishbone.
  input  logic [15:2]             adr_i,          /// Wishbone.
  input  logic [3:0]              sel_i,          /// Wishbone.
  input  logic [31:0]             dat_i,          /// Wishbone.
  output logic [31:0]             dat_o,          /// Wishbone.
  output logic                    ack_o,          /// Wishbone.
  output logic                    err_o,          /// Wishbone.
  input  logic                    obi_req_i,      /// OBI, as weir_obi_bus.
  output logic                    obi_gnt_o,      /// OBI.
  input  logic [31:0]             obi_addr_i,     /// OBI.
  input  logic                    obi_we_i,       /// OBI.
  input  logic [3:0]              obi_be_i,       /// OBI.
  input  logic [31:0]             obi_wdata_i,    /// OBI.
  input  logic [2:0]              obi_prot_i,     /// OBI.
  output logic                    obi_rvalid_o,   /// OBI.
  input  logic                    obi_rready_i,   /// OBI.
  output logic [31:0]             obi_rdata_o,    /// OBI.
  output logic                    obi_err_o,      /// OBI.
  input  logic                    tl_a_valid_i,   /// TL-UL, as weir_tlul_bus.
  output logic                    tl_a_ready_o,   /// TL-UL.
  input  logic [2:0]              tl_a_opcode_i,  /// TL-UL.
  input  logic [1:0]              tl_a_size_i,    /// TL-UL.
  input  logic [7:0]              tl_a_source_i,  /// TL-UL.
  input  logic [31:0]             tl_a_address_i, /// TL-UL.
  input  logic [3:0]              tl_a_mask_i,    /// TL-UL.
  input  logic [31:0]             tl_a_data_i,    /// TL-UL.
  input  logic                    tl_a_corrupt_i, /// TL-UL.
  output logic                    tl_d_valid_o,   /// TL-UL.
  input  logic                    tl_d_ready_i,   /// TL-UL.
  output logic [2:0]              tl_d_opcode_o,  /// TL-UL.
  output logic [1:0]              tl_d_size_o,    /// TL-UL.
  output logic [7:0]              tl_d_source_o,  /// TL-UL.
  output logic                    tl_d_denied_o,  /// TL-UL.
  output logic [31:0]             tl_d_data_o,    /// TL-UL.
  output logic                    tl_d_corrupt_o, /// TL-UL.
  output logic [3:0][NumCpus-1:0] irq_o           /// Interrupts of the engines, in this order of buses.
);
  logic [3:0]               req, we, answered, err;
  logic [3:0][CpuWidth-1:0] cpu;
  logic [3:0][10:2]         addr;
  logic [3:0][31:0]         wdata, rdata;

  weir_apb_bus #(.NumCpus(NumCpus), .PrivilegedOnly(PrivilegedOnly)) u_apb (
    .clk_i, .rst_ni, .psel_i, .penable_i, .pwrite_i, .paddr_i, .pprot_i, .pwdata_i, .pstrb_i, .pready_o, .prdata_o, .pslverr_o,
    .req_o(req[0]), .we_o(we[0]), .cpu_o(cpu[0]), .addr_o(addr[0]), .wdata_o(wdata[0]),
    .rvalid_i(answered[0]), .err_i(err[0]), .rdata_i(rdata[0])
  );
  weir_wishbone_bus #(.NumCpus(NumCpus)) u_wishbone (
    .clk_i, .rst_ni, .cyc_i, .stb_i, .we_i, .adr_i, .sel_i, .dat_i, .dat_o, .ack_o, .err_o,
    .req_o(req[1]), .we_o(we[1]), .cpu_o(cpu[1]), .addr_o(addr[1]), .wdata_o(wdata[1]),
    .rvalid_i(answered[1]), .err_i(err[1]), .rdata_i(rdata[1])
  );
  weir_obi_bus #(.NumCpus(NumCpus), .PrivilegedOnly(PrivilegedOnly)) u_obi (
    .clk_i, .rst_ni, .obi_req_i, .obi_gnt_o, .obi_addr_i, .obi_we_i, .obi_be_i, .obi_wdata_i, .obi_prot_i,
    .obi_rvalid_o, .obi_rready_i, .obi_rdata_o, .obi_err_o,
    .req_o(req[2]), .we_o(we[2]), .cpu_o(cpu[2]), .addr_o(addr[2]), .wdata_o(wdata[2]),
    .rvalid_i(answered[2]), .err_i(err[2]), .rdata_i(rdata[2])
  );
  weir_tlul_bus #(.NumCpus(NumCpus)) u_tlul (
    .clk_i, .rst_ni, .tl_a_valid_i, .tl_a_ready_o, .tl_a_opcode_i, .tl_a_size_i, .tl_a_source_i, .tl_a_address_i, .tl_a_mask_i,
    .tl_a_data_i, .tl_a_corrupt_i, .tl_d_valid_o, .tl_d_ready_i, .tl_d_opcode_o, .tl_d_size_o, .tl_d_source_o, .tl_d_denied_o,
    .tl_d_data_o, .tl_d_corrupt_o,
    .req_o(req[3]), .we_o(we[3]), .cpu_o(cpu[3]), .addr_o(addr[3]), .wdata_o(wdata[3]),
    .rvalid_i(answered[3]), .err_i(err[3]), .rdata_i(rdata[3])
  );

  for (genvar b = 0; b < 4; b++) begin : gen_engine
    logic                            decided;
    logic [NumCpus-1:0]              busy;
    logic [NumCpus-1:0][IdWidth-1:0] task_no;
    weir_laxity #(.NumTasks(NumTasks), .NumCpus(NumCpus), .Width(Width), .Select(Select), .ReadBack(ReadBack)) u_engine (
      .clk_i, .rst_ni, .req_i(req[b]), .we_i(we[b]), .cpu_i(cpu[b]), .addr_i(addr[b]), .wdata_i(wdata[b]),
      .rvalid_o(answered[b]), .err_o(err[b]), .rdata_o(rdata[b]), .irq_o(irq_o[b]), .decided_o(decided), .busy_o(busy), .task_o(task_no)
    );
    logic unused;
    assign unused = ^{decided, busy, task_no};
  end
endmodule
