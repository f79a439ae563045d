// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Computing times and arrivals as words: `1ms..2ms`, `normal 1ms 200us 2ms`, `poisson 10ms`.

use std::sync::Arc;

use crate::error::did_you_mean;
use crate::workload::units::{Refusal, count, duration, share};
use crate::workload::{Arrivals, Dist, Op, Phase, Shape};

const SHAPES: &[&str] = &["normal", "exponential", "weibull", "histogram"];
const PROCESSES: &[&str] = &["poisson", "bursts", "onoff", "mmpp"];

/// How computing may be written, for diagnostics.
pub(super) const USAGE: &str = "run 2ms`, `run 1ms..2ms`, `run normal 1ms 200us 2ms`, `run exponential 1ms 5ms`, \
     `run weibull 1ms 1.5 5ms` or `run histogram 1ms:70% 2ms..4ms:30%";

fn refuse<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { message: message.into(), help: help.into() })
}

/// `2ms` or `1ms..2ms`.
fn range(text: &str) -> Result<(u64, u64), Refusal> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let (low, high) = (duration(low)?, duration(high)?);
    if low > high {
        return refuse("the range is upside down", "swap its ends");
    }
    Ok((low, high))
}

/// The step that words describe. The longest time, which ends a distribution, is `wcet` where none is given.
pub(super) fn computing(words: &[&str], wcet: Option<u64>) -> Result<Op, Refusal> {
    match words {
        [one] if !SHAPES.contains(one) => {
            let known = one.starts_with(|c: char| c.is_ascii_digit() || c == '.');
            if !known && one.chars().all(|c| c.is_ascii_alphabetic()) {
                return refuse(format!("unknown distribution `{one}`"), did_you_mean(one, SHAPES));
            }
            let (min_ns, max_ns) = range(one)?;
            Ok(if min_ns == max_ns { Op::Run { ns: min_ns } } else { Op::RunBetween { min_ns, max_ns } })
        }
        [name, args @ ..] if SHAPES.contains(name) => {
            Ok(Op::RunDrawn { dist: Arc::new(distribution(name, args, wcet)?) })
        }
        [name, ..] if name.chars().all(|c| c.is_ascii_alphabetic()) => {
            refuse(format!("unknown distribution `{name}`"), did_you_mean(name, SHAPES))
        }
        _ => refuse("too many words for a time", format!("write `{USAGE}`")),
    }
}

fn distribution(name: &str, args: &[&str], wcet: Option<u64>) -> Result<Dist, Refusal> {
    if name == "histogram" {
        return histogram(args);
    }
    let takes = if name == "exponential" { 1 } else { 2 };
    let usage = || {
        let text = match name {
            "normal" => "normal MEAN DEVIATION LONGEST",
            "exponential" => "exponential MEAN LONGEST",
            _ => "weibull SCALE SHAPE LONGEST",
        };
        format!("write `{text}`; the longest time may be left out where the task has a `wcet`")
    };
    if args.len() < takes || args.len() > takes + 1 {
        return refuse(format!("`{name}` takes {} or {} values", takes, takes + 1), usage());
    }
    let max_ns = match args.get(takes) {
        Some(text) => duration(text)?,
        None => match wcet {
            Some(ns) => ns,
            None => return refuse(format!("`{name}` has no longest time"), usage()),
        },
    };
    let first_ns = duration(args[0])?;
    let shape = match name {
        "normal" => Shape::Normal { mean_ns: first_ns, deviation_ns: duration(args[1])? },
        "exponential" => Shape::Exponential { mean_ns: first_ns },
        _ => match args[1].parse::<f64>() {
            Ok(shape) if (0.1..=100.0).contains(&shape) => Shape::Weibull { scale_ns: first_ns, shape },
            _ => {
                return refuse(
                    format!("`{}` is not a shape of a Weibull distribution", args[1]),
                    "write a number from 0.1 to 100; 1 is the exponential distribution",
                );
            }
        },
    };
    if first_ns == 0 || max_ns == 0 {
        return refuse(format!("`{name}` with a time of 0"), "write times above 0");
    }
    // Beyond its bound a truncated distribution is drawn in vain.
    if first_ns > max_ns && name == "normal" {
        return refuse(
            "the mean is longer than the longest time",
            "raise the longest time, or lower the mean",
        );
    }
    Ok(Dist { shape, min_ns: 1, max_ns, clamp: false })
}

/// `1ms:70% 2ms..4ms:30%`; weights need not sum up to one.
fn histogram(args: &[&str]) -> Result<Dist, Refusal> {
    let help = "write times with weights: `histogram 1ms:70% 2ms..4ms:30%`";
    let mut buckets = Vec::with_capacity(args.len());
    let mut sum = 0.0;
    for arg in args {
        let Some((times, weight)) = arg.split_once(':') else {
            return refuse(format!("`{arg}` has no weight"), help);
        };
        let (low, high) = range(times)?;
        sum += share(weight)?;
        buckets.push((low, high, sum));
    }
    if sum <= 0.0 {
        return refuse("a histogram without weights", help);
    }
    buckets.iter_mut().for_each(|b| b.2 /= sum);
    let min_ns = buckets.iter().map(|b| b.0).min().unwrap_or(0);
    let max_ns = buckets.iter().map(|b| b.1).max().unwrap_or(0);
    Ok(Dist { shape: Shape::Histogram(buckets.into()), min_ns, max_ns, clamp: false })
}

