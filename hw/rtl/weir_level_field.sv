// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_level_field - one bit per priority in a memory, and the highest set bit.
///
/// A word of the memory counts only while its bit of the summary is set, so that a reset need not clear the memory.
///
/// twin:     hw/models/src/unified.rs, within weir_unified
/// latency:  top_o is valid with settled_o, 4 clocks after a change
/// area:     a memory of NumLevels bits, a register per word of it, two encoders of at most 16
/// source:   Preston, 2011, 3.2.4 (five clocks there); the two levels are ours
module weir_level_field #(
  /// Levels, 2..256, a power of two.
  parameter int unsigned NumLevels = 256,
  /// Dependent, do not override: bits of a level.
  localparam int unsigned LevelWidth = $clog2(NumLevels)
) (
  input  logic                  clk_i,     /// Clock, rising edge.
  input  logic                  rst_ni,    /// Reset, asynchronous, active low: no bit is set.
  input  logic                  change_i,  /// Change the bit of a level; only while settled_o.
  input  logic                  set_i,     /// Set it; else clear it.
  input  logic [LevelWidth-1:0] level_i,   /// Which one.
  output logic                  settled_o, /// What follows is right.
  output logic                  some_o,    /// Some bit is set.
  output logic [LevelWidth-1:0] top_o      /// The highest of them.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumLevels < 2 || NumLevels > 256 || (NumLevels & (NumLevels - 1)) != 0)
    $error("weir_level_field: NumLevels is a power of two, 2 to 256, not %0d", NumLevels);

  // Two levels are kept as if there were four: a word has at least two bits, and there are at least two words.
  localparam int unsigned Bits = (LevelWidth > 2) ? LevelWidth : 2;
  localparam int unsigned PlaceWidth = (Bits + 1) / 2;
  localparam int unsigned GroupWidth = Bits - PlaceWidth;
  localparam int unsigned Places = 1 << PlaceWidth;
  localparam int unsigned Groups = 1 << GroupWidth;

  // Change: the word is read, and written back with the bit changed. Look: the highest word is looked up. Tell: it is read.
  typedef enum logic [1:0] {Settled, Change, Look, Tell} state_e;
  state_e                state_q;
  logic [Groups-1:0]     some_q;
  logic [Places-1:0]     word, present, changed;
  logic [Places-1:0]     word_mem[Groups];
  logic [GroupWidth-1:0] group_q, highest, address;
  logic [PlaceWidth-1:0] place_q, last;
  logic                  set_q;

  assign settled_o = state_q == Settled;
  assign address   = state_q == Look ? highest : GroupWidth'(Bits'(level_i) >> PlaceWidth);
  assign present   = some_q[group_q] ? word : '0;
  always_comb begin
    highest = '0;
    for (int unsigned g = 0; g < Groups; g++) if (some_q[g]) highest = GroupWidth'(g);
    last = '0;
    for (int unsigned p = 0; p < Places; p++) if (word[p]) last = PlaceWidth'(p);
    changed          = present;
    changed[place_q] = set_q;
  end

  always_ff @(posedge clk_i) begin
    word <= word_mem[address];
    if (state_q == Change) word_mem[group_q] <= changed;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Settled;
      some_q  <= '0;
      group_q <= '0;
      place_q <= '0;
      set_q   <= 1'b0;
      some_o  <= 1'b0;
      top_o   <= '0;
    end else begin
      unique case (state_q)
        Settled: if (change_i) begin
          group_q <= address;
          place_q <= PlaceWidth'(Bits'(level_i));
          set_q   <= set_i;
          state_q <= Change;
        end
        Change: begin
          some_q[group_q] <= |changed;
          state_q         <= Look;
        end
        Look: begin
          group_q <= highest;
          state_q <= Tell;
        end
        default: begin
          some_o  <= |some_q;
          top_o   <= LevelWidth'({group_q, last});
          state_q <= Settled;
        end
      endcase
    end
  end

`ifdef FORMAL
`ifndef PROMISES_ONLY
  // What the memory has to say: a step of the induction of each module with this field.
  logic [Groups*Places-1:0] field_q, field;
  // With the change that is under way.
  always_comb begin
    field = field_q;
    if (state_q == Change) field[{group_q, place_q}] = set_q;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) field_q <= '0;
    else if (state_q == Change) field_q[{group_q, place_q}] <= set_q;
  end
  always_comb if (rst_ni) begin
    for (int g = 0; g < Groups; g++) begin
      assert (some_q[g] == |field_q[g*Places+:Places]);
      if (some_q[g]) assert (word_mem[g] == field_q[g*Places+:Places]);
    end
    if (state_q == Change) assert (word == word_mem[group_q]);
    if (state_q == Tell) assert (group_q == highest && word == word_mem[group_q]);
    if (state_q == Settled || state_q == Change) begin
      assert (some_o == |field_q);
      if (some_o) assert (field_q[top_o]);
      for (int l = 0; l < NumLevels; l++) if (field_q[l]) assert (LevelWidth'(l) <= top_o);
    end
    for (int l = NumLevels; l < Groups * Places; l++) assert (!field_q[l]);
    if (NumLevels < Groups * Places) assert ({group_q, place_q} < NumLevels || state_q != Change);
  end
`endif
`endif
endmodule
