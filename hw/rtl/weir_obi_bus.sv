// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_obi_bus - OBI (version 1) in front of the simple bus of the engine, the whole set or the unified controller; each CPU has its window.
///
/// A window is what the module behind takes: 2 KiB (11 bits) for weir_laxity, 32 MiB (25) for weir_kernel, 256 MiB (28) for weir_unified.
/// Window c belongs to CPU c. One transfer at a time. ERR: an address beyond the last window or within a word, an access of less than a
/// word, one without privilege where PrivilegedOnly is set (none of them has an effect), and what the module behind calls an error.
/// Outputs depend on registers only.
///
/// latency:  4 clocks from REQ with GNT to RVALID for a module that answers after 2, 1 for what is refused
/// area:     O(1)
module weir_obi_bus #(
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 2,
  /// Bits of an address in a window, 3..28.
  parameter int unsigned WindowWidth = 11,
  /// 1: accesses of user programs (PROT[2:1] is 0) are refused.
  parameter bit PrivilegedOnly = 1'b0,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1
) (
  input  logic                   clk_i,        /// Clock, rising edge.
  input  logic                   rst_ni,       /// Reset, asynchronous, active low.
  input  logic                   obi_req_i,    /// OBI: an access, until it is granted.
  output logic                   obi_gnt_o,    /// It is taken.
  input  logic [31:0]            obi_addr_i,   /// Byte address, from the first window on.
  input  logic                   obi_we_i,     /// It writes.
  input  logic [3:0]             obi_be_i,     /// All ones, else ERR.
  input  logic [31:0]            obi_wdata_i,  /// Data.
  input  logic [2:0]             obi_prot_i,   /// Bits 2 and 1: 0 is a user program.
  output logic                   obi_rvalid_o, /// Answer, until obi_rready_i.
  input  logic                   obi_rready_i, /// It is taken; 1 for a master without it.
  output logic [31:0]            obi_rdata_o,  /// Data.
  output logic                   obi_err_o,    /// With obi_rvalid_o: it was refused.
  output logic                   req_o,        /// Simple bus, as in weir_axil_bus.
  output logic                   we_o,         /// It writes.
  output logic [CpuWidth-1:0]    cpu_o,        /// The CPU whose window it is.
  output logic [WindowWidth-1:2] addr_o,       /// Word address in the window.
  output logic [31:0]            wdata_o,      /// Data.
  input  logic                   rvalid_i,     /// Answer, some clocks later.
  input  logic                   err_i,        /// With it: an error; 0 for a module that knows none.
  input  logic [31:0]            rdata_i       /// Data.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumCpus < 1 || NumCpus > 8) $error("weir_obi_bus: NumCpus is 1 to 8, not %0d", NumCpus);
  if (WindowWidth < 3 || WindowWidth > 28) $error("weir_obi_bus: WindowWidth is 3 to 28, not %0d", WindowWidth);

  typedef enum logic [1:0] {Idle, Request, Wait, Answer} state_e;
  state_e      state_q;
  logic        we_q, err_q, refused;
  logic [31:0] data_q;
  logic [CpuWidth-1:0]    cpu_q;
  logic [WindowWidth-1:2] addr_q;

  assign refused = obi_addr_i >> WindowWidth >= NumCpus || obi_addr_i[1:0] != '0 || obi_be_i != 4'b1111 ||
                   (PrivilegedOnly && obi_prot_i[2:1] == '0);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      we_q    <= 1'b0;
      err_q   <= 1'b0;
      cpu_q   <= '0;
      addr_q  <= '0;
      data_q  <= '0;
    end else begin
      unique case (state_q)
        Idle: if (obi_req_i) begin
          we_q    <= obi_we_i;
          cpu_q   <= obi_addr_i[WindowWidth+:CpuWidth];
          addr_q  <= obi_addr_i[WindowWidth-1:2];
          data_q  <= refused || !obi_we_i ? '0 : obi_wdata_i;
          err_q   <= refused;
          state_q <= refused ? Answer : Request;
        end
        Request: state_q <= Wait;
        Wait: if (rvalid_i) begin
          data_q  <= rdata_i;
          err_q   <= err_i;
          state_q <= Answer;
        end
        Answer: if (obi_rready_i) state_q <= Idle;
        default: state_q <= Idle;
      endcase
    end
  end

  assign obi_gnt_o    = state_q == Idle;
  assign obi_rvalid_o = state_q == Answer;
  assign obi_rdata_o  = data_q;
  assign obi_err_o    = err_q;
  assign req_o        = state_q == Request;
  assign we_o         = we_q;
  assign cpu_o        = cpu_q;
  assign addr_o       = addr_q;
  assign wdata_o      = data_q;

  // Instruction or data: no difference here.
  logic unused;
  assign unused = ^obi_prot_i;
endmodule
