// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What can be seen in a component's text: mistakes that would otherwise be reported later, or by a compiler in terms of
//! generated code. Each finding has its place in the author's file.
//!
//! This is not a C parser. Comments and strings are blanked; what remains is searched for the fixed names that the interface has.

use std::ops::Range;

use crate::{ENTRIES, Entry};

/// A mistake at bytes of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub at: Range<usize>,
    pub message: String,
    pub help: String,
    /// It does not stand in the way.
    pub warning: bool,
    /// It may only follow from a mistake that the compiler or the linker finds: a name with a slip.
    pub late: bool,
}

/// Most parameters of a component: `WEIR_MAX_PARAMS`.
const MAX_PARAMS: usize = 8;

/// Functions of the framework that publish, and what.
const PUBLISHING: [(&str, &str); 4] = [
    ("weir_urgent", "PREEMPT"),
    ("weir_place_urgent", "PREEMPT"),
    ("weir_withhold", "WITHHELD"),
    ("weir_send", "WITHHELD"),
];

/// Functions of the framework that ask, and what.
const ASKING: [(&str, &str); 4] = [
    ("weir_affinity", "AFFINITY"),
    ("weir_remaining", "JOB"),
    ("weir_latest_start", "DEADLINE"),
    ("weir_latest_start", "JOB"),
];

/// An identifier and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub at: Range<usize>,
}

/// A parameter as it is written down: `WEIR_PARAM(comp, field, UNIT, default, min, max, "help")`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    pub field: Word,
    /// Default, least and greatest value as written.
    pub range: [String; 3],
}

/// A component's file, taken apart.
#[derive(Debug)]
pub struct Text {
    /// Without comments and the contents of strings; each byte where it was.
    plain: String,
    /// The argument list of WEIR_COMPONENT.
    descriptor: Option<Range<usize>>,
    /// The component's name as WEIR_COMPONENT says.
    pub name: Option<Word>,
    /// Functions marked WEIR_ENTRY.
    pub entries: Vec<Word>,
    pub params: Vec<Param>,
}

impl Text {
    pub fn of(text: &str) -> Self {
        let plain = blank(text);
        let open =
            words(&plain).find(|w| w.text == "WEIR_COMPONENT").and_then(|w| argument_list(&plain, w.at.end));
        let name = open.as_ref().and_then(|list| words(&plain[list.clone()]).next()).map(|w| {
            let from = open.as_ref().map_or(0, |l| l.start);
            Word { at: from + w.at.start..from + w.at.end, ..w }
        });
        let entries = words(&plain)
            .filter(|w| w.text == "WEIR_ENTRY")
            .filter_map(|mark| {
                let open = mark.at.end + plain[mark.at.end..].find('(')?;
                let last = words(&plain[mark.at.end..open]).last()?;
                Some(Word { at: mark.at.end + last.at.start..mark.at.end + last.at.end, ..last })
            })
            .collect();
        let params = params(&plain);
        Self { plain, descriptor: open, name, entries, params }
    }

    /// Topics that a field of the descriptor names; `None`: it says so by other means than `WEIR_TOPIC_BIT`.
    fn topics(&self, field: &str) -> Option<Vec<Word>> {
        let Some(value) = self.field(field) else { return Some(Vec::new()) };
        let text = &self.plain[value.clone()];
        let mut found = Vec::new();
        for w in words(text) {
            match w.text.as_str() {
                "WEIR_TOPIC_BIT" => {
                    let list = argument_list(text, w.at.end)?;
                    let topic = words(&text[list.clone()]).next()?;
                    let from = value.start + list.start;
                    found.push(Word { at: from + topic.at.start..from + topic.at.end, ..topic });
                }
                other if found.last().is_some_and(|f: &Word| f.text == other) => {}
                _ => return None,
            }
        }
        Some(found)
    }

    /// The value of a field of the descriptor.
    fn field(&self, field: &str) -> Option<Range<usize>> {
        let list = self.descriptor.clone()?;
        arguments(&self.plain, &list).into_iter().find_map(|a| {
            let text = &self.plain[a.clone()];
            let rest = text.trim_start().strip_prefix('.')?.trim_start().strip_prefix(field)?.trim_start();
            let value = rest.strip_prefix('=')?;
            Some(a.end - value.len()..a.end)
        })
    }

