/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What FreeRTOS needs of this system: its beginning, its interrupts, its end. */
#include "io.h"
#include "weir_freertos.h"

/* Set by the port, which uses them when the timer interrupts. */
extern uint64_t ullNextTime;
extern volatile uint64_t *pullMachineTimerCompareRegister;
extern const size_t uxTimerIncrementsForOneTick;

int main(void);

/* FreeRTOS's own asks which hart this is; that register is not in this core. */
void vPortSetupTimerInterrupt(void)
{
	pullMachineTimerCompareRegister = (volatile uint64_t *)configMTIMECMP_BASE_ADDRESS;
	ullNextTime = *(volatile uint32_t *)configMTIME_BASE_ADDRESS + uxTimerIncrementsForOneTick;
	*pullMachineTimerCompareRegister = ullNextTime;
	ullNextTime += uxTimerIncrementsForOneTick;
}

/* The interrupt service of programs that have devices. */
void on_lines(void) __attribute__((weak));

__attribute__((section(".text.kernel"))) void freertos_risc_v_application_interrupt_handler(void)
{
	u32 pending;

	/* The lines that interrupt, by number: 0 the engine, 1 devices. */
	__asm__ volatile("csrr %0, 0xfc0" : "=r"(pending));
	if (pending & 1)
		vWeirInterrupt();
	if (pending & 2 && on_lines)
		on_lines();
}

static void stop(const char *why, u32 value)
{
	print(why);
	print_number(value);
	print("\n");
	finish(99);
}

void freertos_risc_v_application_exception_handler(u32 cause)
{
	stop("exception ", cause);
}

void assert_failed(const char *file, u32 line)
{
	print(file);
	stop(": assertion failed in line ", line);
	__builtin_unreachable();
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
	(void)task;
	print(name);
	stop(": its stack is too small, of words ", configMINIMAL_STACK_SIZE);
}

u32 engine_ids[weirTASKS], running = NOBODY;

void announce(u32 id, u32 priority, const char *name)
{
	if (priority - weirFIRST_PRIORITY < weirTASKS)
		engine_ids[priority - weirFIRST_PRIORITY] = id;
	probe(P_NEW, id << 8 | priority);
	while (*name)
		probe(P_NAME, id << 8 | (u8)*name++);
	probe(P_READY, id);
}

void begin(void)
{
	IO_COMPARE = IO_CLOCK + 0x7fffffff;
	finish((u32)main());
}
