// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Hardware counters, for components that listen to COUNTERS: which events to open, on which CPU.
//!
//! Each field of `weir_counters` is one event on each CPU. A hybrid machine has a PMU for each kind of CPU, so a CPU's
//! event is that of its own PMU. Intel's Haswell has its own events for hits and misses of every level (source 4,
//! section 2); elsewhere the kernel's generic events are used, which have no second level and count all loads, so hits
//! are loads minus misses. A machine without a PMU has no events, and COUNTERS is not published.

use std::fs;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use perf_event_open_sys::{self as sys, bindings as perf};

/// Fields of `struct weir_counters`, in its order.
pub const FIELDS: [&str; 11] = weir_core::Counters::NAMES;
/// `WEIR_COUNT_L1_LOADS` and `WEIR_COUNT_L3_LOADS` of `runtimes/linux/live.h`.
const L1_LOADS: u32 = 1 << 16;
const L3_LOADS: u32 = 1 << 17;

/// What to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// All that the machine can, if the topology has a component that listens to COUNTERS.
    #[default]
    Auto,
    Nothing,
    /// Events of the kernel in place of the hardware's, to try the way that counters take on a machine without a PMU.
    Software,
    /// These fields: bit n is field n.
    Fields(u32),
}

impl FromStr for Counting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => return Ok(Counting::Auto),
            "none" => return Ok(Counting::Nothing),
            "software" => return Ok(Counting::Software),
            "all" => return Ok(Counting::Fields((1 << FIELDS.len()) - 1)),
            _ => {}
        }
        let mut fields = 0;
        for name in text.split(',') {
            let known = FIELDS.iter().position(|f| *f == name.trim());
            fields |= 1
                << known.ok_or_else(|| {
                    format!(
                        "`{name}` is not a counter; there are {}, or auto, all, none, software",
                        FIELDS.join(", ")
                    )
                })?;
        }
        Ok(Counting::Fields(fields))
    }
}

/// One event of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    kind: u32,
    config: u64,
}

/// The way in which this machine counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// Intel MEM_LOAD_UOPS_RETIRED, event D1: hits and misses of each level.
    Haswell,
    Generic,
    Software,
}

const fn cache(level: u32, result: u32) -> u64 {
    (level | perf::PERF_COUNT_HW_CACHE_OP_READ << 8 | result << 16) as u64
}

impl Model {
    /// Flags for the kernel side beside the fields.
    fn flags(self) -> u32 {
        if self == Model::Generic { L1_LOADS | L3_LOADS } else { 0 }
    }