    /// The identifiers outside of the descriptor.
    fn code(&self) -> impl Iterator<Item = Word> + '_ {
        let skip = self.descriptor.clone().unwrap_or(0..0);
        words(&self.plain).filter(move |w| !skip.contains(&w.at.start))
    }

    /// Calls of a function.
    fn calls<'a>(&'a self, function: &'a str) -> impl Iterator<Item = Word> + 'a {
        self.code()
            .filter(move |w| w.text == function && self.plain[w.at.end..].trim_start().starts_with('('))
    }

    /// Topics that code mentions as `WEIR_TOPIC_X` within calls of `function`.
    fn mentioned(&self, function: &str) -> Vec<Word> {
        self.calls(function)
            .filter_map(|w| argument_list(&self.plain, w.at.end))
            .flat_map(|list| self.code().filter(move |w| list.contains(&w.at.start)))
            .filter_map(|w| {
                let topic = w.text.strip_prefix("WEIR_TOPIC_").filter(|t| *t != "BIT")?;
                Some(Word { text: topic.to_owned(), at: w.at.clone() })
            })
            .collect()
    }

    /// Where the word stands outside of comments and strings; for what only a later stage finds out.
    pub fn find(&self, word: &str) -> Option<Range<usize>> {
        words(&self.plain).find(|w| w.text == word).map(|w| w.at)
    }
}

/// What is wrong with the text of the component's file `name.c`. `topics` are the standard ones, `taken` the names that the
/// program has already.
pub fn check(name: &str, text: &str, topics: &[&str], taken: &[&str]) -> Vec<Finding> {
    let file = Text::of(text);
    let mut found = Findings::default();
    let Some(said) = file.name.clone() else {
        let help = format!("describe it: WEIR_COMPONENT({name}, .summary = \"…\", .cls = WEIR_ORDER, …);");
        found.error(0..text.find('\n').unwrap_or(text.len()), "the file describes no component".into(), help);
        return found.0;
    };
    if said.text != name {
        let message = format!("the component is called `{}`, and its file `{name}.c`", said.text);
        let help =
            format!("call both alike: rename the file to `{}.c`, or the component to `{name}`", said.text);
        found.error(said.at, message, help);
        return found.0;
    }
    if taken.contains(&name) {
        let help = "choose another name for the file, the component and its functions".into();
        found.error(said.at, format!("there is a component `{name}` already"), help);
        return found.0;
    }
    if let Some(old) = old_form(&file, name) {
        return vec![old];
    }
    state(&file, name, &said, &mut found);
    facts(&file, &said, &mut found);
    let listed = Listed::of(&file);
    let own = crate::own_topics(text);
    let topics: Vec<&str> = topics.iter().copied().chain(own.iter().map(|o| o.0.as_str())).collect();
    known_topics(&listed, &topics, &mut found);
    entry_points(&file, name, &topics, &listed, &mut found);
    heard(&file, &listed, &mut found);
    placed(&file, &own, &mut found);
    // Functions of the kit publish in a component's name, and so does the framework at the end of a path.
    let at_the_end = !file.entries.iter().any(|e| e.text.ends_with("_step"));
    used_topics(&file, &listed, text.contains("<weir/kit/") || at_the_end, &mut found);
    includes(text, &mut found);
    found.0.sort_by_key(|f| f.at.start);
    found.0
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn error(&mut self, at: Range<usize>, message: String, help: String) {
        self.0.push(Finding { at, message, help, warning: false, late: false });
    }
}

/// The topics of the descriptor's fields; `None` where they cannot be read from the text.
struct Listed {
    listens: Option<Vec<Word>>,
    reviews: Option<Vec<Word>>,
    publishes: Option<Vec<Word>>,
    asks: Option<Vec<Word>>,
    needs: Option<Vec<Word>>,
    answers: Option<Vec<Word>>,
}

impl Listed {
    fn of(file: &Text) -> Self {
        let [listens, reviews, publishes, asks, needs, answers] =
            ["listens", "reviews", "publishes", "asks", "needs", "answers"].map(|f| file.topics(f));
        Self { listens, reviews, publishes, asks, needs, answers }
    }
}

/// A component's number for an own topic is not the topic's place in the table, which requests need.
fn placed(file: &Text, own: &[(String, u32)], found: &mut Findings) {
    let calls: Vec<Range<usize>> =
        file.calls("weir_topic").filter_map(|w| argument_list(&file.plain, w.at.end)).collect();
    let mut bare = file.mentioned("weir_property");
    bare.extend(file.mentioned("weir_request"));
    for w in bare {
        let is_own = own.iter().any(|o| o.0 == w.text);
        if is_own && !calls.iter().any(|c| c.contains(&w.at.start)) {
            let message =
                format!("{} is the component's own number for its topic; a request takes its place", w.text);
            let help = format!("write: weir_topic(&self->inst, WEIR_TOPIC_{})", w.text);
            found.error(w.at.clone(), message, help);
        }
    }
}

