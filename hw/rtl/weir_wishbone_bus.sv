// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_wishbone_bus - Wishbone (B4, classic cycles) in front of the simple bus of the blocks; each CPU has its window, as in weir_axil_bus.
///
/// ERR ends a cycle that is refused: an address beyond the last window, a write of less than a word (neither has an effect), and what
/// the module behind calls an error. Wishbone knows no privilege. Outputs depend on registers only.
///
/// latency:  5 clocks from STB to ACK for a module that answers after 2, 1 for what is refused
/// area:     O(1)
module weir_wishbone_bus #(
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 2,
  /// Bits of an address in a window, 3..28.
  parameter int unsigned WindowWidth = 11,
  /// Dependent, do not override: bits of an address, of up to 32 windows.
  localparam int unsigned AddrWidth = (WindowWidth < 27) ? WindowWidth + 5 : 32,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input  logic                clk_i,    /// Clock, rising edge.
  input  logic                rst_ni,   /// Reset, asynchronous, active low.
  input  logic                cyc_i,    /// Wishbone.
  input  logic                stb_i,    /// Wishbone.
  input  logic                we_i,     /// Wishbone.
  input  logic [AddrWidth-1:2] adr_i,    /// Word address.
  input  logic [3:0]          sel_i,    /// All ones in a write, else ERR.
  input  logic [31:0]         dat_i,    /// Wishbone.
  output logic [31:0]         dat_o,    /// Data, with ack_o.
  output logic                ack_o,    /// The cycle ends.
  output logic                err_o,    /// The cycle ends and was refused.
  output logic                req_o,    /// Simple bus, as in weir_axil_bus.
  output logic                we_o,     /// It writes.
  output logic [CpuWidth-1:0] cpu_o,    /// The CPU whose window it is.
  output logic [WindowWidth-1:2] addr_o,   /// Word address in the window.
  output logic [31:0]         wdata_o,  /// Data.
  input  logic                rvalid_i, /// Answer, some clocks later.
  input  logic                err_i,    /// With it: an error.
  input  logic [31:0]         rdata_i   /// Data.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumCpus < 1 || NumCpus > 8) $error("weir_wishbone_bus: NumCpus is 1 to 8, not %0d", NumCpus);
  if (WindowWidth < 3 || WindowWidth > 28) $error("weir_wishbone_bus: WindowWidth is 3 to 28, not %0d", WindowWidth);

  // Drop: the master gave up a cycle whose request is under way; its answer is for nobody.
  typedef enum logic [2:0] {Idle, Request, Wait, Drop, Answer} state_e;
  state_e      state_q;
  logic        we_q, err_q, refused, live;
  logic [AddrWidth-1:2] addr_q;
  logic [31:0] data_q;

  assign live    = cyc_i && stb_i;
  assign refused = 32'(adr_i[AddrWidth-1:WindowWidth]) >= NumCpus || (we_i && sel_i != 4'b1111);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      we_q    <= 1'b0;
      err_q   <= 1'b0;
      addr_q  <= '0;
      data_q  <= '0;
    end else begin
      unique case (state_q)
        Idle: if (live) begin
          we_q    <= we_i;
          addr_q  <= adr_i;
          data_q  <= refused || !we_i ? '0 : dat_i;
          err_q   <= refused;
          state_q <= refused ? Answer : Request;
        end
        Request: state_q <= live ? Wait : Drop;
        Wait: if (rvalid_i) begin
          data_q  <= rdata_i;
          err_q   <= err_i;
          state_q <= live ? Answer : Idle;
        end else if (!live) state_q <= Drop;
        Drop: if (rvalid_i) state_q <= Idle;
        Answer: state_q <= Idle;
        default: state_q <= Idle;
      endcase
    end
  end

  assign ack_o   = state_q == Answer && !err_q;
  assign err_o   = state_q == Answer && err_q;
  assign dat_o   = data_q;
  assign req_o   = state_q == Request;
  assign we_o    = we_q;
  assign cpu_o   = addr_q[WindowWidth+:CpuWidth];
  assign addr_o  = addr_q[WindowWidth-1:2];
  assign wdata_o = data_q;

  // The window number may have more bits than there are CPUs.
  logic unused;
  assign unused = ^addr_q;
endmodule