    /// The event of a field on a CPU whose PMU has number `pmu` (none: the only one).
    fn event(self, field: &str, pmu: Option<u32>) -> Option<Event> {
        let on_pmu =
            |kind: u32, config: u64| Some(Event { kind, config: u64::from(pmu.unwrap_or(0)) << 32 | config });
        let hardware = |id: u32| on_pmu(perf::PERF_TYPE_HARDWARE, id.into());
        let cached = |config: u64| on_pmu(perf::PERF_TYPE_HW_CACHE, config);
        let loads =
            |umask: u64| Some(Event { kind: pmu.unwrap_or(perf::PERF_TYPE_RAW), config: umask << 8 | 0xd1 });
        let software = |id: u32| Some(Event { kind: perf::PERF_TYPE_SOFTWARE, config: u64::from(id) });
        use perf::{PERF_COUNT_HW_CACHE_L1D as L1, PERF_COUNT_HW_CACHE_LL as LL};
        use perf::{PERF_COUNT_HW_CACHE_RESULT_ACCESS as ACCESS, PERF_COUNT_HW_CACHE_RESULT_MISS as MISS};
        match (self, field) {
            (Model::Software, "instructions" | "cycles" | "l1_hits") => {
                software(perf::PERF_COUNT_SW_CPU_CLOCK)
            }
            (Model::Software, "l1_misses" | "l2_misses") => software(perf::PERF_COUNT_SW_PAGE_FAULTS),
            (Model::Software, "l2_hits") => software(perf::PERF_COUNT_SW_CONTEXT_SWITCHES),
            (Model::Software, _) => None,
            (_, "instructions") => hardware(perf::PERF_COUNT_HW_INSTRUCTIONS),
            (_, "cycles") => hardware(perf::PERF_COUNT_HW_CPU_CYCLES),
            (_, "branches") => hardware(perf::PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
            (_, "mispredicts") => hardware(perf::PERF_COUNT_HW_BRANCH_MISSES),
            (Model::Haswell, "l1_hits") => loads(0x01),
            (Model::Haswell, "l2_hits") => loads(0x02),
            (Model::Haswell, "l3_hits") => loads(0x04),
            (Model::Haswell, "l1_misses") => loads(0x08),
            (Model::Haswell, "l2_misses") => loads(0x10),
            (Model::Haswell, "l3_misses") => loads(0x20),
            (Model::Haswell, "lfb_hits") => loads(0x40),
            (Model::Generic, "l1_hits") => cached(cache(L1, ACCESS)),
            (Model::Generic, "l1_misses") => cached(cache(L1, MISS)),
            (Model::Generic, "l3_hits") => cached(cache(LL, ACCESS)),
            (Model::Generic, "l3_misses") => cached(cache(LL, MISS)),
            (Model::Generic, _) | (Model::Haswell, _) => None,
        }
    }
}

/// Haswell by the processor's own words.
fn model_of(cpuinfo: &str) -> Model {
    let word = |key: &str| {
        cpuinfo.lines().find_map(|l| {
            let (k, v) = l.split_once(':')?;
            (k.trim() == key).then(|| v.trim().to_owned())
        })
    };
    let intel =
        word("vendor_id").as_deref() == Some("GenuineIntel") && word("cpu family").as_deref() == Some("6");
    match word("model").as_deref() {
        Some("60" | "63" | "69" | "70") if intel => Model::Haswell,
        _ => Model::Generic,
    }
}

/// Is `cpu` in a list like `0-3,8`?
fn listed(list: &str, cpu: u32) -> bool {
    list.trim().split(',').any(|part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        matches!((from.parse::<u32>(), to.parse::<u32>()), (Ok(a), Ok(b)) if (a..=b).contains(&cpu))
    })
}

/// Number of the PMU of `cpu` where the machine has several kinds of CPUs; none where one PMU serves all.
fn pmu_of(devices: &Path, cpu: u32) -> Option<u32> {
    let mut kinds: Vec<PathBuf> = fs::read_dir(devices)
        .ok()?
        .filter_map(|d| Some(d.ok()?.path()))
        .filter(|d| d.join("cpus").exists())
        .collect();
    kinds.sort();
    let own = kinds.iter().find(|d| fs::read_to_string(d.join("cpus")).is_ok_and(|l| listed(&l, cpu)))?;
    fs::read_to_string(own.join("type")).ok()?.trim().parse().ok()
}