/// `struct NAME { struct weir_instance inst; …`
fn state(file: &Text, name: &str, said: &Word, found: &mut Findings) {
    let all: Vec<Word> = words(&file.plain).collect();
    let head = all.windows(2).find(|w| {
        w[0].text == "struct" && w[1].text == name && file.plain[w[1].at.end..].trim_start().starts_with('{')
    });
    let Some(head) = head else {
        let help = format!("write `struct {name} {{ struct weir_instance inst; … }};` before it");
        return found.error(said.at.clone(), format!("its state, `struct {name}`, is missing"), help);
    };
    let open = head[1].at.end + file.plain[head[1].at.end..].find('{').unwrap_or(0) + 1;
    let end = file.plain[open..].find([';', '}']).map_or(file.plain.len(), |e| open + e);
    let first = file.plain[open..end].split_whitespace().collect::<Vec<_>>().join(" ");
    // What components share may have the instance in a struct of its own.
    let shared = first.starts_with("struct weir_") && !first.starts_with("struct weir_instance");
    if first != "struct weir_instance inst" && !shared {
        let blank = file.plain[open..end].len() - file.plain[open..end].trim_start().len();
        let at = if first.is_empty() { head[1].at.clone() } else { open + blank..end };
        found.error(
            at,
            format!("`struct {name}` does not begin with its instance"),
            "make `struct weir_instance inst;` the first field: the framework finds its own data there"
                .into(),
        );
    }
}

/// Class, summary, step function, private memory, parameters.
fn facts(file: &Text, said: &Word, found: &mut Findings) {
    for (field, what, help) in [
        ("cls", "its class", ".cls = WEIR_ORDER, or FILTER, DISTRIBUTE, MERGE, ANNOTATE, SERVICE"),
        ("summary", "what it does", ".summary = \"verb phrase, the first line of its manual\""),
    ] {
        if file.field(field).is_none() {
            found.error(
                said.at.clone(),
                format!("its descriptor does not say {what}"),
                format!("add {help}"),
            );
        }
    }
    if file.field("per_task").is_none()
        && let Some(first) = file.calls("weir_priv").next()
    {
        let help = "say how much it is, in the descriptor: .per_task = sizeof(struct …)".into();
        found.error(first.at, "private memory of a task is used, but the component has none".into(), help);
    }
    if let Some(ninth) = file.params.get(MAX_PARAMS) {
        let help = format!("{MAX_PARAMS} are possible");
        found.error(ninth.field.at.clone(), format!("it has {} parameters", file.params.len()), help);
    }
}

/// Every name of a topic is one.
fn known_topics(listed: &Listed, topics: &[&str], found: &mut Findings) {
    let all =
        [&listed.listens, &listed.reviews, &listed.publishes, &listed.asks, &listed.needs, &listed.answers];
    for w in all.into_iter().flatten().flatten().filter(|w| !topics.contains(&w.text.as_str())) {
        found.error(w.at.clone(), format!("there is no topic `{}`", w.text), nearest(&w.text, topics));
    }
}

