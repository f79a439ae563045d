// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `[[profile]]`: how tasks use caches and branch predictors, and the key `profile` of a task.

use super::Files;
use super::table::Table;
use crate::counters::{Behaviour, LINE, Model, ONE, Phase, Profile, Rates, share};
use crate::document::Value;
use crate::error::{Error, did_you_mean};
use crate::workload::Workload;
use crate::workload::build::MAX_FILE;
use crate::workload::units::{self, Refusal};

/// Keys of a `[[profile]]`.
pub(super) const KEYS: &[&str] =
    &["name", "cpi", "loads", "branches", "spread", "rates", "reuse", "burst", "entropy", "sites", "overlap"];

/// Most phases of recorded rates, and most buckets of reuse distances.
const MAX_PHASES: usize = 100_000;
const MAX_BUCKETS: usize = 64;

/// Largest reuse distance, bytes: the streams that check the model remember as many lines.
const MAX_REUSE: u64 = 1 << 30;

const RATES: &str = "\"l1=10% lfb=4% l2=48% l3=45% branch=2.5%\"";
const REUSE: &str = "[\"16KiB 90%\", \"200KiB 5%\", \"4MiB 4%\"]";

/// Read one profile.
pub(super) fn profile(table: &Table<'_>, files: Files<'_>) -> Result<Profile, Error> {
    let Some(name) = table.string("name", "\"decoder\"")?.filter(|n| !n.is_empty()) else {
        return Err(table.error("a profile has no name", "add `name = \"decoder\"`"));
    };
    let behaviour = match (table.get("rates"), table.get("reuse")) {
        (Some(rates), None) => Behaviour::Recorded(phases(table, &rates, files)?.into()),
        (None, Some(reuse)) => Behaviour::Modelled(model(table, &reuse)?),
        (Some(_), Some(_)) => {
            let help = "keep `rates` to replay the recording, or `reuse` to model it";
            return Err(table.wrong("reuse", "`reuse` beside `rates`", help));
        }
        (None, None) => {
            let help = format!("add recorded `rates = {RATES}`, or `reuse = {REUSE}`");
            return Err(table.error(format!("the profile `{name}` has no rates"), help));
        }
    };
    if matches!(behaviour, Behaviour::Recorded(_))
        && let Some(key) = ["burst", "entropy", "sites", "overlap"].into_iter().find(|k| table.has(k))
    {
        return Err(table.wrong(key, format!("`{key}` needs `reuse`"), "recorded rates say it already"));
    }
    let cpi = ratio(table, "cpi", 0.7, 0.05, 100.0)?;
    Ok(Profile {
        name: name.to_string(),
        cpi: (cpi * ONE as f64 + 0.5) as u64,
        loads: share(ratio(table, "loads", 0.3, 0.0, 1.0)?),
        branches: share(ratio(table, "branches", 0.2, 0.0, 1.0)?),
        spread: share(ratio(table, "spread", 0.0, 0.0, 0.95)?),
        behaviour,
    })
}

/// Note that the tasks `first..end` have the profiles that the task's table names.
pub(super) fn assign(workload: &mut Workload, table: &Table<'_>, first: u32, end: u32) -> Result<(), Error> {
    let (works, waits) = (named(workload, table, "profile")?, named(workload, table, "wait_profile")?);
    workload.profile_of.extend(works.iter().flat_map(|p| (first..end).map(|t| (t, *p))));
    let Some(waits) = waits else { return Ok(()) };
    if works.is_none() {
        let help = "add `profile`: what it does while it works";
        return Err(table.wrong("wait_profile", "`wait_profile` without `profile`", help));
    }
    match &workload.profiles[waits as usize].behaviour {
        Behaviour::Recorded(phases) if phases.len() == 1 => {}
        _ => {
            let help = format!("give that profile one phase of recorded rates, such as `rates = {RATES}`");
            return Err(table.wrong(
                "wait_profile",
                "rates of a wait are recorded, and always the same",
                help,
            ));
        }
    }
    workload.wait_profile_of.extend((first..end).map(|t| (t, waits)));
    Ok(())
}