/// Open `event` for all that runs on `cpu`.
fn open(event: Event, cpu: u32) -> io::Result<OwnedFd> {
    let mut attr = perf::perf_event_attr {
        type_: event.kind,
        size: size_of::<perf::perf_event_attr>() as u32,
        config: event.config,
        ..Default::default()
    };
    let cpu = i32::try_from(cpu).map_err(io::Error::other)?;
    // SAFETY: a complete attribute record; counting has no other effect.
    let fd = unsafe { sys::perf_event_open(&mut attr, -1, cpu, -1, perf::PERF_FLAG_FD_CLOEXEC.into()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor, ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Events that are open; they count until this is dropped.
#[derive(Debug)]
pub(crate) struct Counters {
    /// Place in the kernel side's table, and the event.
    pub events: Vec<(u32, OwnedFd)>,
    /// For the kernel side: fields that are counted on some CPU, and how.
    pub counting: u32,
}

impl Counters {
    /// Open what is wanted and to be had on each of `nr_cpus` CPUs. `Err`: nothing is, and why.
    pub fn open(counting: Counting, nr_cpus: u32) -> Result<Self, io::Error> {
        let (model, fields) = match counting {
            Counting::Software => (Model::Software, u32::MAX),
            Counting::Fields(fields) => (host_model(), fields),
            Counting::Auto | Counting::Nothing => (host_model(), u32::MAX),
        };
        let devices = Path::new("/sys/bus/event_source/devices");
        let mut opened = Counters { events: Vec::new(), counting: 0 };
        let mut refused = None;
        for cpu in 0..nr_cpus {
            let pmu = pmu_of(devices, cpu);
            for (i, field) in FIELDS.iter().enumerate().filter(|(i, _)| fields >> i & 1 == 1) {
                let Some(event) = model.event(field, pmu) else { continue };
                match open(event, cpu) {
                    Ok(fd) => {
                        opened.events.push((i as u32 * nr_cpus + cpu, fd));
                        opened.counting |= 1 << i;
                    }
                    // A CPU that is away, or an event that this PMU lacks: the others count all the same.
                    Err(e) => refused = refused.or(Some(e)),
                }
            }
        }
        if opened.events.is_empty() {
            return Err(refused.unwrap_or_else(|| io::ErrorKind::Unsupported.into()));
        }
        opened.counting |= model.flags();
        Ok(opened)
    }

    /// Names of what is counted.
    pub fn names(&self) -> Vec<&'static str> {
        FIELDS.iter().enumerate().filter(|(i, _)| self.counting >> i & 1 == 1).map(|(_, n)| *n).collect()
    }
}

fn host_model() -> Model {
    model_of(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_says_what_to_count() {
        assert_eq!("auto".parse(), Ok(Counting::Auto));
        assert_eq!("cycles, l1_misses".parse(), Ok(Counting::Fields(1 << 1 | 1 << 3)));
        let said = "cycles,tlb".parse::<Counting>().unwrap_err();
        assert!(said.starts_with("`tlb` is not a counter"), "{said}");
    }

    /// Source 4, section 2: event D1 with its unit masks; the kernel adds what is fixed (0x430000).
    #[test]
    fn haswell_has_an_event_for_each_level() {
        let cpuinfo = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 60\nmodel name\t: Core\n";
        let model = model_of(cpuinfo);
        let configs: Vec<_> =
            FIELDS[2..9].iter().map(|f| model.event(f, None).expect("counted").config).collect();
        assert_eq!(configs, [0x01d1, 0x08d1, 0x40d1, 0x02d1, 0x10d1, 0x04d1, 0x20d1]);
        assert_eq!(model_of("vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 60\n"), Model::Generic);
    }

    /// Each kind of CPU has a PMU of its own, whose number goes into the event.
    #[test]
    fn hybrid_machines_have_several_pmus() {
        let dir = tempfile::tempdir().unwrap();
        for (name, cpus, number) in [("cpu_core", "0-3,8", "4"), ("cpu_atom", "4-7", "10")] {
            fs::create_dir(dir.path().join(name)).unwrap();
            fs::write(dir.path().join(name).join("cpus"), format!("{cpus}\n")).unwrap();
            fs::write(dir.path().join(name).join("type"), format!("{number}\n")).unwrap();
        }
        fs::create_dir(dir.path().join("software")).unwrap();
        assert_eq!(pmu_of(dir.path(), 8), Some(4));
        assert_eq!(pmu_of(dir.path(), 5), Some(10));
        assert_eq!(pmu_of(dir.path(), 9), None);
        let event = Model::Generic.event("l1_misses", Some(10)).expect("counted");
        assert_eq!((event.kind, event.config), (perf::PERF_TYPE_HW_CACHE, 10 << 32 | 0x10000));
    }

    /// Fields of the record and names are one list.
    #[test]
    fn every_field_has_a_name() {
        assert_eq!(FIELDS.len() * 8, size_of::<weir_core::Counters>());
    }
}