/// `poisson 10ms`, `bursts 5 1ms 100ms`, `onoff 100ms 400ms 5ms`, `mmpp 5ms 100ms 50ms 400ms`.
pub(super) fn arrivals(text: &str) -> Result<Arrivals, Refusal> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ns = |text: &str| match duration(text)? {
        0 => refuse("a time of 0", "write a time above 0"),
        ns => Ok(ns),
    };
    match words[..] {
        ["poisson", mean] => Ok(Arrivals::Poisson { mean_ns: ns(mean)?, least_ns: 0 }),
        ["poisson", mean, least] => {
            let (mean_ns, least_ns) = (ns(mean)?, ns(least)?);
            if least_ns > mean_ns {
                return refuse("the least gap is longer than the mean", "swap them: the mean comes first");
            }
            Ok(Arrivals::Poisson { mean_ns, least_ns })
        }
        ["bursts", n, gap, pause] => Ok(Arrivals::Bursts {
            count: count(n, 1, 1_000_000)? as u32,
            gap_ns: ns(gap)?,
            pause_ns: ns(pause)?,
        }),
        ["onoff", on, off, gap] => {
            let silence = Phase { gap_ns: u64::MAX, length_ns: ns(off)? };
            Ok(Arrivals::Modulated { phases: [Phase { gap_ns: ns(gap)?, length_ns: ns(on)? }, silence] })
        }
        ["mmpp", a, b, c, d] => {
            let phase = |gap, length| Ok(Phase { gap_ns: ns(gap)?, length_ns: ns(length)? });
            Ok(Arrivals::Modulated { phases: [phase(a, b)?, phase(c, d)?] })
        }
        [name, ..] if !PROCESSES.contains(&name) => {
            refuse(format!("unknown arrivals `{name}`"), did_you_mean(name, PROCESSES))
        }
        _ => refuse(
            format!("`{text}` does not describe arrivals"),
            "write `poisson MEAN [LEAST]`, `bursts COUNT GAP PAUSE`, `onoff ON OFF GAP` or `mmpp GAP LENGTH GAP LENGTH`",
        ),
    }
}

/// Times of a recorded run: the first column of a CSV file, in seconds where they have no unit. A first
/// line that is not a time is a heading; empty lines and what follows `#` do not count.
pub(super) fn recorded(text: &str) -> Result<Vec<u64>, Refusal> {
    let mut times: Vec<u64> = Vec::new();
    let mut heading = true;
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let first = line.split([',', ';', '\t']).next().unwrap_or_default().trim();
        if first.is_empty() {
            continue;
        }
        let with_unit = if first.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            format!("{first}s")
        } else {
            first.into()
        };
        match duration(&with_unit) {
            Ok(ns) => times.push(ns),
            Err(_) if heading => {}
            Err(r) => return refuse(format!("line {}: {}", i + 1, r.message), r.help),
        }
        heading = false;
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Op, Refusal> {
        computing(&text.split(' ').collect::<Vec<_>>(), Some(9_000_000))
    }

    #[test]
    fn times_and_distributions() {
        assert_eq!(words("2ms"), Ok(Op::Run { ns: 2_000_000 }));
        assert_eq!(words("1ms..2ms"), Ok(Op::RunBetween { min_ns: 1_000_000, max_ns: 2_000_000 }));
        let dist = |text| match words(text) {
            Ok(Op::RunDrawn { dist }) => (*dist).clone(),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(dist("normal 1ms 200us").max_ns, 9_000_000);
        assert_eq!(dist("exponential 1ms 5ms").max_ns, 5_000_000);
        assert_eq!(dist("weibull 1ms 1.5").shape, Shape::Weibull { scale_ns: 1_000_000, shape: 1.5 });
        let h = dist("histogram 1ms:1 2ms..4ms:3");
        assert_eq!(
            h.shape,
            Shape::Histogram([(1_000_000, 1_000_000, 0.25), (2_000_000, 4_000_000, 1.0)].into())
        );
        assert_eq!((h.min_ns, h.max_ns), (1_000_000, 4_000_000));
    }

    #[test]
    fn wrong_times_get_a_remedy() {
        for (text, want) in [
            ("gaussian 1ms 2ms", "unknown distribution `gaussian`"),
            ("normal 1ms", "`normal` takes 2 or 3 values"),
            ("normal 10ms 1ms 2ms", "the mean is longer than the longest time"),
            ("weibull 1ms x 2ms", "`x` is not a shape of a Weibull distribution"),
            ("histogram 1ms", "`1ms` has no weight"),
            ("exponential 0 2ms", "`exponential` with a time of 0"),
            ("2ms 3ms", "too many words for a time"),
            ("2ms..1ms", "the range is upside down"),
        ] {
            assert_eq!(words(text).expect_err(text).message, want);
        }
        assert!(computing(&["exponential", "1ms"], None).is_err());
    }

    #[test]
    fn arrival_processes() {
        assert_eq!(arrivals("poisson 10ms"), Ok(Arrivals::Poisson { mean_ns: 10_000_000, least_ns: 0 }));
        assert!(arrivals("poisson 1ms 10ms").is_err());
        assert_eq!(
            arrivals("bursts 5 1ms 100ms"),
            Ok(Arrivals::Bursts { count: 5, gap_ns: 1_000_000, pause_ns: 100_000_000 })
        );
        assert!(
            matches!(arrivals("onoff 1s 2s 1ms"), Ok(Arrivals::Modulated { phases }) if phases[1].gap_ns == u64::MAX)
        );
        assert!(arrivals("mmpp 1ms 1s 2ms 3s").is_ok() && arrivals("mmpp 1ms").is_err());
        assert!(arrivals("poison 1ms").expect_err("misspelt").help.contains("poisson"));
    }

    #[test]
    fn recorded_times() {
        assert_eq!(
            recorded("time,who\n0.5,a\n# no\n1.25 ; b\n2s\n"),
            Ok(vec![500_000_000, 1_250_000_000, 2_000_000_000])
        );
        assert_eq!(recorded("1ms\nsoon\n").expect_err("no time").message.split(':').next(), Some("line 2"));
    }
}
