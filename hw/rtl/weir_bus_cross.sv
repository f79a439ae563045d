// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_bus_cross - the simple bus and the interrupts of a block from one clock to another.
///
/// For an engine, a set or a controller whose clock is not that of the bus, as where slow fabric stands beside fast CPUs. One request at
/// a time. Address and data rest while they cross; only a bit that changes with each request, and one with each answer, pass
/// synchronisers of two flip-flops. Interrupts are levels and pass one synchroniser each. Both resets have to overlap. An interrupt
/// that a read of SCHED ends is seen for up to two bus clocks after the answer; a handler that is entered for it reads SCHED again, and
/// finds no change.
///
/// latency:  from request to answer 4 bus clocks and 3 engine clocks more than the engine takes, at most; an interrupt 2 bus clocks
/// area:     O(1)
module weir_bus_cross #(
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 2,
  /// Bits of an address in a window, 3..28.
  parameter int unsigned WindowWidth = 11,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input  logic                bus_clk_i,  /// Clock of the bus, rising edge.
  input  logic                bus_rst_ni, /// Its reset, asynchronous, active low.
  input  logic                req_i,      /// A request; the next one only after its answer.
  input  logic                we_i,       /// It writes.
  input  logic [CpuWidth-1:0] cpu_i,      /// The CPU that asks.
  input  logic [WindowWidth-1:2] addr_i,     /// Word address.
  input  logic [31:0]         wdata_i,    /// Data.
  output logic                rvalid_o,   /// The answer.
  output logic                err_o,      /// With it: an error.
  output logic [31:0]         rdata_o,    /// Data.
  output logic [NumCpus-1:0]  irq_o,      /// Interrupts, in the clock of the bus.
  input  logic                clk_i,      /// Clock of the engine, rising edge.
  input  logic                rst_ni,     /// Its reset, asynchronous, active low.
  output logic                req_o,      /// The request.
  output logic                we_o,       /// It writes.
  output logic [CpuWidth-1:0] cpu_o,      /// The CPU that asks.
  output logic [WindowWidth-1:2] addr_o,     /// Word address.
  output logic [31:0]         wdata_o,    /// Data.
  input  logic                rvalid_i,   /// The answer.
  input  logic                err_i,      /// With it: an error.
  input  logic [31:0]         rdata_i,    /// Data.
  input  logic [NumCpus-1:0]  irq_i       /// Interrupts, from registers.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumCpus < 1 || NumCpus > 8) $error("weir_bus_cross: NumCpus is 1 to 8, not %0d", NumCpus);
  if (WindowWidth < 3 || WindowWidth > 28) $error("weir_bus_cross: WindowWidth is 3 to 28, not %0d", WindowWidth);

  // ------------------------------------------------------------------ clock of the bus
  logic                asked_q, answered_1, answered_2, answered_3, we_q;
  logic [CpuWidth-1:0] cpu_q;
  logic [WindowWidth-1:2] addr_q;
  logic [31:0]         wdata_q;
  logic [NumCpus-1:0]  irq_1, irq_2;
  // In the clock of the engine.
  logic                answered_q, err_q, asked_1, asked_2, asked_3;
  logic [31:0]         rdata_q;

  always_ff @(posedge bus_clk_i or negedge bus_rst_ni) begin
    if (!bus_rst_ni) begin
      asked_q    <= 1'b0;
      answered_1 <= 1'b0;
      answered_2 <= 1'b0;
      answered_3 <= 1'b0;
      we_q       <= 1'b0;
      cpu_q      <= '0;
      addr_q     <= '0;
      wdata_q    <= '0;
      rvalid_o   <= 1'b0;
      err_o      <= 1'b0;
      rdata_o    <= '0;
      irq_1      <= '0;
      irq_2      <= '0;
    end else begin
      if (req_i) begin
        asked_q <= !asked_q;
        we_q    <= we_i;
        cpu_q   <= cpu_i;
        addr_q  <= addr_i;
        wdata_q <= wdata_i;
      end
      answered_1 <= answered_q;
      answered_2 <= answered_1;
      answered_3 <= answered_2;
      rvalid_o   <= answered_2 != answered_3;
      // It rests since before answered_q changed.
      if (answered_2 != answered_3) begin
        err_o   <= err_q;
        rdata_o <= rdata_q;
      end
      irq_1 <= irq_i;
      irq_2 <= irq_1;
    end
  end
  assign irq_o = irq_2;

  // ------------------------------------------------------------------ clock of the engine
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      asked_1    <= 1'b0;
      asked_2    <= 1'b0;
      asked_3    <= 1'b0;
      answered_q <= 1'b0;
      err_q      <= 1'b0;
      rdata_q    <= '0;
    end else begin
      asked_1 <= asked_q;
      asked_2 <= asked_1;
      asked_3 <= asked_2;
      if (rvalid_i) begin
        answered_q <= !answered_q;
        err_q      <= err_i;
        rdata_q    <= rdata_i;
      end
    end
  end
  assign req_o   = asked_2 != asked_3;
  assign we_o    = we_q;
  assign cpu_o   = cpu_q;
  assign addr_o  = addr_q;
  assign wdata_o = wdata_q;
endmodule
