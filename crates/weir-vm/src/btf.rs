// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Can schedulers be loaded into a kernel? Its type information (BTF) says, without booting it.
//!
//! A program names the kernel functions that it calls together with their types, and the loader
//! compares them with the kernel's BTF. Some builds of Debian's kernels have wrong types there: a
//! function keeps the parameter `aux` that the kernel passes by itself (the tool that should have
//! split it off was too old), so every scheduler that calls it is refused. [`check`] finds these
//! and other damage. The format is described in the kernel's `Documentation/bpf/btf.rst`.

use std::collections::BTreeMap;

const MAGIC: u16 = 0xeb9f;

const KIND_PTR: u32 = 2;
const KIND_STRUCT: u32 = 4;
const KIND_VOLATILE: u32 = 9;
const KIND_RESTRICT: u32 = 11;
const KIND_FUNC: u32 = 12;
const KIND_FUNC_PROTO: u32 = 13;
const KIND_DECL_TAG: u32 = 17;
/// The last kind that the format has.
const KIND_LAST: u32 = 19;

/// Kernel functions that any scheduler here needs; all kernels with sched_ext have them.
const WANTED: &[&str] =
    &["scx_bpf_create_dsq", "scx_bpf_destroy_dsq", "scx_bpf_error_bstr", "scx_bpf_kick_cpu"];

/// What is wrong with one function or type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub name: String,
    /// What is wrong with it, a clause that goes on after the name.
    pub what: String,
}

/// One type: name, kind, the `size or type` word and what follows it.
struct Type<'a> {
    name: &'a str,
    kind: u32,
    target: u32,
    extra: &'a [u8],
}

/// Look for what would keep schedulers from loading; an empty list is good news. An error says
/// why the bytes are no BTF at all.
pub fn check(btf: &[u8]) -> Result<Vec<Finding>, String> {
    let types = parse(btf)?;
    let mut findings = Vec::new();
    let mut finding = |name: &str, what: String| findings.push(Finding { name: name.into(), what });
    if !types.iter().any(|t| t.kind == KIND_STRUCT && t.name == "sched_ext_ops") {
        finding("sched_ext_ops", "is missing: the kernel is built without sched_ext".into());
        return Ok(findings);
    }
    let mut functions = BTreeMap::new();
    for t in types.iter().filter(|t| t.kind == KIND_FUNC && t.name.starts_with("scx_bpf_")) {
        functions.entry(t.name).or_insert(t);
    }
    for name in WANTED.iter().filter(|n| !functions.contains_key(**n)) {
        finding(name, "is missing".into());
    }
    for (name, function) in &functions {
        // `NAME_impl` is the function as the kernel sees it, `NAME` as programs do.
        if let Some(what) = wrong_function(&types, btf, function).filter(|_| !name.ends_with("_impl")) {
            finding(name, what);
        }
    }
    Ok(findings)
}

/// What is wrong with a function's type.
fn wrong_function(types: &[Type], btf: &[u8], function: &Type) -> Option<String> {
    let Some(proto) = types.get(function.target as usize).filter(|t| t.kind == KIND_FUNC_PROTO) else {
        return Some(format!("has type {}, which is not a function's", function.target));
    };
    let known = |id: u32| (id as usize) < types.len();
    if !known(proto.target) {
        return Some(format!("returns type {}, which does not exist", proto.target));
    }
    let mut last = None;
    for (index, param) in proto.extra.chunks_exact(8).enumerate() {
        let (name, id) = (name_at(btf, word(param, 0)).unwrap_or_default(), word(param, 4));
        if !known(id) {
            return Some(format!("has parameter {} of type {id}, which does not exist", index + 1));
        }
        last = Some((name, id));
    }
    let (name, id) = last?;
    let pointer = &types[id as usize];
    let prog_aux =
        pointer.kind == KIND_PTR && plain(types, pointer.target).is_some_and(|t| t.name == "bpf_prog_aux");
    (name == "aux" && prog_aux).then(|| {
        "has the parameter `aux`, which the kernel passes by itself and programs must not see".into()
    })
}

/// A type without `const` and the like.
fn plain<'a>(types: &'a [Type<'a>], id: u32) -> Option<&'a Type<'a>> {
    let mut found = types.get(id as usize)?;
    // Types of one another would be a circle; real ones have two or three.
    for _ in 0..8 {
        if !(KIND_VOLATILE..=KIND_RESTRICT).contains(&found.kind) {
            break;
        }
        found = types.get(found.target as usize)?;
    }
    Some(found)
}

