// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A measured figure beside the yardstick's: what `--json` prints, one object a line.

/// One row of a table.
#[derive(Clone, Debug)]
pub struct Row {
    pub subject: String,
    /// CPUs, threads or stages, as the subject says.
    pub size: u32,
    pub figure: f64,
    pub unit: &'static str,
    /// The figure divided by the yardstick's, in the same run.
    pub ratio: f64,
    pub yardstick: String,
}

impl Row {
    pub fn new(
        subject: &str,
        size: u32,
        figure: f64,
        unit: &'static str,
        ratio: f64,
        yardstick: &str,
    ) -> Self {
        Self { subject: subject.into(), size, figure, unit, ratio, yardstick: yardstick.into() }
    }

    /// Names are plain words: nothing in them needs quoting.
    pub fn json(&self) -> String {
        format!(
            "{{\"subject\":\"{}\",\"size\":{},\"figure\":{:.3},\"unit\":\"{}\",\"ratio\":{:.4},\"yardstick\":\"{}\"}}",
            self.subject, self.size, self.figure, self.unit, self.ratio, self.yardstick
        )
    }

    /// For people.
    pub fn line(&self) -> String {
        let figure =
            if self.figure < 1000.0 { format!("{:.1}", self.figure) } else { format!("{:.0}", self.figure) };
        format!(
            "{:<26} {:>6} {figure:>12} {:<18} {:>8.2} x {}",
            self.subject, self.size, self.unit, self.ratio, self.yardstick
        )
    }

    pub fn print(&self, json: bool) {
        println!("{}", if json { self.json() } else { self.line() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_a_line() {
        let row = Row::new("decentral", 4, 22.25, "ns/cycle", 1.25, "hand-fused");
        assert_eq!(
            row.json(),
            r#"{"subject":"decentral","size":4,"figure":22.250,"unit":"ns/cycle","ratio":1.2500,"yardstick":"hand-fused"}"#
        );
    }
}