/// Entry points have names that somebody calls, and topics agree with the descriptor.
fn entry_points(file: &Text, name: &str, topics: &[&str], listed: &Listed, found: &mut Findings) {
    let plain: Vec<&str> = ENTRIES.iter().filter(|e| !e.by_topic).map(|e| e.function).collect();
    let mut heard = Vec::new();
    let mut answered = Vec::new();
    for e in &file.entries {
        let Some(function) = e.text.strip_prefix(name).and_then(|r| r.strip_prefix('_')) else {
            let message = format!("the entry point `{}` does not begin with `{name}_`", e.text);
            found.error(e.at.clone(), message, "entry points are found by their names".into());
            continue;
        };
        if plain.contains(&function) {
            continue;
        }
        let by_topic =
            ENTRIES.iter().filter(|e| e.by_topic).find_map(|k| Some((k, function.strip_prefix(k.function)?)));
        let Some((kind, topic)) = by_topic else {
            let all: Vec<&str> = plain.iter().copied().chain(["on_TOPIC", "answer_TOPIC"]).collect();
            let message = format!("nobody calls `{}`: there is no entry point `{function}`", e.text);
            found.error(e.at.clone(), message, nearest(function, &all));
            continue;
        };
        let upper = topic.to_uppercase();
        if !topics.contains(&upper.as_str()) {
            let lower: Vec<String> =
                topics.iter().map(|t| format!("{}{}", kind.function, t.to_lowercase())).collect();
            let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
            let message = format!("nobody calls `{}`: there is no topic `{upper}`", e.text);
            found.error(e.at.clone(), message, nearest(function, &lower));
            continue;
        }
        let (list, field) = match kind.name {
            "answer" => (&listed.answers, "answers"),
            _ => (&listed.listens, "listens"),
        };
        if list.as_ref().is_some_and(|l| !l.iter().any(|w| w.text == upper)) {
            let verb = if field == "answers" { "answers" } else { "listens to" };
            let message =
                format!("its descriptor does not say that it {verb} {upper}, for which it has `{}`", e.text);
            found.error(e.at.clone(), message, format!("add it: .{field} = WEIR_TOPIC_BIT({upper})"));
        }
        if kind.name == "answer" { answered.push(upper) } else { heard.push(upper) }
    }
    // A message about a task may be heard by the step alone.
    heard.extend(listed.reviews.iter().flatten().map(|w| w.text.clone()));
    let listens = listed.listens.as_ref().filter(|_| listed.reviews.is_some());
    for (list, there, verb, function, else_) in [
        (listens, &heard, "listens to", "on", "; if tasks are to be placed anew: .reviews = WEIR_TOPIC_BIT("),
        (listed.answers.as_ref(), &answered, "answers", "answer", ""),
    ] {
        for w in list
            .into_iter()
            .flatten()
            .filter(|w| topics.contains(&w.text.as_str()) && !there.contains(&w.text))
        {
            let (topic, lower) = (&w.text, w.text.to_lowercase());
            let message = format!("it {verb} {topic}, but there is no function `{name}_{function}_{lower}`");
            let mut help = format!("write one, marked WEIR_ENTRY, or take {topic} out of the descriptor");
            if !else_.is_empty() {
                help += &format!("{else_}{topic})");
            }
            found.error(w.at.clone(), message, help);
        }
    }
    unmarked(file, name, &plain, found);
    no_step(file, name, found);
}

/// What the step is asked about must be in the descriptor: else nobody calls it.
fn heard(file: &Text, listed: &Listed, found: &mut Findings) {
    if let (Some(reviews), Some(listens)) = (&listed.reviews, &listed.listens) {
        for w in reviews.iter().filter(|w| !listens.iter().any(|l| l.text == w.text)) {
            let help = format!("add it: .listens = WEIR_TOPIC_BIT({})", w.text);
            found.error(
                w.at.clone(),
                format!("it reviews tasks on {}, to which it does not listen", w.text),
                help,
            );
        }
    }
    let hears = file.field("hears").map_or("", |v| file.plain[v].trim());
    for (change, flag) in [("WEIR_PICKED", "WEIR_HEARS_PICKED"), ("WEIR_LEFT", "WEIR_HEARS_LEFT")] {
        if let Some(w) = file.code().find(|w| w.text == change)
            && words(hears).all(|h| h.text.starts_with("WEIR_HEARS_") && h.text != flag)
        {
            let message =
                format!("its descriptor does not say that its step hears {change}, which this looks at");
            found.error(w.at, message, format!("add it: .hears = {flag}"));
        }
    }
}

/// What components called before they had a step, and what is in its place.
const REPLACED: [(&str, &str); 12] = [
    ("weir_for_change", "the step gets each change by itself"),
    ("weir_change_next", "the step gets each change by itself"),
    ("weir_pipe_append", "the step answers with the out-port"),
    ("weir_pipe_prepend", "the step answers with the out-port; the place is step->key, in a keyed out-pipe"),
    ("weir_pipe_insert", "the step answers with the out-port; the place is step->key, in a keyed out-pipe"),
    (
        "weir_pipe_insert_stable",
        "the step answers with the out-port; the place is step->key, in a keyed out-pipe",
    ),
    ("weir_pipe_mirror", "the step answers with the out-port: tasks keep their order"),
    ("weir_pipe_remove", "the step answers WEIR_WITHHOLD: the task waits in the in-pipe"),
    ("weir_insert_urgent", "return weir_place_urgent(step, key)"),
    ("weir_preempt", "weir_urgent(step, key)"),
    ("weir_rekey_running", "weir_urgent(step, key)"),
    ("weir_route", "return weir_send(&self->inst, what, t, to)"),
];

/// What was written in place of a function that components called before they had a step.
pub(crate) fn replaced(function: &str) -> Option<String> {
    let (_, now) = REPLACED.iter().find(|r| r.0 == function)?;
    Some(format!("it is of the interface before 1.0; now: {now}"))
}

