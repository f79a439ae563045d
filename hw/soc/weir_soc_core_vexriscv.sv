// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_soc_core - VexRiscv (RV32IM, the variant Lite) as a core of weir_soc: traps as the privileged architecture has them.
///
/// Interrupts: 7 (timer) and 3 (software) from its CLINT, 11 (external) while one of the lines is high that CSR 0xbc0 enables: bit 0
/// scheduler, 1 devices, 2 the timer of the system, 3 another CPU. Instructions are fetched through a cache; data are not cached.
module weir_soc_core (
  input  logic        clk_i,    /// Clock.
  input  logic        rst_ni,   /// Reset, active low.
  output logic        valid_o,  /// An access; stays until ready_i.
  output logic [31:0] addr_o,   /// Its address.
  output logic [31:0] wdata_o,  /// What to write.
  output logic [3:0]  wstrb_o,  /// Bytes to write; 0: a read.
  input  logic        ready_i,  /// It is done.
  input  logic [31:0] rdata_i,  /// What was read; with ready_i.
  input  logic        sched_i,  /// The scheduler interrupts.
  input  logic        timer_i,  /// The timer of the system interrupts.
  input  logic        lines_i,  /// A device interrupts.
  input  logic        ipi_i,    /// Another CPU interrupts.
  output logic        fetch_o,  /// An instruction has ended.
  output logic [31:0] pc_o,     /// Its address.
  output logic        trap_o    /// Never: an error is an exception.
);
  logic        i_stb, i_ack, d_stb, d_ack, d_we, clint, clint_ack, clint_timer, clint_software;
  logic [29:0] i_addr, d_addr;
  logic [31:0] d_wdata, clint_rdata;
  logic [3:0]  d_sel;

  /* verilator lint_off PINCONNECTEMPTY */
  VexRiscv u_cpu (
    .clk(clk_i), .reset(!rst_ni), .externalResetVector(32'd0),
    .timerInterrupt(clint_timer), .softwareInterrupt(clint_software),
    .externalInterruptArray({28'd0, ipi_i, timer_i, lines_i, sched_i}),
    .iBusWishbone_CYC(), .iBusWishbone_STB(i_stb), .iBusWishbone_ACK(i_ack), .iBusWishbone_WE(), .iBusWishbone_ADR(i_addr),
    .iBusWishbone_DAT_MISO(rdata_i), .iBusWishbone_DAT_MOSI(), .iBusWishbone_SEL(), .iBusWishbone_ERR(1'b0),
    .iBusWishbone_CTI(), .iBusWishbone_BTE(),
    .dBusWishbone_CYC(), .dBusWishbone_STB(d_stb), .dBusWishbone_ACK(d_ack), .dBusWishbone_WE(d_we), .dBusWishbone_ADR(d_addr),
    .dBusWishbone_DAT_MISO(clint ? clint_rdata : rdata_i), .dBusWishbone_DAT_MOSI(d_wdata), .dBusWishbone_SEL(d_sel),
    .dBusWishbone_ERR(1'b0), .dBusWishbone_CTI(), .dBusWishbone_BTE()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  assign clint = d_addr[29:14] == 16'h0200;
  weir_soc_clint u_clint (
    .clk_i, .rst_ni, .req_i(d_stb && clint), .we_i(d_we), .addr_i(d_addr[13:0]), .wdata_i(d_wdata),
    .ack_o(clint_ack), .rdata_o(clint_rdata), .timer_o(clint_timer), .software_o(clint_software)
  );

  // One access at a time, data first; what has begun is finished.
  logic busy_q, data_q, data;
  assign data = busy_q ? data_q : d_stb && !clint;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      data_q <= 1'b0;
    end else begin
      busy_q <= valid_o && !ready_i;
      data_q <= data;
    end
  end
  assign valid_o = data ? d_stb : i_stb;
  assign addr_o  = {data ? d_addr : i_addr, 2'd0};
  assign wdata_o = d_wdata;
  assign wstrb_o = data && d_we ? d_sel : '0;
  assign i_ack   = ready_i && !data;
  assign d_ack   = clint ? clint_ack : ready_i && data;

  // What the core shows to simulators.
  assign fetch_o = u_cpu.lastStageIsFiring;
  assign pc_o    = u_cpu.lastStagePc;
  assign trap_o  = 1'b0;
endmodule
