// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_unified - the unified scheduler and interrupt controller: threads, interrupts and timers on one scale of priority.
///
/// Software keeps the lists of ready threads and reports the head of each; the controller keeps one bit per priority for each of
/// threads, interrupts and timers, and interrupts the CPU only while one of them is strictly more urgent than the current thread.
/// Greater numbers are more urgent; among equals interrupts go before timers before threads, and the lowest line first.
/// Word address, from bit 2: command (4 bits), thread (8), priority (8), line or timer (6). Commands and answers: docs/hardware.md.
///
/// twin:     crates/weir-hw/src/unified.rs
/// latency:  NEXT within 8 clocks unless events keep coming, other calls within 4; from a line to irq_o 7 clocks
/// area:     three fields of NumLevels bits, a memory of NumLevels thread numbers, a thread and a priority per line and per timer
/// source:   Preston, 2011, 3.4; identity of equal interrupts, empty levels, acceptance and latencies are ours
module weir_unified #(
  /// Interrupt lines, 2..64.
  parameter int unsigned NumLines = 16,
  /// Lines that interrupt by their rising edge; the others by their level.
  parameter bit [NumLines-1:0] Edges = '0,
  /// Timers, 2..64.
  parameter int unsigned NumTimers = 8,
  /// Threads, 2..256, a power of two.
  parameter int unsigned NumThreads = 256,
  /// Priorities, 2..256, a power of two.
  parameter int unsigned NumLevels = 256,
  /// Bits of the clock.
  parameter int unsigned ClockWidth = 48,
  /// Dependent, do not override: bits of a line number.
  localparam int unsigned LineWidth = $clog2(NumLines),
  /// Dependent, do not override: bits of a timer number.
  localparam int unsigned TimerWidth = $clog2(NumTimers),
  /// Dependent, do not override: bits of a thread number.
  localparam int unsigned IdWidth = $clog2(NumThreads),
  /// Dependent, do not override: bits of a priority.
  localparam int unsigned LevelWidth = $clog2(NumLevels)
) (
  input  logic                clk_i,    /// Clock, rising edge.
  input  logic                rst_ni,   /// Reset, asynchronous, active low: nothing is ready, nothing runs.
  input  logic [NumLines-1:0] lines_i,  /// Interrupt lines, synchronous to the clock.
  input  logic                req_i,    /// A call; the next one only after its answer.
  input  logic                we_i,     /// It is a store: ADD_TIMER.
  input  logic [27:2]         addr_i,   /// Word address: the call; held until its answer.
  input  logic [31:0]         wdata_i,  /// Clocks until the expiry; held until the answer.
  output logic                rvalid_o, /// The answer.
  output logic [31:0]         rdata_o,  /// Its value.
  output logic                irq_o     /// Something more urgent than the current thread is there: level.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumLines < 2 || NumLines > 64) $error("weir_unified: NumLines is 2 to 64, not %0d", NumLines);
  if (NumTimers < 2 || NumTimers > 64) $error("weir_unified: NumTimers is 2 to 64, not %0d", NumTimers);
  if (NumThreads < 2 || NumThreads > 256 || (NumThreads & (NumThreads - 1)) != 0)
    $error("weir_unified: NumThreads is a power of two, 2 to 256, not %0d", NumThreads);
  if (NumLevels < 2 || NumLevels > 256 || (NumLevels & (NumLevels - 1)) != 0)
    $error("weir_unified: NumLevels is a power of two, 2 to 256, not %0d", NumLevels);
  if (ClockWidth < 34 || ClockWidth > 64) $error("weir_unified: ClockWidth is 34 to 64, not %0d", ClockWidth);


  typedef logic [IdWidth-1:0]    id_t;
  typedef logic [LevelWidth-1:0] level_t;
  typedef enum logic [2:0] {Idle, Do, Rest, Pick, Push, Tell} state_e;
  state_e state_q;
  weir_regs_pkg::address_unified_t call;
  assign call = addr_i;

  logic                  held_q, go, we_q;
  logic [3:0]            cmd_q;
  logic [7:0]            thread_q, prio_q;
  logic [5:0]            which_q;
  logic [ClockWidth-1:0] now_q, at_q;

  assign go = req_i || held_q;

  // ------------------------------------------------------------------ lines: pending, and posted in their field
  logic [NumLines-1:0]                 lines_q, latched_q, enabled_q, posted_q, pending, hot, line_match, line_first;
  logic [NumLines-1:0][IdWidth-1:0]    line_id_q;
  logic [NumLines-1:0][LevelWidth-1:0] line_prio_q;
  logic                                hot_line, post_line, line_some, line_settled;
  logic [LineWidth-1:0]                post_no, line_no, line;
  level_t                              line_top, post_line_level;

  assign pending = (latched_q & Edges) | (lines_q & ~Edges);
  assign hot     = pending & enabled_q & ~posted_q;
  assign line    = which_q[LineWidth-1:0];
  always_comb begin
    hot_line        = 1'b0;
    post_no         = '0;
    post_line_level = '0;
    line_no         = '0;
    for (int l = NumLines - 1; l >= 0; l--) begin
      line_match[l] = posted_q[l] && line_prio_q[l] == line_top;
      if (line_match[l]) line_no = LineWidth'(l);
      if (hot[l]) begin
        hot_line        = 1'b1;
        post_no         = LineWidth'(l);
        post_line_level = line_prio_q[l];
      end
    end
    // Not in the clock of a call, which may change the line's data.
    post_line           = hot_line && state_q != Do;
    line_first          = '0;
    line_first[line_no] = 1'b1;
  end

  // ------------------------------------------------------------------ timers: running, and expired in their field
  logic [NumTimers-1:0]                 armed_q, expired_q, timer_match, timer_first;
  logic [NumTimers-1:0][IdWidth-1:0]    timer_id_q;
  logic [NumTimers-1:0][LevelWidth-1:0] timer_prio_q;
  logic                                 push, expire, remove, valid, full, ready, timer_some, timer_settled;
  logic [TimerWidth-1:0]                first, timer_no, timer;
  logic [ClockWidth-1:0]                key, left, expiry;
  level_t                               timer_top, expire_level;

  logic [ClockWidth-1:0] expiry_mem[NumTimers];
  always_ff @(posedge clk_i) begin
    expiry <= expiry_mem[timer];
    if (push) expiry_mem[timer] <= at_q;
  end

  weir_pq_array #(.NumEntries(NumTimers), .KeyWidth(ClockWidth), .IdWidth(TimerWidth)) u_queue (
    .clk_i, .rst_ni, .push_i(push), .pop_i(expire), .remove_i(remove), .key_i(at_q), .id_i(timer),
    .ready_o(ready), .full_o(full), .valid_o(valid), .key_o(key), .id_o(first)
  );

  assign timer        = which_q[TimerWidth-1:0];
  assign expire       = valid && key <= now_q && !push && !remove;
  assign expire_level = timer_prio_q[first];
  assign left         = expiry - now_q;
  always_comb begin
    timer_no = '0;
    for (int t = NumTimers - 1; t >= 0; t--) begin
      timer_match[t] = expired_q[t] && timer_prio_q[t] == timer_top;
      if (timer_match[t]) timer_no = TimerWidth'(t);
    end
    timer_first           = '0;
    timer_first[timer_no] = 1'b1;
  end

  // ------------------------------------------------------------------ threads: the head of each level
  id_t    head;
  logic   set_thread, empty, task_some, task_settled;
  level_t task_top;
  id_t    head_mem[NumLevels];

  assign set_thread = state_q == Do && cmd_q == weir_regs_pkg::UnifiedSetThread;
  assign empty      = which_q[0];
  always_ff @(posedge clk_i) begin
    head <= head_mem[task_top];
    if (set_thread) head_mem[prio_q[LevelWidth-1:0]] <= thread_q[IdWidth-1:0];
  end

  // ------------------------------------------------------------------ three fields, and which of them is first
  logic   take_line, take_timer, pick_line, pick_timer, some, settled, drop_line, drop_timer, runs_q, irq_q;
  level_t best, current_level_q, drop_line_level, drop_timer_level;
  id_t    current_q;

  assign some       = line_some || timer_some || task_some;
  assign pick_line  = line_some && (!timer_some || line_top >= timer_top) && (!task_some || line_top >= task_top);
  assign pick_timer = !pick_line && timer_some && (!task_some || timer_top >= task_top);
  assign best       = pick_line ? line_top : pick_timer ? timer_top : task_top;
  assign settled    = line_settled && timer_settled && task_settled && !hot_line && !expire;
  assign take_line  = state_q == Pick && pick_line;
  assign take_timer = state_q == Pick && pick_timer;

  // A level's bit is cleared when the last item of that level is taken, cleared or cancelled.
  logic clear_line, clear_timer;
  logic [NumLines-1:0]  others_line;
  logic [NumTimers-1:0] others_timer;
  assign clear_line  = state_q == Do && (cmd_q == weir_regs_pkg::UnifiedClear || cmd_q == weir_regs_pkg::UnifiedAssociate) && 32'(which_q) < NumLines && posted_q[line];
  assign clear_timer = state_q == Do && (cmd_q == weir_regs_pkg::UnifiedCancelTimer || (cmd_q == weir_regs_pkg::UnifiedAddTimer && we_q)) &&
                       32'(which_q) < NumTimers && expired_q[timer];
  assign drop_line_level  = take_line ? line_top : line_prio_q[line];
  assign drop_timer_level = take_timer ? timer_top : timer_prio_q[timer];
  always_comb begin
    for (int unsigned l = 0; l < NumLines; l++)
      others_line[l] = posted_q[l] && line_prio_q[l] == drop_line_level && !(take_line ? line_first[l] : LineWidth'(l) == line);
    for (int unsigned t = 0; t < NumTimers; t++)
      others_timer[t] = expired_q[t] && timer_prio_q[t] == drop_timer_level &&
                        !(take_timer ? timer_first[t] : TimerWidth'(t) == timer);
  end
  assign drop_line  = (take_line || clear_line) && others_line == '0;
  assign drop_timer = (take_timer || clear_timer) && others_timer == '0;

  weir_level_field #(.NumLevels(NumLevels)) u_lines (
    .clk_i, .rst_ni, .set_i(post_line), .set_level_i(post_line_level),
    .clear_i(drop_line), .clear_level_i(drop_line_level),
    .settled_o(line_settled), .some_o(line_some), .top_o(line_top)
  );
  weir_level_field #(.NumLevels(NumLevels)) u_timers (
    .clk_i, .rst_ni, .set_i(expire), .set_level_i(expire_level),
    .clear_i(drop_timer), .clear_level_i(drop_timer_level),
    .settled_o(timer_settled), .some_o(timer_some), .top_o(timer_top)
  );
  weir_level_field #(.NumLevels(NumLevels)) u_tasks (
    .clk_i, .rst_ni, .set_i(set_thread && !empty), .set_level_i(prio_q[LevelWidth-1:0]),
    .clear_i(set_thread && empty), .clear_level_i(prio_q[LevelWidth-1:0]),
    .settled_o(task_settled), .some_o(task_some), .top_o(task_top)
  );

  // ------------------------------------------------------------------ calls
  assign push   = state_q == Push && !full;
  assign remove = state_q == Do && 32'(which_q) < NumTimers && armed_q[timer] &&
                  (cmd_q == weir_regs_pkg::UnifiedCancelTimer || (cmd_q == weir_regs_pkg::UnifiedAddTimer && we_q));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q         <= Idle;
      held_q          <= 1'b0;
      we_q            <= 1'b0;
      cmd_q           <= '0;
      thread_q        <= '0;
      prio_q          <= '0;
      which_q         <= '0;
      now_q           <= '0;
      at_q            <= '0;
      lines_q         <= '0;
      latched_q       <= '0;
      enabled_q       <= '0;
      posted_q        <= '0;
      line_id_q       <= '0;
      line_prio_q     <= '0;
      armed_q         <= '0;
      expired_q       <= '0;
      timer_id_q      <= '0;
      timer_prio_q    <= '0;
      runs_q          <= 1'b0;
      current_q       <= '0;
      current_level_q <= '0;
      rvalid_o        <= 1'b0;
      rdata_o         <= '0;
    end else begin
      rvalid_o <= 1'b0;
      rdata_o  <= '0;
      now_q    <= now_q + ClockWidth'(1);
      lines_q  <= lines_i;
      held_q   <= go && state_q != Idle;
      if (post_line) posted_q[post_no] <= 1'b1;
      if (expire) begin
        armed_q[first]   <= 1'b0;
        expired_q[first] <= 1'b1;
      end
      unique case (state_q)
        Idle: if (go) begin
          cmd_q    <= call.command_f;
          we_q     <= we_i;
          thread_q <= call.thread_f;
          prio_q   <= call.priority_f;
          which_q  <= call.which_f;
          at_q     <= now_q + ClockWidth'(wdata_i);
          state_q  <= call.command_f == weir_regs_pkg::UnifiedNext ? Rest : Do;
        end
        Do: begin
          rvalid_o <= 1'b1;
          state_q  <= Idle;
          unique case (cmd_q)
            weir_regs_pkg::UnifiedCurrent: rdata_o <= weir_regs_pkg::unified_current(!runs_q, 8'(current_level_q), 8'(current_q));
            weir_regs_pkg::UnifiedSetThread: ;
            weir_regs_pkg::UnifiedAssociate: begin
              if (32'(which_q) >= NumLines) rdata_o <= '1;
              else begin
                // Already pending: served at once. An active level counts, too.
                // What was posted for the thread before is not: its level may have gone.
                posted_q[line] <= 1'b0;
                if (pending[line]) begin
                  latched_q[line] <= 1'b0;
                  enabled_q[line] <= 1'b0;
                  rdata_o         <= 32'd1;
                end else enabled_q[line] <= 1'b1;
                line_id_q[line]   <= thread_q[IdWidth-1:0];
                line_prio_q[line] <= prio_q[LevelWidth-1:0];
              end
            end
            weir_regs_pkg::UnifiedClear: begin
              if (32'(which_q) >= NumLines) rdata_o <= '1;
              else begin
                rdata_o         <= {31'd0, pending[line]};
                latched_q[line] <= 1'b0;
                posted_q[line]  <= 1'b0;
                enabled_q[line] <= 1'b0;
              end
            end
            weir_regs_pkg::UnifiedRead: rdata_o <= 32'(which_q) >= NumLines ? '1 : {31'd0, pending[line]};
            weir_regs_pkg::UnifiedAddTimer: begin
              if (!we_q || 32'(which_q) >= NumTimers) rdata_o <= '1;
              else begin
                armed_q[timer]      <= 1'b0;
                expired_q[timer]    <= 1'b0;
                timer_id_q[timer]   <= thread_q[IdWidth-1:0];
                timer_prio_q[timer] <= prio_q[LevelWidth-1:0];
                rvalid_o            <= 1'b0;
                state_q             <= Push;
              end
            end
            weir_regs_pkg::UnifiedCancelTimer: begin
              if (32'(which_q) >= NumTimers) rdata_o <= '1;
              else begin
                rdata_o          <= {31'd0, armed_q[timer] || expired_q[timer]};
                armed_q[timer]   <= 1'b0;
                expired_q[timer] <= 1'b0;
              end
            end
            weir_regs_pkg::UnifiedTimerStatus: begin
              rvalid_o <= 1'b0;
              state_q  <= Tell;
            end
            weir_regs_pkg::UnifiedClock:   rdata_o <= now_q[31:0];
            default: rdata_o <= '1;
          endcase
        end
        // A decision is made on settled fields; the head of the top level is read meanwhile.
        Rest: if (settled) state_q <= Pick;
        Pick: begin
          rvalid_o <= 1'b1;
          state_q  <= Idle;
          runs_q   <= some;
          if (!some) rdata_o <= weir_regs_pkg::unified_next(1'b1, 2'd0, 8'd0, 8'd0, 8'd0);
          else if (pick_line) begin
            rdata_o             <= weir_regs_pkg::unified_next(1'b0, 2'd2, 8'(line_no), 8'(line_top), 8'(line_id_q[line_no]));
            current_q           <= line_id_q[line_no];
            posted_q[line_no]   <= 1'b0;
            enabled_q[line_no]  <= 1'b0;
            latched_q[line_no]  <= 1'b0;
          end else if (pick_timer) begin
            rdata_o             <= weir_regs_pkg::unified_next(1'b0, 2'd1, 8'(timer_no), 8'(timer_top), 8'(timer_id_q[timer_no]));
            current_q           <= timer_id_q[timer_no];
            expired_q[timer_no] <= 1'b0;
          end else begin
            rdata_o   <= weir_regs_pkg::unified_next(1'b0, 2'd0, 8'd0, 8'(task_top), 8'(head));
            current_q <= head;
          end
          if (some) current_level_q <= best;
        end
        Push: begin
          rvalid_o <= 1'b1;
          state_q  <= Idle;
          armed_q[timer] <= 1'b1;
        end
        Tell: begin
          rvalid_o <= 1'b1;
          state_q  <= Idle;
          if (32'(which_q) >= NumTimers) rdata_o <= '1;
          else rdata_o <= !armed_q[timer] || left[ClockWidth-1] ? '0 : |left[ClockWidth-2:32] ? '1 : left[31:0];
        end
        default: state_q <= Idle;
      endcase
      // Last: an edge in the clock in which a line is taken is a new one.
      for (int unsigned l = 0; l < NumLines; l++) if (lines_i[l] && !lines_q[l]) latched_q[l] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) irq_q <= 1'b0;
    else irq_q <= state_q == Idle && !go && settled && some && (!runs_q || best > current_level_q);
  end
  assign irq_o = irq_q;

  // The array takes an operation each clock; of a smaller configuration not all bits of arguments count.
  logic unused;
  assign unused = ^{ready, thread_q, prio_q, which_q, line_match, timer_match};
endmodule