/// A component of the interface before 1.0 is told so once, with what to write, instead of by each of its parts.
fn old_form(file: &Text, name: &str) -> Option<Finding> {
    let mine = |e: &&Word| {
        let function = e.text.strip_prefix(name).and_then(|r| r.strip_prefix('_'));
        function.is_some_and(|f| OLD_ENTRIES.iter().any(|o| f == *o || o.ends_with('_') && f.starts_with(o)))
    };
    let (what, at) = match file.entries.iter().find(mine) {
        Some(e) => (e.text.clone(), e.at.clone()),
        None => {
            let (f, at) = ["change_kinds", "carries"].into_iter().find_map(|f| Some((f, file.field(f)?)))?;
            (format!(".{f}"), at.end - file.plain[at.clone()].trim_start().len()..at.end)
        }
    };
    let now = match what.as_str() {
        ".change_kinds" => {
            "write .hears = WEIR_HEARS_PICKED | WEIR_HEARS_LEFT if it counts tasks, else nothing".into()
        }
        ".carries" => "take it out; .serial = 1 if its steps change its state".into(),
        f if f.contains("_follow_") => {
            let topic = f.split("_follow_").nth(1).unwrap_or_default().to_uppercase();
            format!(
                "its step looks at the task again if the descriptor says .reviews = WEIR_TOPIC_BIT({topic})"
            )
        }
        _ => format!(
            "write {}, which answers for one task at a time with its out-port",
            signature(name, "step")
        ),
    };
    Some(of_old_form(&what, at, &now))
}

/// Entry points that are no more; the last one is followed by a topic.
pub(crate) const OLD_ENTRIES: [&str; 2] = ["update", "follow_"];

/// The finding for what was part of the interface before 1.0, with what is in its place.
pub(crate) fn of_old_form(what: &str, at: Range<usize>, now: &str) -> Finding {
    let message = format!("`{what}` is of the component interface before 1.0");
    let help =
        format!("{now}; docs/component-files.md has the whole list, `runweir component new` an example");
    Finding { at, message, help, warning: false, late: false }
}

/// Out-pipes are filled by a step function. One that has another name was found before.
fn no_step(file: &Text, name: &str, found: &mut Findings) {
    let Some(said) = &file.name else { return };
    let has_outs = file.field("out_max").is_some_and(|v| file.plain[v].trim() != "0");
    let step = format!("{name}_step");
    let misnamed = found.0.iter().any(|f| f.message.starts_with("nobody calls"));
    if has_outs && !misnamed && !file.entries.iter().any(|e| e.text == step) {
        let message = format!("it has out-pipes, but no function `{step}` that fills them");
        found.error(said.at.clone(), message, format!("write one: {}", signature(name, "step")));
    }
}

/// A function with the name of an entry point that lacks the mark.
fn unmarked(file: &Text, name: &str, plain: &[&str], found: &mut Findings) {
    let prefix = format!("{name}_");
    let all: Vec<Word> = file.code().collect();
    for pair in all.windows(2) {
        let Some(function) = pair[1].text.strip_prefix(&prefix) else { continue };
        let typed = ["int", "void", "u32"].contains(&pair[0].text.as_str())
            && file.plain[pair[0].at.end..pair[1].at.start].trim().is_empty();
        let defined = argument_list(&file.plain, pair[1].at.end)
            .is_some_and(|l| file.plain[l.end + 1..].trim_start().starts_with('{'));
        if plain.contains(&function)
            && typed
            && defined
            && !file.entries.iter().any(|e| e.text == pair[1].text)
        {
            let message = format!("nobody calls `{}`: it is not marked WEIR_ENTRY", pair[1].text);
            found.error(pair[1].at.clone(), message, format!("write: {}", signature(name, function)));
        }
    }
}

