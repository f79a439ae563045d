// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_soc_core - PicoRV32 (RV32IM) as a core of weir_soc: one bus for instructions and data, interrupts of its own kind.
///
/// Interrupts: 3 timer, 4 scheduler, 5 lines, 6 another CPU. weir_soc_core_vexriscv.sv is the same with another core: a system takes
/// one of the two files.
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
  output logic        fetch_o,  /// An instruction was fetched.
  output logic [31:0] pc_o,     /// Its address.
  output logic        trap_o    /// The core has stopped for good.
);
  logic instr;
  assign fetch_o = valid_o && instr && ready_i;
  assign pc_o    = addr_o;

  /* verilator lint_off PINCONNECTEMPTY */
  picorv32 #(
    .ENABLE_COUNTERS(0), .ENABLE_COUNTERS64(0), .ENABLE_IRQ(1), .ENABLE_IRQ_TIMER(0), .LATCHED_IRQ(32'h6),
    .MASKED_IRQ(32'hffff_ff81), .BARREL_SHIFTER(1), .ENABLE_FAST_MUL(1), .ENABLE_DIV(1), .REGS_INIT_ZERO(1),
    .CATCH_MISALIGN(1), .PROGADDR_RESET(32'h0), .PROGADDR_IRQ(32'h10)
  ) u_cpu (
    .clk(clk_i), .resetn(rst_ni), .trap(trap_o),
    .mem_valid(valid_o), .mem_instr(instr), .mem_ready(ready_i), .mem_addr(addr_o), .mem_wdata(wdata_o),
    .mem_wstrb(wstrb_o), .mem_rdata(rdata_i), .irq({25'd0, ipi_i, lines_i, sched_i, timer_i, 3'd0}),
    .mem_la_read(), .mem_la_write(), .mem_la_addr(), .mem_la_wdata(), .mem_la_wstrb(), .eoi(),
    .pcpi_valid(), .pcpi_insn(), .pcpi_rs1(), .pcpi_rs2(), .pcpi_wr(1'b0), .pcpi_rd('0), .pcpi_wait(1'b0),
    .pcpi_ready(1'b0), .trace_valid(), .trace_data()
  );
  /* verilator lint_on PINCONNECTEMPTY */
endmodule
