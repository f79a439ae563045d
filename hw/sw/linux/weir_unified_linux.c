// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The unified controller (weir_unified) as interrupt controller, clock event and clocksource of
 * Linux: a sketch of the part of the source's table 3.7 that needs no change of the kernel. It is
 * compiled against headers of Linux 6.1 and has not run.
 *
 * No thread is given to the controller, so only lines and timers are more urgent than what runs.
 * Lines are equals; the timer comes before them. NEXT hands a line over and disables it, ASSOCIATE
 * enables it again. What is pending when that is asked, or when a line is masked, is resent by us.
 */
#include <linux/clk.h>
#include <linux/clockchips.h>
#include <linux/clocksource.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqchip/chained_irq.h>
#include <linux/irqdomain.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/property.h>
#include "weir_regs.h"

#define LINES	       64
#define LINE_PRIORITY  1
#define TIMER_PRIORITY 2

struct weir {
	void __iomem *base;
	struct irq_domain *domain;
	/* A call is one access; what it tells and what we note of it belong together. */
	raw_spinlock_t lock;
	u64 enabled, resend;
	struct irq_work work;
	struct clock_event_device event;
	struct clocksource clock;
};

static void __iomem *weir_at(struct weir *w, u32 command, u32 thread, u32 priority, u32 which)
{
	return w->base + (WEIR_AT(WEIR_ADDRESS_UNIFIED_COMMAND, command) |
			  WEIR_AT(WEIR_ADDRESS_UNIFIED_THREAD, thread) |
			  WEIR_AT(WEIR_ADDRESS_UNIFIED_PRIORITY, priority) |
			  WEIR_AT(WEIR_ADDRESS_UNIFIED_WHICH, which));
}

static u32 weir_call(struct weir *w, u32 command, u32 priority, u32 which)
{
	return readl(weir_at(w, command, 0, priority, which));
}

/* ---------------------------------------------------------------- lines */
static void weir_again(struct weir *w, u32 line)
{
	w->resend |= BIT_ULL(line);
	irq_work_queue(&w->work);
}

static void weir_mask(struct irq_data *d)
{
	struct weir *w = irq_data_get_irq_chip_data(d);
	u64 line = BIT_ULL(d->hwirq);
	unsigned long flags;

	raw_spin_lock_irqsave(&w->lock, flags);
	/* One that NEXT has handed over is disabled already: CLEAR would lose its next edge. */
	if ((w->enabled & line) && weir_call(w, WEIR_UNIFIED_CLEAR, 0, d->hwirq))
		w->resend |= line;
	w->enabled &= ~line;
	raw_spin_unlock_irqrestore(&w->lock, flags);
}

static void weir_unmask(struct irq_data *d)
{
	struct weir *w = irq_data_get_irq_chip_data(d);
	u64 line = BIT_ULL(d->hwirq);
	unsigned long flags;

	raw_spin_lock_irqsave(&w->lock, flags);
	/* Pending: the controller has not enabled it, we serve it. */
	if ((w->resend & line) || weir_call(w, WEIR_UNIFIED_ASSOCIATE, LINE_PRIORITY, d->hwirq))
		weir_again(w, d->hwirq);
	else
		w->enabled |= line;
	raw_spin_unlock_irqrestore(&w->lock, flags);
}

static struct irq_chip weir_chip = {
	.name = "weir_unified",
	.irq_mask = weir_mask,
	.irq_unmask = weir_unmask,
};

static void weir_resend(struct irq_work *work)
{
	struct weir *w = container_of(work, struct weir, work);
	unsigned long flags;
	u64 now;

	raw_spin_lock_irqsave(&w->lock, flags);
	now = w->resend & ~w->enabled;
	w->resend &= ~now;
	raw_spin_unlock_irqrestore(&w->lock, flags);
	while (now) {
		u32 line = __ffs64(now);

		now &= now - 1;
		generic_handle_domain_irq(w->domain, line);
	}
}

