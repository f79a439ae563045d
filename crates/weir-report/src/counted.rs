// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A task's hardware counters in `summary.json`: an object with a number for each counter.

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use weir_core::Counters;

/// Sums of counters. Names and order are those of [`Counters::NAMES`]; a reader takes any subset, the rest is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted(pub Counters);

impl Counted {
    /// Adds a stint's counts to a sum that begins with the first of them.
    pub(crate) fn add(sum: &mut Option<Box<Counted>>, counts: &Counters) {
        sum.get_or_insert_default().0 += *counts;
    }
}

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(Counters::NAMES.len()))?;
        for (name, n) in Counters::NAMES.iter().zip(self.0.to_array()) {
            map.serialize_entry(name, &n)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Counted;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with counters")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Counted, A::Error> {
                let mut all = [0; Counters::NAMES.len()];
                while let Some((name, n)) = map.next_entry::<String, u64>()? {
                    if let Some(i) = Counters::NAMES.iter().position(|known| *known == name) {
                        all[i] = n;
                    }
                }
                Ok(Counted(Counters::from_array(all)))
            }
        }
        from.deserialize_map(Fields)
    }
}