/// What code publishes and asks is in the descriptor, and what the descriptor publishes is published.
fn used_topics(file: &Text, listed: &Listed, helped: bool, found: &mut Findings) {
    let mut published = file.mentioned("weir_publish");
    for (function, topic) in PUBLISHING {
        published.extend(file.calls(function).map(|w| Word { text: topic.into(), ..w }));
    }
    let mut asked = file.mentioned("weir_property");
    for (function, topic) in ASKING {
        asked.extend(file.calls(function).map(|w| Word { text: topic.into(), ..w }));
    }
    for (used, list, field, verb) in [
        (&published, &listed.publishes, "publishes", "publishes"),
        (&asked, &listed.asks, "asks", "asks about"),
    ] {
        let Some(list) = list else { continue };
        let mut seen = Vec::new();
        for w in used {
            if list.iter().any(|l| l.text == w.text) || seen.contains(&w.text) {
                continue;
            }
            let message = format!("its descriptor does not say that it {verb} {}, which this does", w.text);
            found.error(w.at.clone(), message, format!("add it: .{field} = WEIR_TOPIC_BIT({})", w.text));
            seen.push(w.text.clone());
        }
    }
    let by_variable = file.calls("weir_publish").count() > file.mentioned("weir_publish").len();
    if !helped && !by_variable {
        for w in listed.publishes.iter().flatten().filter(|w| !published.iter().any(|p| p.text == w.text)) {
            let message =
                format!("its descriptor says that it publishes {}, but nothing in the file does", w.text);
            let help = format!("publish it with weir_publish(), or take {} out", w.text);
            found.0.push(Finding { at: w.at.clone(), message, help, warning: false, late: true });
        }
    }
    if let (Some(needs), Some(asks)) = (&listed.needs, &listed.asks) {
        for w in needs.iter().filter(|w| !asks.iter().any(|a| a.text == w.text)) {
            let help = format!("add it: .asks = WEIR_TOPIC_BIT({})", w.text);
            found.error(w.at.clone(), format!("it needs {}, which it does not ask", w.text), help);
        }
    }
}

/// A component includes nothing but the headers of the framework.
fn includes(text: &str, found: &mut Findings) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let file = line.trim_start().strip_prefix('#').and_then(|l| l.trim_start().strip_prefix("include"));
        if let Some(file) = file.map(str::trim)
            && !file.starts_with("<weir/")
        {
            let start = at + line.find(file).unwrap_or(0);
            let message = format!("a component cannot include {file}");
            let help =
                "it has <weir/component.h> and the other headers of <weir/…>; there is no C library".into();
            found.error(start..start + file.len(), message, help);
        }
        at += line.len();
    }
}

/// How an entry point is declared.
pub fn signature(name: &str, function: &str) -> String {
    let Some(e) = ENTRIES
        .iter()
        .find(|e| if e.by_topic { function.starts_with(e.function) } else { function == e.function })
    else {
        return String::new();
    };
    let result = if e.void { "void" } else { e.result };
    let arguments: String = e.declared(name).iter().map(|a| format!(", {a}")).collect();
    format!("WEIR_ENTRY {result} {name}_{function}(struct {name} weir_mem *self{arguments})")
}

impl Entry {
    /// The arguments after the instance as a component declares them.
    pub(crate) fn declared(&self, name: &str) -> Vec<String> {
        match self.name {
            "take_state" => vec![format!("struct {name} weir_mem *old")],
            "answer" => vec!["struct weir_msg *msg".into()],
            "on" => vec!["const struct weir_msg *msg".into()],
            _ => self.args.iter().map(|(d, _)| d.trim_end_matches(" weir_arg").to_owned()).collect(),
        }
    }
}

/// A hint at the name that was probably meant.
fn nearest(word: &str, all: &[&str]) -> String {
    weir_text::suggest::nearest(word, all.iter().copied())
        .map_or_else(|| format!("there are: {}", all.join(", ")), |near| format!("did you mean `{near}`?"))
}

/// The text with comments and the contents of strings and characters blanked, byte for byte; macros' line ends stay.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut i = 0;
    let mut wipe = |range: Range<usize>| {
        for b in &mut out[range] {
            if *b != b'\n' {
                *b = b' ';
            }
        }
    };
    while i < bytes.len() {
        let rest = &bytes[i..];
        if rest.starts_with(b"/*") {
            let end = find(bytes, i + 2, b"*/").map_or(bytes.len(), |e| e + 2);
            wipe(i..end);
            i = end;
        } else if rest.starts_with(b"//") {
            let end = find(bytes, i, b"\n").unwrap_or(bytes.len());
            wipe(i..end);
            i = end;
        } else if rest[0] == b'"' || rest[0] == b'\'' {
            let quote = rest[0];
            let mut end = i + 1;
            while end < bytes.len() && bytes[end] != quote && bytes[end] != b'\n' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            let end = end.min(bytes.len());
            wipe(i + 1..end);
            i = (end + 1).min(bytes.len());
        } else {
            i += 1;
        }
    }
    // Only whole comments and strings were replaced, by ASCII.
    String::from_utf8_lossy(&out).into_owned()
}

fn find(bytes: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let from = from.min(bytes.len());
    bytes[from..].windows(what.len()).position(|w| w == what).map(|p| from + p)
}

/// The identifiers of a blanked text.
fn words(text: &str) -> impl Iterator<Item = Word> + '_ {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text[at..].find(is_word)?;
            let end = text[start..].find(|c| !is_word(c)).map_or(text.len(), |e| start + e);
            at = end;
            if !text[start..].starts_with(|c: char| c.is_ascii_digit()) {
                return Some(Word { text: text[start..end].to_owned(), at: start..end });
            }
        }
    })
}

