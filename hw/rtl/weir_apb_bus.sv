// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_apb_bus - APB (version 4) in front of the simple bus of the blocks; each CPU has its window, as in weir_axil_bus.
///
/// An error is PSLVERR: an address beyond the last window or within a word, a write of less than a word, a transfer without privilege
/// where PrivilegedOnly is set (none of them has an effect), and what the module behind calls an error. Outputs depend on registers only.
///
/// latency:  5 clocks of PENABLE for a module that answers after 2, 1 for what is refused
/// area:     O(1)
module weir_apb_bus #(
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 2,
  /// Bits of an address in a window, 3..28.
  parameter int unsigned WindowWidth = 11,
  /// 1: transfers without privilege (bit 0 of PPROT) are refused.
  parameter bit PrivilegedOnly = 1'b0,
  /// Dependent, do not override: bits of an address, of up to 32 windows.
  localparam int unsigned AddrWidth = (WindowWidth < 27) ? WindowWidth + 5 : 32,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input  logic                clk_i,     /// Clock, rising edge.
  input  logic                rst_ni,    /// Reset, asynchronous, active low.
  input  logic                psel_i,    /// APB.
  input  logic                penable_i, /// APB.
  input  logic                pwrite_i,  /// APB.
  input  logic [AddrWidth-1:0] paddr_i,   /// Byte address.
  input  logic [2:0]          pprot_i,   /// Bit 0: privileged.
  input  logic [31:0]         pwdata_i,  /// APB.
  input  logic [3:0]          pstrb_i,   /// All ones in a write, else PSLVERR.
  output logic                pready_o,  /// The transfer ends.
  output logic [31:0]         prdata_o,  /// Data, with pready_o.
  output logic                pslverr_o, /// With pready_o: it was refused.
  output logic                req_o,     /// Simple bus, as in weir_axil_bus.
  output logic                we_o,      /// It writes.
  output logic [CpuWidth-1:0] cpu_o,     /// The CPU whose window it is.
  output logic [WindowWidth-1:2] addr_o,    /// Word address in the window.
  output logic [31:0]         wdata_o,   /// Data.
  input  logic                rvalid_i,  /// Answer, some clocks later.
  input  logic                err_i,     /// With it: an error.
  input  logic [31:0]         rdata_i    /// Data.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumCpus < 1 || NumCpus > 8) $error("weir_apb_bus: NumCpus is 1 to 8, not %0d", NumCpus);
  if (WindowWidth < 3 || WindowWidth > 28) $error("weir_apb_bus: WindowWidth is 3 to 28, not %0d", WindowWidth);

  typedef enum logic [1:0] {Idle, Request, Wait, Answer} state_e;
  state_e      state_q;
  logic        we_q, err_q, refused;
  logic [AddrWidth-1:0] addr_q;
  logic [31:0] data_q;

  assign refused = 32'(paddr_i[AddrWidth-1:WindowWidth]) >= NumCpus || paddr_i[1:0] != '0 || (pwrite_i && pstrb_i != 4'b1111) ||
                   (PrivilegedOnly && !pprot_i[0]);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      we_q    <= 1'b0;
      err_q   <= 1'b0;
      addr_q  <= '0;
      data_q  <= '0;
    end else begin
      unique case (state_q)
        // The setup phase: address and data stand until the end.
        Idle: if (psel_i && !penable_i) begin
          we_q    <= pwrite_i;
          addr_q  <= paddr_i;
          data_q  <= refused || !pwrite_i ? '0 : pwdata_i;
          err_q   <= refused;
          state_q <= refused ? Answer : Request;
        end
        Request: state_q <= Wait;
        Wait: if (rvalid_i) begin
          data_q  <= rdata_i;
          err_q   <= err_i;
          state_q <= Answer;
        end
        Answer: state_q <= Idle;
        default: state_q <= Idle;
      endcase
    end
  end

  assign pready_o  = state_q == Answer;
  assign prdata_o  = data_q;
  assign pslverr_o = err_q && pready_o;
  assign req_o     = state_q == Request;
  assign we_o      = we_q;
  assign cpu_o     = addr_q[WindowWidth+:CpuWidth];
  assign addr_o    = addr_q[WindowWidth-1:2];
  assign wdata_o   = data_q;

  // Instruction or data, secure or not: no difference here. The window number may have more bits than there are CPUs.
  logic unused;
  assign unused = ^{pprot_i[2:1], addr_q};
endmodule