/// All types by number; number 0 is `void`.
fn parse(btf: &[u8]) -> Result<Vec<Type<'_>>, String> {
    if btf.len() < 24 {
        return Err("it is shorter than its header".into());
    }
    let magic = u16::from_le_bytes([btf[0], btf[1]]);
    if magic != MAGIC {
        return Err(format!("it begins with {magic:#06x} instead of {MAGIC:#06x}"));
    }
    let (header, start, length) = (word(btf, 4) as usize, word(btf, 8) as usize, word(btf, 12) as usize);
    let section = header
        .checked_add(start)
        .and_then(|begin| btf.get(begin..begin.checked_add(length)?))
        .ok_or("its types end beyond its end")?;
    let mut types = vec![Type { name: "void", kind: 0, target: 0, extra: &[] }];
    let mut at = 0;
    while at < section.len() {
        let number = types.len();
        let head = section.get(at..at + 12).ok_or_else(|| format!("type {number} ends early"))?;
        let info = word(head, 4);
        let (kind, count) = (info >> 24 & 31, (info & 0xffff) as usize);
        let size =
            extra_size(kind, count).ok_or_else(|| format!("type {number} is of the unknown kind {kind}"))?;
        let extra =
            section.get(at + 12..at + 12 + size).ok_or_else(|| format!("type {number} ends early"))?;
        let name = name_at(btf, word(head, 0))
            .ok_or_else(|| format!("the name of type {number} is outside the strings"))?;
        types.push(Type { name, kind, target: word(head, 8), extra });
        at += 12 + size;
    }
    Ok(types)
}

/// Bytes after the three words that every type has.
fn extra_size(kind: u32, count: usize) -> Option<usize> {
    match kind {
        1 | 14 | KIND_DECL_TAG => Some(4),
        3 => Some(12),
        KIND_STRUCT | 5 | 15 | KIND_LAST => Some(12 * count),
        6 | KIND_FUNC_PROTO => Some(8 * count),
        2 | 7..=12 | 16 | 18 => Some(0),
        _ => None,
    }
}

/// The name at an offset of the strings.
fn name_at(btf: &[u8], offset: u32) -> Option<&str> {
    let (header, start, length) = (word(btf, 4) as usize, word(btf, 16) as usize, word(btf, 20) as usize);
    let begin = header.checked_add(start)?;
    let strings = btf.get(begin..begin.checked_add(length)?)?;
    let name = strings.get(offset as usize..)?;
    std::str::from_utf8(&name[..name.iter().position(|b| *b == 0)?]).ok()
}