/// The index of the profile that `key` names.
fn named(workload: &Workload, table: &Table<'_>, key: &'static str) -> Result<Option<u32>, Error> {
    let Some(name) = table.string(key, "\"decoder\"")? else { return Ok(None) };
    let names: Vec<&str> = workload.profiles.iter().map(|p| p.name.as_str()).collect();
    let Some(at) = names.iter().position(|n| *n == name) else {
        let help = match names.is_empty() {
            true => "add `[[profile]]` with that name".into(),
            false => did_you_mean(name, &names),
        };
        return Err(table.wrong(key, format!("no profile is called `{name}`"), help));
    };
    Ok(Some(at as u32))
}

/// A share or a ratio within bounds.
fn ratio(table: &Table<'_>, key: &'static str, default: f64, min: f64, max: f64) -> Result<f64, Error> {
    let Some(text) = table.string(key, "\"30%\"")? else { return Ok(default) };
    match units::share(text) {
        Ok(v) if (min..=max).contains(&v) => Ok(v),
        Ok(_) => Err(table.wrong(key, format!("`{key}` is out of range"), format!("write {min} to {max}"))),
        Err(r) => Err(table.wrong(key, format!("{key}: {}", r.message), r.help)),
    }
}

/// Recorded rates: a text, a list of them, or a file with one a line.
fn phases(table: &Table<'_>, value: &Value<'_, '_>, files: Files<'_>) -> Result<Vec<Phase>, Error> {
    let wrong = |r: Refusal| table.wrong("rates", r.message, r.help);
    let mut all = Vec::new();
    if value.is_list() {
        for item in value.list(&format!("[{RATES}]"))? {
            all.push(phase(item.str(RATES)?).map_err(wrong)?);
        }
    } else if let Some(path) = value.str(RATES)?.strip_prefix("file ").map(str::trim) {
        let bytes = files(path).map_err(|e| {
            let help = "name a file in the folder of the workload, one phase a line";
            table.wrong("rates", format!("`{path}` cannot be read: {e}"), help)
        })?;
        if bytes.len() > MAX_FILE {
            return Err(table.wrong("rates", format!("`{path}` is too large"), "64 MiB are possible"));
        }
        for (i, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            let text = line.split('#').next().unwrap_or_default().trim();
            if !text.is_empty() {
                let place = |r: Refusal| {
                    table.wrong("rates", format!("`{path}`, line {}: {}", i + 1, r.message), r.help)
                };
                all.push(phase(text).map_err(place)?);
            }
        }
    } else {
        all.push(phase(value.str(RATES)?).map_err(wrong)?);
    }
    if all.is_empty() || all.len() > MAX_PHASES {
        let help = format!("write 1 to {MAX_PHASES}, such as {RATES}");
        return Err(table.wrong("rates", format!("{} phases", all.len()), help));
    }
    if all.len() > 1 && all.iter().any(|p| p.ns == 0) {
        let help = "begin each with its time, such as `10ms l1=10%`";
        return Err(table.wrong("rates", "a phase of several has no time", help));
    }
    Ok(all)
}