/// What stands between the parentheses that open at or after `from`.
fn argument_list(text: &str, from: usize) -> Option<Range<usize>> {
    let blanks = text[from..].len() - text[from..].trim_start().len();
    let open = from + blanks;
    if !text[open..].starts_with('(') {
        return None;
    }
    let mut depth = 0usize;
    for (i, c) in text[open..].char_indices() {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(open + 1..open + i);
        }
    }
    None
}

/// The arguments of a list, as they are separated by commas outside of parentheses.
fn arguments(text: &str, list: &Range<usize>) -> Vec<Range<usize>> {
    let (mut depth, mut start, mut all) = (0usize, list.start, Vec::new());
    for (i, c) in text[list.clone()].char_indices() {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                all.push(start..list.start + i);
                start = list.start + i + 1;
            }
            _ => {}
        }
    }
    all.push(start..list.end);
    all
}

fn params(plain: &str) -> Vec<Param> {
    words(plain)
        .filter(|w| w.text == "WEIR_PARAM")
        .filter_map(|w| {
            let list = argument_list(plain, w.at.end)?;
            let all = arguments(plain, &list);
            let field = words(&plain[all.get(1)?.clone()]).next()?;
            let from = all[1].start;
            let said = |i: usize| {
                all.get(i).map(|a| plain[a.clone()].split_whitespace().collect::<Vec<_>>().join(" "))
            };
            Some(Param {
                field: Word { at: from + field.at.start..from + field.at.end, ..field },
                range: [said(3)?, said(4)?, said(5)?],
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPICS: [&str; 6] = ["PRIORITY", "AFFINITY", "TICK", "PREEMPT", "WITHHELD", "KICK"];
    const GOOD: &str = r#"/* Says struct x { nothing. */
#include <weir/component.h>

struct mine {
	struct weir_instance inst;
	u64 scale; /* (c) */
};

WEIR_COMPONENT(mine, .summary = "say, (nothing)", .cls = WEIR_ORDER, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .listens = WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(TICK), .asks = WEIR_TOPIC_BIT(PRIORITY),
	       .reviews = WEIR_TOPIC_BIT(PRIORITY), .hears = WEIR_HEARS_LEFT,
	       .publishes = WEIR_TOPIC_BIT(PREEMPT), .per_task = sizeof(u64),
	       WEIR_PARAMS(mine, WEIR_PARAM(mine, scale, COUNT, 1, 1, 1000, "how much, (at most)")));

WEIR_ENTRY u32 mine_step(struct mine weir_mem *self, u32 what, struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	u64 weir_mem *p = weir_priv(&self->inst, t);

	if (what == WEIR_LEFT)
		return 0;
	*p = weir_property(self->inst.sched, WEIR_TOPIC_PRIORITY, t);
	return weir_place_urgent(s, *p);
}

WEIR_ENTRY int mine_on_tick(struct mine weir_mem *self, const struct weir_msg *msg)
{
	return 0;
}
"#;

    #[test]
    fn nothing_is_found_where_nothing_is_wrong() {
        assert_eq!(check("mine", GOOD, &TOPICS, &["other"]), []);
        let file = Text::of(GOOD);
        assert_eq!(file.params[0].field.text, "scale");
        assert_eq!(file.params[0].range, ["1", "1", "1000"].map(String::from));
    }

    #[test]
    fn each_mistake_is_one_finding_at_its_place() {
        for (old, new, at, message) in [
            ("COMPONENT(mine,", "COMPONENT(yours,", "yours", "is called `yours`, and its file `mine.c`"),
            ("struct weir_instance inst;", "u64 x;", "u64 x", "does not begin with its instance"),
            ("struct weir_instance inst;\n", "", "u64 scale", "does not begin with its instance"),
            ("struct mine {", "struct its {", "mine", "its state, `struct mine`, is missing"),
            (".per_task = sizeof(u64),", "", "weir_priv", "private memory of a task is used"),
            (
                ".publishes = WEIR_TOPIC_BIT(PREEMPT),",
                "",
                "weir_place_urgent",
                "not say that it publishes PREEMPT",
            ),
            (
                " .asks = WEIR_TOPIC_BIT(PRIORITY),",
                "",
                "WEIR_TOPIC_PRIORITY",
                "not say that it asks about PRIORITY",
            ),
            ("BIT(PREEMPT)", "BIT(PREEMPT) | WEIR_TOPIC_BIT(KICK)", "KICK", "but nothing in the file does"),
            ("BIT(TICK)", "BIT(TOCK)", "TOCK", "there is no topic `TOCK`"),
            (" | WEIR_TOPIC_BIT(TICK)", "", "mine_on_tick", "not say that it listens to TICK"),
            (
                "BIT(TICK)",
                "BIT(TICK) | WEIR_TOPIC_BIT(AFFINITY)",
                "AFFINITY",
                "no function `mine_on_affinity`",
            ),
            (".reviews = WEIR_TOPIC_BIT(PRIORITY),", "", "PRIORITY", "no function `mine_on_priority`"),
            (
                ".reviews = WEIR_TOPIC_BIT(PRIORITY)",
                ".reviews = WEIR_TOPIC_BIT(AFFINITY)",
                "AFFINITY",
                "reviews tasks on AFFINITY, to which it does not listen",
            ),
            (".hears = WEIR_HEARS_LEFT,", "", "WEIR_LEFT", "does not say that its step hears WEIR_LEFT"),
            ("mine_step(", "mine_stp(", "mine_stp", "there is no entry point `stp`"),
            ("mine_on_tick(", "mine_follow_tick(", "mine_follow_tick", "interface before 1.0"),
            ("mine_step(", "mine_update(", "mine_update", "interface before 1.0"),
            (
                ".hears = ",
                ".change_kinds = ",
                "WEIR_HEARS_LEFT",
                "`.change_kinds` is of the component interface",
            ),
            ("mine_on_tick(", "mine_on_tack(", "mine_on_tack", "there is no topic `TACK`"),
            ("int mine_on_tick(", "int on_tick(", "on_tick", "does not begin with `mine_`"),
            ("WEIR_ENTRY u32 mine_step", "static u32 mine_step", "mine_step", "not marked WEIR_ENTRY"),
            (" .cls = WEIR_ORDER,", "", "mine", "does not say its class"),
            ("<weir/component.h>", "<stdio.h>", "<stdio.h>", "cannot include <stdio.h>"),
        ] {
            let text = GOOD.replacen(old, new, 1);
            assert_ne!(text, GOOD, "{old}");
            let found = check("mine", &text, &TOPICS, &[]);
            let first = found.iter().find(|f| f.message.contains(message));
            let first = first.unwrap_or_else(|| panic!("{new}: {found:?}"));
            assert_eq!(&text[first.at.clone()], at, "{new}");
            assert!(!first.help.is_empty());
        }
        let own = GOOD.replacen("struct mine {", "#define WEIR_TOPIC_MOOD WEIR_OWN(0)\n\nstruct mine {", 1);
        let own = own.replacen(".asks = WEIR_TOPIC_BIT(PRIORITY)", ".asks = WEIR_TOPIC_BIT(MOOD)", 1);
        let good = own.replace("WEIR_TOPIC_PRIORITY, t", "weir_topic(&self->inst, WEIR_TOPIC_MOOD), t");
        assert_eq!(check("mine", &good, &TOPICS, &[]), []);
        let bad = own.replace("WEIR_TOPIC_PRIORITY, t", "WEIR_TOPIC_MOOD, t");
        let found = check("mine", &bad, &TOPICS, &[]);
        assert!(found.len() == 1 && found[0].message.contains("own number"), "{found:?}");
        let found = check("mine", GOOD, &TOPICS, &["mine"]);
        assert!(found.len() == 1 && found[0].message.contains("already"), "{found:?}");
        assert!(check("mine", "int x;\n", &TOPICS, &[])[0].message.contains("describes no component"));
    }

    #[test]
    fn any_text_is_looked_at_without_harm() {
        for end in (0..GOOD.len()).step_by(7) {
            check("mine", &GOOD[..end], &TOPICS, &[]);
            check("mine", &GOOD[end..], &TOPICS, &[]);
        }
        check("mine", "WEIR_COMPONENT(mine, \"ä\\", &TOPICS, &[]);
    }

    #[test]
    fn entry_points_are_declared_as_the_manual_says() {
        assert_eq!(
            signature("x", "step"),
            "WEIR_ENTRY u32 x_step(struct x weir_mem *self, u32 what, struct weir_task weir_mem *t, struct weir_step weir_mem *s)"
        );
        assert_eq!(
            signature("x", "take_state"),
            "WEIR_ENTRY void x_take_state(struct x weir_mem *self, struct x weir_mem *old)"
        );
        assert_eq!(signature("x", "on_idle"), "WEIR_ENTRY int x_on_idle(struct x weir_mem *self, u32 cpu)");
    }
}
