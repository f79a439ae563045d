// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `perf.data` of `perf sched record`.

use std::io::Cursor;

use linux_perf_data::{Feature, PerfFileReader, PerfFileRecord};
use linux_perf_event_reader::EventRecord;

use crate::PERF_DATA;
use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::kernel::{Found, Stamped};
use crate::tracedat;

const RECORD: &str = "record with: perf sched record -- COMMAND";

pub(crate) fn read(bytes: &[u8]) -> Result<Found> {
    sound(bytes)?;
    let failed = |e: &dyn std::fmt::Display| Error::broken(format!("perf.data: {e}"));
    let PerfFileReader { mut perf_file, mut record_iter } =
        PerfFileReader::parse_file(Cursor::new(bytes)).map_err(|e| failed(&e))?;
    let mut found = Found::default();
    let Some(tracing) = perf_file.feature_section_data(Feature::TRACING_DATA) else {
        return Err(Error::lacking("perf.data holds no tracepoints", RECORD));
    };
    let formats = tracedat::tracing_data(tracing, &mut found)?;
    if !formats.has_switch() {
        return Err(Error::lacking("perf.data does not describe the event sched_switch", RECORD));
    }
    if !formats.has_waking() {
        found.notes.push("the kernel of the recording has no event sched_waking".into());
    }
    if let Ok(Some(nr)) = perf_file.nr_cpus() {
        found.nr_cpus = Some(nr.nr_cpus_online).filter(|n| *n > 0);
    }
    while let Some(record) = record_iter.next_record(&mut perf_file).map_err(|e| failed(&e))? {
        let PerfFileRecord::EventRecord { record, .. } = record else { continue };
        match record.parse().map_err(|e| failed(&e))? {
            EventRecord::Sample(sample) => {
                let (Some(t_ns), Some(cpu), Some(raw)) = (sample.timestamp, sample.cpu, &sample.raw) else {
                    continue;
                };
                let raw = raw.as_slice();
                if let Some(event) = formats.decode(&raw, &mut found.names) {
                    let pid = sample.tid.unwrap_or(event.pid);
                    found.events.push(Stamped { t_ns, cpu, pid, irq: Some(event.irq), what: event.what });
                }
            }
            EventRecord::Lost(lost) => found.lost += lost.count.min(1 << 40),
            EventRecord::Comm(comm) => {
                let name = comm.name.as_slice();
                let name = found.names.id(&String::from_utf8_lossy(&name));
                found.comms.push((comm.tid, name));
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The parts that the header names lie within the file: nothing is allocated for what is not there.
fn sound(bytes: &[u8]) -> Result<()> {
    let big = bytes.starts_with(PERF_DATA[1]);
    let mut at = Bytes::new(bytes, big, "perf.data");
    at.take(8)?;
    let header = at.u64()?;
    if header == 16 {
        return Err(Error::unsupported(
            "perf.data was written to a pipe, which keeps no description of the events",
            "record into a file: perf sched record -o perf.data -- COMMAND",
        ));
    }
    let attr_size = at.u64()?;
    if !(64..=4096).contains(&attr_size) {
        return Err(Error::broken(format!("perf.data claims attributes of {attr_size} bytes")));
    }
    let mut parts = [(0, 0); 3];
    for part in &mut parts {
        *part = (at.u64()?, at.u64()?);
    }
    let mut features = Vec::new();
    for word in 0..4 {
        let bits = at.u64()?;
        features.extend((0..64).filter(|b| bits >> b & 1 == 1).map(|b| word * 64 + b));
    }
    for (offset, size) in parts {
        at.from(offset)?.take(size)?;
    }
    let (attrs, data) = (parts[0], parts[1]);
    let end = data.0.checked_add(data.1).ok_or_else(|| Error::broken("perf.data: its data has no end"))?;
    let mut table = at.from(end)?;
    for feature in features {
        let (offset, size) = (table.u64()?, table.u64()?);
        let section = table.from(offset)?.take(size)?;
        if feature == Feature::EVENT_DESC.0 {
            descriptions(Bytes::new(section, big, "perf.data's list of events"))?;
        }
    }
    // Each attribute is followed by where its numbers are.
    let mut list = at.from(attrs.0)?;
    for _ in 0..attrs.1 / attr_size {
        list.take(attr_size.saturating_sub(16))?;
        let (offset, size) = (list.u64()?, list.u64()?);
        list.from(offset)?.take(size)?;
    }
    Ok(())
}

/// As many descriptions of events, and as many numbers in each, as they claim (`HEADER_EVENT_DESC` of perf's file format).
fn descriptions(mut at: Bytes<'_>) -> Result<()> {
    let (nr, attr_size) = (at.u32()?, at.u32()?);
    for _ in 0..nr {
        at.take(attr_size.into())?;
        let nr_ids = at.u32()?;
        let name = at.u32()?;
        at.take(name.into())?;
        at.take(u64::from(nr_ids) * 8)?;
    }
    Ok(())
}