/// `[10ms] l1=9.7% lfb=4% l2=48% l3=45% branch=2.5%`.
fn phase(text: &str) -> Result<Phase, Refusal> {
    let mut phase = Phase::default();
    for (i, word) in text.split_whitespace().enumerate() {
        let Some((key, value)) = word.split_once('=') else {
            if i > 0 {
                return Err(refusal(format!("`{word}` is not a rate"), format!("write rates as in {RATES}")));
            }
            phase.ns = units::duration(word)?;
            continue;
        };
        let ratio = units::share(value)?;
        if ratio > 1.0 {
            return Err(refusal(format!("`{word}` is more than all"), "write at most 100%".into()));
        }
        let Rates { l1, lfb, l2, l3, branch } = &mut phase.rates;
        let to = match key {
            "l1" => l1,
            "lfb" => lfb,
            "l2" => l2,
            "l3" => l3,
            "branch" => branch,
            _ => {
                let help = did_you_mean(key, &["l1", "lfb", "l2", "l3", "branch"]);
                return Err(refusal(format!("no rate is called `{key}`"), help));
            }
        };
        *to = share(ratio);
    }
    if phase.rates.l1 + phase.rates.lfb > ONE {
        let help = "loads either miss L1 or find their line on its way: lower one of the two";
        return Err(refusal("`l1` and `lfb` are more than all loads".into(), help.into()));
    }
    Ok(phase)
}

fn refusal(message: String, help: String) -> Refusal {
    Refusal { message, help }
}

/// `reuse = ["16KiB 90%", "200KiB 5%", "4MiB 4%"]` and the keys beside it.
fn model(table: &Table<'_>, reuse: &Value<'_, '_>) -> Result<Model, Error> {
    let mut buckets: Vec<(u64, u64)> = Vec::new();
    for item in reuse.list(REUSE)? {
        let text = item.str(REUSE)?;
        let bad = |message: String, help: String| item.error(message).help(help);
        let example = "write how much lies between two loads and the share of the loads, as in `16KiB 90%`";
        let Some((bytes, weight)) = text.trim().split_once(char::is_whitespace) else {
            return Err(bad(format!("`{text}` is not a bucket"), example.into()));
        };
        let bytes = units::bytes(bytes).map_err(|r| bad(r.message, r.help))?;
        let weight = units::share(weight).map_err(|r| bad(r.message, r.help))?;
        let lines = bytes.div_ceil(LINE);
        if lines == 0 || bytes > MAX_REUSE || buckets.last().is_some_and(|b| b.0 >= lines) {
            let help = "let sizes ascend, from 64B to 1GiB";
            return Err(bad(format!("`{text}` is out of order"), help.into()));
        }
        buckets.push((lines, share(weight)));
    }
    if buckets.len() > MAX_BUCKETS || buckets.iter().map(|b| b.1).sum::<u64>() > ONE + 64 {
        let help = "let the shares add up to at most 100%; the rest are loads of new lines";
        return Err(table.wrong("reuse", "the shares are more than all loads, or too many", help));
    }
    // Rounding may have made them more than all by a few of a million.
    let over = buckets.iter().map(|b| b.1).sum::<u64>().saturating_sub(ONE);
    if let Some(first) = buckets.first_mut() {
        first.1 -= over;
    }
    Ok(Model {
        reuse: buckets.into(),
        burst: (ratio(table, "burst", 0.0, 0.0, 1000.0)? * ONE as f64 + 0.5) as u64,
        entropy: share(ratio(table, "entropy", 0.0, 0.0, 1.0)?),
        sites: table.count("sites", 1, 1 << 20)?.unwrap_or(512) as u32,
        overlap: table.count("overlap", 1, 64)?.unwrap_or(2),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_read() {
        let p = phase("10ms l1=10% lfb=0.05 l2=50% l3=25% branch=2.5%").expect("a phase");
        assert_eq!(p.ns, 10_000_000);
        assert_eq!((p.rates.l2, p.rates.l3), (ONE / 2, ONE / 4));
        assert_eq!(phase("l1=0.5").expect("a phase").ns, 0);
        for (text, part) in [
            ("l1=60% lfb=50%", "more than all loads"),
            ("l4=1%", "no rate is called `l4`"),
            ("l1=10% 10ms", "`10ms` is not a rate"),
            ("l1=120%", "more than all"),
            ("5 l1=1%", "`5`"),
        ] {
            let e = phase(text).expect_err(text);
            assert!(e.message.contains(part), "{text}: {}", e.message);
            assert!(!e.help.is_empty());
        }
    }
}
