// SPDX-License-Identifier: MIT OR GPL-2.0-only

/// weir_threads - the thread manager: thread numbers, ended threads, threads that wait for them, and runnable threads.
///
/// Only it changes the scheduler's queues: calls of the CPU, and wake-ups, blocks and changes of priority of the other cores, pass
/// through here one at a time. A thread that is blocked while it still runs is not queued again when it leaves its CPU, and a thread that is woken before
/// it has left continues: so no wake-up is lost between the call that blocks a thread and the switch, and no CPU gets a thread whose
/// context another one has not saved. A CPU whose thread another CPU blocks is interrupted. A thread that no CPU runs, as an
/// accelerator, is never queued: its wake-up goes out.
/// Word address, from bit 2: command (4 bits), thread (8), argument (8). Commands and answers: docs/hardware-registers.md.
///
/// twin:     hw/models/src/kernel.rs
/// latency:  3 clocks, and the scheduler's for each of its calls: NEXT at most 22, others 12. NumThreads clocks after reset
/// area:     two memories of NumThreads thread numbers, five bits per thread, a thread number per CPU
/// source:   Preston, 2011, 3.2.2; NEXT puts the current thread back in the same call, errors and late recycling are ours
module weir_threads #(
  /// Threads, 2..256, a power of two.
  parameter int unsigned NumThreads = 256,
  /// CPUs, 1..8.
  parameter int unsigned NumCpus = 1,
  /// There are threads that no CPU runs.
  parameter bit Hardware = 1'b0,
  /// Dependent, do not override: bits of a CPU number.
  localparam int unsigned CpuWidth = (NumCpus > 1) ? $clog2(NumCpus) : 1,
  /// Dependent, do not override: bits of a thread number.
  localparam int unsigned IdWidth = $clog2(NumThreads)
) (
  input  logic                clk_i,          /// Clock, rising edge.
  input  logic                rst_ni,         /// Reset, asynchronous, active low: no thread exists.
  input  logic                req_i,          /// A call; the next one only after its answer.
  input  logic [CpuWidth-1:0] cpu_i,          /// The CPU that calls; below NumCpus, held until the answer.
  input  logic [21:2]         addr_i,         /// Word address: the call; held until its answer.
  output logic                rvalid_o,       /// The answer.
  output logic [31:0]         rdata_o,        /// Its value.
  output logic [NumCpus-1:0]  stop_o,         /// Another CPU has blocked the thread of this one: level, until it has left.
  input  logic                op_req_i,       /// Another core wakes or blocks a thread; held until op_done_o.
  input  logic                op_block_i,     /// It blocks it.
  input  logic                op_raise_i,     /// It raises its priority, if that is less.
  input  logic                op_lower_i,     /// It sets its priority.
  input  logic [7:0]          op_level_i,     /// To this. Nothing of the three: it wakes it.
  input  logic [IdWidth-1:0]  op_id_i,        /// The thread.
  output logic                op_done_o,      /// One clock: done.
  output logic                wake_o,         /// One clock: a thread that no CPU runs is woken.
  output logic [IdWidth-1:0]  wake_id_o,      /// Which one.
  output logic                lists_req_o,    /// A call of the scheduler, for cpu_i.
  output logic [21:2]         lists_addr_o,   /// Its address.
  input  logic                lists_rvalid_i, /// Its answer.
  input  logic [31:0]         lists_rdata_i   /// The value of the answer.
);
  // ------------------------------------------------------------------ legal values (hw/weir.toml)
  if (NumThreads < 2 || NumThreads > 256 || (NumThreads & (NumThreads - 1)) != 0)
    $error("weir_threads: NumThreads is a power of two, 2 to 256, not %0d", NumThreads);
  if (NumCpus < 1 || NumCpus > 8) $error("weir_threads: NumCpus is 1 to 8, not %0d", NumCpus);

  localparam logic [31:0] Failed = 32'h8000_0000;

  // Fill: all numbers are put on the stack of free ones. Ask: a call of the scheduler is in progress. Again: its second one.
  typedef enum logic [2:0] {Fill, Idle, Look, Do, Ask, Again} state_e;
  state_e state_q;
  weir_regs_pkg::address_call_t call;
  weir_regs_pkg::lists_next_t   listed;
  assign call   = addr_i;
  assign listed = lists_rdata_i;

  logic                  held_q, go, op_q, free_q;
  logic [3:0]            cmd_q;
  logic [IdWidth-1:0]    id_q, top, parent, list_id;
  logic [7:0]            arg_q;
  logic [IdWidth:0]      free_count_q;
  logic [NumThreads-1:0] used_q, exited_q, joined_q, detached_q, blocked_q, hard_q;

  logic [IdWidth-1:0] stack_mem[NumThreads];
  logic [IdWidth-1:0] parent_mem[NumThreads];
  logic               push, parent_we;
  logic [IdWidth-1:0] push_id;

  assign go = req_i || held_q;

  // What the CPUs run, and what the one that calls does.
  logic [NumCpus-1:0]              runs_q;
  logic [NumCpus-1:0][IdWidth-1:0] current_q;
  logic                            runs;
  logic [IdWidth-1:0]              current;
  assign runs    = runs_q[cpu_i];
  assign current = current_q[cpu_i];

  // ------------------------------------------------------------------ what is known of the thread
  logic [NumCpus-1:0] on, parent_on;
  logic here, mine, alive, used, exited, joined, detached, rests, leaves;
  for (genvar c = 0; c < NumCpus; c++) begin : gen_cpu
    assign on[c]        = runs_q[c] && current_q[c] == id_q;
    assign parent_on[c] = runs_q[c] && current_q[c] == parent;
  end
  assign here     = |on;
  assign mine     = on[cpu_i];
  assign used     = used_q[id_q];
  assign exited   = exited_q[id_q];
  assign joined   = joined_q[id_q];
  assign detached = detached_q[id_q];
  assign alive    = used && !exited;
  // The current thread is put back unless it is blocked; a detached one that has ended leaves for good.
  assign rests    = runs && !blocked_q[current];
  assign leaves   = runs && exited_q[current] && detached_q[current];

  logic frees;
  assign frees     = state_q == Do && ((cmd_q == weir_regs_pkg::ThreadsJoin && used && exited && !here && !detached) ||
                                       (cmd_q == weir_regs_pkg::ThreadsDetach && used && exited && !here && !detached));
  assign push      = state_q == Fill || frees || free_q;
  assign push_id   = state_q == Fill ? ~free_count_q[IdWidth-1:0] : id_q;
  assign parent_we = state_q == Do && cmd_q == weir_regs_pkg::ThreadsJoin && alive && !mine && !detached && !joined && runs;

  always_ff @(posedge clk_i) begin
    top    <= stack_mem[free_count_q[IdWidth-1:0] - IdWidth'(1)];
    parent <= parent_mem[id_q];
    if (push) stack_mem[free_count_q[IdWidth-1:0]] <= push_id;
    if (parent_we) parent_mem[id_q] <= current;
  end

  // ------------------------------------------------------------------ threads that no CPU runs
  if (Hardware) begin : gen_hardware
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) hard_q <= '0;
      else if (state_q == Do && cmd_q == weir_regs_pkg::ThreadsCreate && free_count_q != '0) hard_q[top] <= 1'b0;
      else if (state_q == Do && cmd_q == weir_regs_pkg::ThreadsHardware && alive) hard_q[id_q] <= arg_q[0];
    end
  end else begin : gen_no_hardware
    assign hard_q = '0;
  end
  assign wake_id_o = cmd_q == weir_regs_pkg::ThreadsExit ? parent : id_q;
  assign wake_o    = state_q == Do && hard_q[wake_id_o] &&
                     ((cmd_q == weir_regs_pkg::ThreadsAdd && alive) || (cmd_q == weir_regs_pkg::ThreadsExit && mine && joined));

  // ------------------------------------------------------------------ threads that other CPUs block
  if (NumCpus > 1) begin : gen_stop
    for (genvar c = 0; c < NumCpus; c++) begin : gen_cpu
      logic stop_q;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) stop_q <= 1'b0;
        else if (state_q == Do) begin
          unique case (cmd_q)
            weir_regs_pkg::ThreadsBlock: if (!op_q && alive && on[c] && cpu_i != CpuWidth'(c)) stop_q <= 1'b1;
            weir_regs_pkg::ThreadsAdd:   if (alive && on[c]) stop_q <= 1'b0;
            weir_regs_pkg::ThreadsExit:  if (mine && joined && parent_on[c]) stop_q <= 1'b0;
            weir_regs_pkg::ThreadsNext, weir_regs_pkg::ThreadsYield: if (cpu_i == CpuWidth'(c)) stop_q <= 1'b0;
            default: ;
          endcase
        end
      end
      assign stop_o[c] = stop_q;
    end
  end else begin : gen_no_stop
    assign stop_o = '0;
  end

  // ------------------------------------------------------------------ calls of the scheduler
  logic       ask;
  logic [3:0] list_cmd;
  always_comb begin
    ask      = 1'b0;
    list_cmd = weir_regs_pkg::ListsEnqueue;
    list_id  = id_q;
    if (state_q == Do) begin
      unique case (cmd_q)
        weir_regs_pkg::ThreadsNext, weir_regs_pkg::ThreadsYield: begin
          ask      = 1'b1;
          list_id  = current;
          list_cmd = rests ? weir_regs_pkg::ListsEnqueue : weir_regs_pkg::ListsNext;
        end
        weir_regs_pkg::ThreadsExit: begin
          ask = mine && joined && !hard_q[parent] && parent_on == '0;
          list_id = parent;
        end
        weir_regs_pkg::ThreadsClear: begin
          ask      = used && !here;
          list_cmd = weir_regs_pkg::ListsDequeue;
        end
        weir_regs_pkg::ThreadsIsQueued: begin
          ask      = 1'b1;
          list_cmd = weir_regs_pkg::ListsIsQueued;
        end
        weir_regs_pkg::ThreadsAdd: ask = alive && !here && !hard_q[id_q];
        weir_regs_pkg::ThreadsRaise: begin
          ask      = alive;
          list_cmd = weir_regs_pkg::ListsRaise;
        end
        weir_regs_pkg::ThreadsLower: begin
          ask      = alive;
          list_cmd = weir_regs_pkg::ListsSetPriority;
        end
        weir_regs_pkg::ThreadsBlock: begin
          ask      = alive && !here;
          list_cmd = weir_regs_pkg::ListsDequeue;
        end
        default: ;
      endcase
    end else if (state_q == Again) begin
      ask      = 1'b1;
      list_cmd = weir_regs_pkg::ListsNext;
    end
  end
  assign lists_req_o  = ask;
  // Preempted, a thread goes before its equals; with YIELD behind them.
  logic       levels;
  logic [7:0] list_arg;
  assign levels       = cmd_q == weir_regs_pkg::ThreadsRaise || cmd_q == weir_regs_pkg::ThreadsLower;
  assign list_arg     = levels ? arg_q : 8'(cmd_q == weir_regs_pkg::ThreadsNext && list_cmd == weir_regs_pkg::ListsEnqueue);
  assign lists_addr_o = weir_regs_pkg::address_call(list_arg, 8'(list_id), list_cmd);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q      <= Fill;
      held_q       <= 1'b0;
      op_q         <= 1'b0;
      free_q       <= 1'b0;
      cmd_q        <= '0;
      id_q         <= '0;
      arg_q        <= '0;
      current_q    <= '0;
      runs_q       <= '0;
      free_count_q <= '0;
      used_q       <= '0;
      exited_q     <= '0;
      joined_q     <= '0;
      detached_q   <= '0;
      blocked_q    <= '0;
      op_done_o    <= 1'b0;
      rvalid_o     <= 1'b0;
      rdata_o      <= '0;
    end else begin
      rvalid_o  <= 1'b0;
      rdata_o   <= '0;
      op_done_o <= 1'b0;
      free_q    <= 1'b0;
      held_q    <= go && !(state_q == Idle && !(op_req_i && !op_done_o));
      if (push) free_count_q <= free_count_q + (IdWidth + 1)'(1);
      unique case (state_q)
        Fill: if (free_count_q == (IdWidth + 1)'(NumThreads - 1)) state_q <= Idle;
        Idle: begin
          op_q <= 1'b0;
          if (op_req_i && !op_done_o) begin
            op_q    <= 1'b1;
            cmd_q   <= op_raise_i ? weir_regs_pkg::ThreadsRaise : op_lower_i ? weir_regs_pkg::ThreadsLower :
                       op_block_i ? weir_regs_pkg::ThreadsBlock : weir_regs_pkg::ThreadsAdd;
            id_q    <= op_id_i;
            arg_q   <= op_level_i;
            state_q <= Look;
          end else if (go) begin
            cmd_q   <= call.command_f;
            id_q    <= call.command_f == weir_regs_pkg::ThreadsExit ? current : IdWidth'(call.thread_f);
            arg_q   <= call.argument_f;
            state_q <= Look;
          end
        end
        Look: state_q <= Do;
        Do: begin
          if (ask) state_q <= Ask;
          else begin
            state_q   <= Idle;
            rvalid_o  <= !op_q;
            op_done_o <= op_q;
          end
          unique case (cmd_q)
            weir_regs_pkg::ThreadsCreate: begin
              if (free_count_q == '0) rdata_o <= Failed;
              else begin
                free_count_q    <= free_count_q - (IdWidth + 1)'(1);
                used_q[top]     <= 1'b1;
                exited_q[top]   <= 1'b0;
                joined_q[top]   <= 1'b0;
                blocked_q[top]  <= 1'b0;
                detached_q[top] <= arg_q[0];
                rdata_o         <= 32'(top);
              end
            end
            weir_regs_pkg::ThreadsCurrent: rdata_o <= weir_regs_pkg::threads_current(!runs, 8'(current));
            weir_regs_pkg::ThreadsNext, weir_regs_pkg::ThreadsYield: if (leaves) begin
              // Its number is free only now, when no CPU runs on its stack.
              used_q[current] <= 1'b0;
              id_q            <= current;
              free_q          <= 1'b1;
            end
            weir_regs_pkg::ThreadsClear: begin
              if (!ask) rdata_o <= Failed;
              else begin
                used_q[id_q] <= 1'b0;
                free_q       <= 1'b1;
              end
            end
            weir_regs_pkg::ThreadsExit: begin
              if (!mine) rdata_o <= Failed;
              else begin
                exited_q[id_q]  <= 1'b1;
                blocked_q[id_q] <= 1'b1;
                if (joined) blocked_q[parent] <= 1'b0;
              end
            end
            weir_regs_pkg::ThreadsJoin: begin
              if (frees) used_q[id_q] <= 1'b0;
              // It is still on another CPU: its number is free when it has left.
              else if (used && exited && !mine && !detached) detached_q[id_q] <= 1'b1;
              else if (parent_we) begin
                joined_q[id_q]     <= 1'b1;
                blocked_q[current] <= 1'b1;
                rdata_o            <= 32'd1;
              end else rdata_o <= Failed;
            end
            weir_regs_pkg::ThreadsDetach: begin
              if (!used || detached) rdata_o <= Failed;
              else begin
                detached_q[id_q] <= 1'b1;
                if (frees) used_q[id_q] <= 1'b0;
              end
            end
            weir_regs_pkg::ThreadsAdd: begin
              if (!alive) rdata_o <= Failed;
              else blocked_q[id_q] <= 1'b0;
            end
            weir_regs_pkg::ThreadsBlock: begin
              if (!alive) rdata_o <= Failed;
              else blocked_q[id_q] <= 1'b1;
            end
            weir_regs_pkg::ThreadsRaise, weir_regs_pkg::ThreadsLower: if (!alive) rdata_o <= Failed;
            weir_regs_pkg::ThreadsHardware: rdata_o <= !Hardware || !alive ? Failed : {31'd0, hard_q[id_q]};
            weir_regs_pkg::ThreadsStatus:  rdata_o <= weir_regs_pkg::threads_status(blocked_q[id_q], detached, joined, exited, used);
            default: if (!ask) rdata_o <= '1;
          endcase
        end
        Ask: if (lists_rvalid_i) begin
          if ((cmd_q == weir_regs_pkg::ThreadsNext || cmd_q == weir_regs_pkg::ThreadsYield) && rests) state_q <= Again;
          else begin
            state_q   <= Idle;
            rvalid_o  <= !op_q;
            op_done_o <= op_q;
            rdata_o   <= cmd_q == weir_regs_pkg::ThreadsExit || cmd_q == weir_regs_pkg::ThreadsClear ? '0 : lists_rdata_i;
            if (cmd_q == weir_regs_pkg::ThreadsNext || cmd_q == weir_regs_pkg::ThreadsYield) begin
              current_q[cpu_i] <= IdWidth'(listed.thread_f);
              runs_q[cpu_i]    <= !listed.none_f;
            end
          end
        end
        Again: begin
          // Queued now: what follows is as if nothing ran.
          runs_q[cpu_i] <= 1'b0;
          state_q       <= Ask;
        end
        default: state_q <= Idle;
      endcase
    end
  end

`ifdef FORMAL
`ifndef PROMISES_ONLY
  // Steps of inductions: a number is used, or free once, and no thread joins itself. They look at each pair of numbers, so they are for few.
  localparam int unsigned Few = (NumThreads <= 8) ? NumThreads : 0;
  logic [NumThreads-1:0][IdWidth-1:0] parents;
  logic [NumThreads-1:0]              free;
  logic [IdWidth:0]                   used_count;
  always_comb begin
    parents    = '0;
    free       = '0;
    used_count = '0;
    for (int t = 0; t < Few; t++) begin
      parents[t] = parent_mem[t];
      used_count = used_count + (IdWidth + 1)'(used_q[t]);
      if ((IdWidth + 1)'(t) < free_count_q) free[stack_mem[t]] = 1'b1;
    end
  end
  always_comb if (rst_ni && Few != 0) begin
    assert (state_q <= Again);
    assert ((free & used_q) == '0);
    if (state_q == Fill) begin
      assert (free_count_q < (IdWidth + 1)'(NumThreads) && used_q == '0 && !free_q);
      for (int t = 0; t < Few; t++) if ((IdWidth + 1)'(t) < free_count_q) assert (stack_mem[t] == IdWidth'(NumThreads - 1 - t));
    end else assert (free_count_q + used_count + (IdWidth + 1)'(free_q) == (IdWidth + 1)'(NumThreads));
    // A current thread's number is used until NEXT has left it.
    for (int c = 0; c < NumCpus; c++)
      if (runs_q[c]) assert (used_q[current_q[c]] || (state_q == Ask && (cmd_q == weir_regs_pkg::ThreadsNext || cmd_q == weir_regs_pkg::ThreadsYield) &&
                                                      leaves && cpu_i == CpuWidth'(c)));
    if (free_q) assert (!free[id_q] && !used_q[id_q] && (state_q == Idle || state_q == Ask));
    if (state_q == Do && free_count_q != '0) assert (top == stack_mem[free_count_q[IdWidth-1:0]-IdWidth'(1)]);
    if (state_q == Do) assert (parent == parent_mem[id_q]);
    for (int t = 0; t < Few; t++) begin
      if (joined_q[t]) assert (parent_mem[t] != IdWidth'(t));
      for (int u = 0; u < t; u++) if ((IdWidth + 1)'(t) < free_count_q) assert (stack_mem[t] != stack_mem[u]);
    end
  end
`endif
`endif

  // Of a smaller configuration not all bits of arguments count.
  logic unused;
  assign unused = ^{call, arg_q, listed};
endmodule