static void weir_handle(struct irq_desc *desc)
{
	struct weir *w = irq_desc_get_handler_data(desc);
	struct irq_chip *parent = irq_desc_get_chip(desc);
	unsigned long flags;
	u32 next, which;

	chained_irq_enter(parent, desc);
	for (;;) {
		raw_spin_lock_irqsave(&w->lock, flags);
		next = weir_call(w, WEIR_UNIFIED_NEXT, 0, 0);
		which = WEIR_GET(next, WEIR_UNIFIED_NEXT_WHICH);
		if (!(next & WEIR_UNIFIED_NEXT_NONE_MASK) &&
		    WEIR_GET(next, WEIR_UNIFIED_NEXT_SOURCE) == 2)
			w->enabled &= ~BIT_ULL(which);
		raw_spin_unlock_irqrestore(&w->lock, flags);
		if (next & WEIR_UNIFIED_NEXT_NONE_MASK)
			break;
		if (WEIR_GET(next, WEIR_UNIFIED_NEXT_SOURCE) == 2)
			generic_handle_domain_irq(w->domain, which);
		else
			w->event.event_handler(&w->event);
	}
	chained_irq_exit(parent, desc);
}

static int weir_map(struct irq_domain *domain, unsigned int irq, irq_hw_number_t line)
{
	irq_set_chip_data(irq, domain->host_data);
	/* Edges are latched by the controller, so both kinds are masked while they are served. */
	irq_set_chip_and_handler(irq, &weir_chip, handle_level_irq);
	return 0;
}

static const struct irq_domain_ops weir_domain = {
	.map = weir_map,
	.xlate = irq_domain_xlate_onecell,
};

/* ---------------------------------------------------------------- time */
static int weir_set_next_event(unsigned long clocks, struct clock_event_device *event)
{
	struct weir *w = container_of(event, struct weir, event);

	writel(clocks, weir_at(w, WEIR_UNIFIED_ADD_TIMER, 0, TIMER_PRIORITY, 0));
	return 0;
}

static int weir_stop(struct clock_event_device *event)
{
	weir_call(container_of(event, struct weir, event), WEIR_UNIFIED_CANCEL_TIMER, 0, 0);
	return 0;
}

static u64 weir_clock(struct clocksource *clock)
{
	return weir_call(container_of(clock, struct weir, clock), WEIR_UNIFIED_CLOCK, 0, 0);
}

static int weir_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct weir *w = devm_kzalloc(dev, sizeof(*w), GFP_KERNEL);
	int irq = platform_get_irq(pdev, 0), err;
	struct clk *clk;
	u32 line;

	if (!w)
		return -ENOMEM;
	if (irq < 0)
		return irq;
	w->base = devm_platform_ioremap_resource(pdev, 0);
	if (IS_ERR(w->base))
		return PTR_ERR(w->base);
	clk = devm_clk_get_enabled(dev, NULL);
	if (IS_ERR(clk))
		return dev_err_probe(dev, PTR_ERR(clk), "no clock\n");
	raw_spin_lock_init(&w->lock);
	init_irq_work(&w->work, weir_resend);
	for (line = 0; line < LINES; line++)
		weir_call(w, WEIR_UNIFIED_CLEAR, 0, line);
	w->clock = (struct clocksource){
		.name = "weir_unified",
		.rating = 250,
		.read = weir_clock,
		.mask = CLOCKSOURCE_MASK(32),
		.flags = CLOCK_SOURCE_IS_CONTINUOUS,
		.owner = THIS_MODULE,
	};
	err = clocksource_register_hz(&w->clock, clk_get_rate(clk));
	if (err)
		return err;
	w->domain = irq_domain_create_linear(dev_fwnode(dev), LINES, &weir_domain, w);
	if (!w->domain) {
		clocksource_unregister(&w->clock);
		return -ENOMEM;
	}
	w->event = (struct clock_event_device){
		.name = "weir_unified",
		.features = CLOCK_EVT_FEAT_ONESHOT,
		.rating = 250,
		.cpumask = cpumask_of(0),
		.set_next_event = weir_set_next_event,
		.set_state_shutdown = weir_stop,
		.set_state_oneshot_stopped = weir_stop,
		.owner = THIS_MODULE,
	};
	clockevents_config_and_register(&w->event, clk_get_rate(clk), 64, S32_MAX);
	irq_set_chained_handler_and_data(irq, weir_handle, w);
	return 0;
}

static const struct of_device_id weir_match[] = { { .compatible = "runweir,unified" }, {} };
MODULE_DEVICE_TABLE(of, weir_match);

/* Clock events cannot be unregistered, so it stays. */
static struct platform_driver weir_driver = {
	.probe = weir_probe,
	.driver = { .name = "weir_unified",
		    .of_match_table = weir_match,
		    .suppress_bind_attrs = true },
};
builtin_platform_driver(weir_driver);

MODULE_DESCRIPTION("Runweir unified scheduler and interrupt controller");
MODULE_LICENSE("Dual MIT/GPL");
