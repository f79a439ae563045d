// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Pages of the kernel's trace ring buffer.

use crate::bytes::Bytes;
use crate::error::Result;
use crate::formats::Formats;
use crate::kernel::{Found, Stamped};

/// The low bits of `commit` are the bytes used; two flags say that events before the page were lost.
const USED: u64 = 0xf_ffff;
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;

/// Kinds of records that carry no event.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// How a ring buffer is laid out.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub big: bool,
    /// Bytes of the kernel's `long`.
    pub long: u64,
    pub page: u64,
}

/// Reads all pages of one CPU. `time` turns the buffer's clock into ns.
pub(crate) fn pages(
    data: &[u8],
    cpu: u32,
    layout: Layout,
    formats: &Formats,
    time: &dyn Fn(u64) -> u64,
    found: &mut Found,
) -> Result<()> {
    for page in data.chunks(layout.page as usize) {
        let mut head = Bytes::new(page, layout.big, "a page of the trace");
        if head.left() < 16 {
            break;
        }
        let mut now = head.u64()?;
        let commit = if layout.long == 4 { u64::from(head.u32()?) } else { head.u64()? };
        let used = commit & USED & !(MISSED | MISSED_STORED);
        let begin = head.at();
        let end = (begin + used as usize).min(page.len());
        if commit & MISSED != 0 {
            // Their number follows the events where there is room for it.
            let mut stored = Bytes::new(&page[end..], layout.big, "a page of the trace");
            let long = stored.left() as u64 >= layout.long && commit & MISSED_STORED != 0;
            found.lost += match long {
                true if layout.long == 4 => u64::from(stored.u32()?).max(1),
                true => stored.u64()?.clamp(1, 1 << 40),
                false => 1,
            };
        }
        let mut at = Bytes::new(&page[..end], layout.big, "a page of the trace");
        at.take(begin as u64)?;
        while at.left() >= 4 {
            let word = at.u32()?;
            let (kind, delta) = match layout.big {
                true => (word >> 27, u64::from(word & 0x7ff_ffff)),
                false => (word & 0x1f, u64::from(word >> 5)),
            };
            match kind {
                PADDING if delta == 0 => break,
                PADDING => {
                    let size = u64::from(at.u32()?);
                    now = now.wrapping_add(delta);
                    at.take(size.saturating_sub(4))?;
                }
                TIME_EXTEND => now = now.wrapping_add((u64::from(at.u32()?) << 27) + delta),
                // The highest five bits stay those of the page.
                TIME_STAMP => now = (now & (0x1f << 59)) | ((u64::from(at.u32()?) << 27) + delta),
                _ => {
                    now = now.wrapping_add(delta);
                    let size = match kind {
                        0 => u64::from(at.u32()?).saturating_sub(4),
                        n => u64::from(n) * 4,
                    };
                    let raw = at.take(size)?;
                    if let Some(event) = formats.decode(raw, &mut found.names) {
                        let (pid, irq) = (event.pid, Some(event.irq));
                        found.events.push(Stamped { t_ns: time(now), cpu, pid, irq, what: event.what });
                    }
                }
            }
        }
    }
    Ok(())
}