/// A 32-bit number; callers know that it is there.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// One sentence for the findings in a kernel; the same damage is reported once.
pub fn describe(findings: &[Finding]) -> String {
    let mut missing: Vec<(&str, Vec<&str>)> = Vec::new();
    for f in findings {
        match missing.iter_mut().find(|(what, _)| *what == f.what) {
            Some((_, names)) => names.push(&f.name),
            None => missing.push((&f.what, vec![&f.name])),
        }
    }
    let clause = |(what, names): &(&str, Vec<&str>)| {
        let others: Vec<String> = names[1..].iter().take(2).map(|n| format!("`{n}`")).collect();
        let more = names.len() - 1 - others.len();
        let others = match (others.is_empty(), more) {
            (true, _) => String::new(),
            (false, 0) => format!(" (likewise {})", others.join(", ")),
            (false, n) => format!(" (likewise {} and {n} more)", others.join(", ")),
        };
        format!("`{}`{others} {what}", names[0])
    };
    missing.iter().take(3).map(clause).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Builds BTF by hand.
    pub(crate) struct Maker {
        types: Vec<u8>,
        strings: Vec<u8>,
        count: u32,
    }

    impl Maker {
        pub(crate) fn new() -> Self {
            Self { types: Vec::new(), strings: vec![0], count: 0 }
        }

        fn name(&mut self, name: &str) -> u32 {
            let at = self.strings.len() as u32;
            self.strings.extend(name.bytes().chain([0]));
            at
        }

        /// Returns the type's number.
        pub(crate) fn add(&mut self, name: &str, kind: u32, count: u32, target: u32, extra: &[u32]) -> u32 {
            let name = self.name(name);
            for word in [name, kind << 24 | count, target].iter().chain(extra) {
                self.types.extend(word.to_le_bytes());
            }
            self.count += 1;
            self.count
        }

        pub(crate) fn function(&mut self, name: &str, params: &[(&str, u32)]) -> u32 {
            let words: Vec<u32> = params.iter().flat_map(|(n, id)| [self.name(n), *id]).collect();
            let proto = self.add("", KIND_FUNC_PROTO, params.len() as u32, 0, &words);
            self.add(name, KIND_FUNC, 0, proto, &[])
        }

        pub(crate) fn bytes(&self) -> Vec<u8> {
            let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
            let mut bytes = vec![0x9f, 0xeb, 1, 0];
            for word in [24, 0, types, types, strings] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend(&self.types);
            bytes.extend(&self.strings);
            bytes
        }
    }

    /// A kernel with the functions wanted; returns it with the number of `struct bpf_prog_aux *`.
    pub(crate) fn kernel() -> (Maker, u32) {
        let mut m = Maker::new();
        m.add("sched_ext_ops", KIND_STRUCT, 0, 0, &[]);
        let aux = m.add("bpf_prog_aux", KIND_STRUCT, 0, 0, &[]);
        let aux = m.add("", 10, 0, aux, &[]);
        let aux = m.add("", KIND_PTR, 0, aux, &[]);
        for name in WANTED {
            m.function(name, &[("dsq_id", 2)]);
        }
        (m, aux)
    }

    #[test]
    fn a_good_kernel_has_no_findings() {
        let (mut m, aux) = kernel();
        m.function("scx_bpf_exit_bstr", &[("exit_code", 2)]);
        m.function("scx_bpf_exit_bstr_impl", &[("exit_code", 2), ("aux", aux)]);
        assert_eq!(check(&m.bytes()), Ok(vec![]));
    }

    #[test]
    fn findings_name_function_and_damage() {
        let (mut m, aux) = kernel();
        m.function("scx_bpf_exit_bstr", &[("exit_code", 2), ("aux", aux)]);
        for name in ["scx_bpf_get_idle_cpumask", "scx_bpf_get_idle_smtmask", "scx_bpf_nr_slots"] {
            m.function(name, &[("aux", aux)]);
        }
        m.add("scx_bpf_no_proto", KIND_FUNC, 0, 1, &[]);
        m.function("scx_bpf_far_type", &[("x", 4711)]);
        let findings = check(&m.bytes()).expect("readable");
        insta::assert_snapshot!(describe(&findings).replace("; ", "\n"), @"
        `scx_bpf_exit_bstr` (likewise `scx_bpf_get_idle_cpumask`, `scx_bpf_get_idle_smtmask` and 1 more) has the parameter `aux`, which the kernel passes by itself and programs must not see
        `scx_bpf_far_type` has parameter 1 of type 4711, which does not exist
        `scx_bpf_no_proto` has type 1, which is not a function's
        ");
    }

    #[test]
    fn a_kernel_without_sched_ext_is_distinguished() {
        let mut m = Maker::new();
        m.add("task_struct", KIND_STRUCT, 0, 0, &[]);
        let findings = check(&m.bytes()).expect("readable");
        assert_eq!(describe(&findings), "`sched_ext_ops` is missing: the kernel is built without sched_ext");
    }

    #[test]
    fn missing_functions_are_found() {
        let mut m = Maker::new();
        m.add("sched_ext_ops", KIND_STRUCT, 0, 0, &[]);
        assert_eq!(check(&m.bytes()).expect("readable").len(), WANTED.len());
    }

    #[test]
    fn bytes_that_are_no_btf_say_why() {
        let (m, _) = kernel();
        let good = m.bytes();
        let with = |at: usize, value: u32| {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            bytes
        };
        for (bytes, why) in [
            (good[..20].to_vec(), "shorter than its header"),
            (with(0, 7), "begins with 0x0007"),
            (with(12, u32::MAX), "types end beyond"),
            (with(12, good.len() as u32), "types end beyond"),
            (with(28, 30 << 24), "unknown kind 30"),
            (with(28, 4 << 24 | 0xffff), "type 1 ends early"),
            (with(24, 1 << 30), "name of type 1 is outside"),
            (with(12, 10), "type 1 ends early"),
            (with(20, 0), "is outside the strings"),
            (with(4, u32::MAX), "types end beyond"),
        ] {
            let error = check(&bytes).expect_err(why);
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_damage_makes_it_panic(at in 0usize..400, value in any::<u32>()) {
            let (m, _) = kernel();
            let mut bytes = m.bytes();
            let at = at % (bytes.len() - 4);
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let _ = check(&bytes);
        }
    }
}
