// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The HTML pages: self-contained, and safe against names that look like markup.

use crate::support::{Step, meta, play};
use weir_core::event::{Event, Observer};
use weir_report::{CompareExtras, Gantt, HtmlExtras, Meta, Metrics, Summary, html, html_compare};

const EVIL: &str = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\"'&";

fn history() -> Vec<Step> {
    (0..400u32).map(|i| ((i * 7 % 12) as u8, (i * 11) as u8, (i % 13) as u16, (i * 31) as u16)).collect()
}

fn run(meta: Meta) -> (Summary, Gantt) {
    let mut observers = (Metrics::new(meta), Gantt::default());
    let end = play(&history(), &mut observers).end;
    observers.event(end, &Event::TaskNew { task: 5, name: EVIL, group: EVIL });
    observers.event(end, &Event::Ready { task: 5, wakeup: true });
    observers.event(
        end,
        &Event::Run { task: 5, cpu: 0, migrated: false, switched: true, wakeup: true, waited_ns: 0 },
    );
    observers.event(end, &Event::Marker { text: EVIL });
    let (metrics, mut gantt) = observers;
    gantt.finish(end + 50);
    (metrics.finish(end + 50), gantt)
}

/// What a browser would take for the page's elements: names in start tags outside of the scripts.
fn check(page: &str) {
    assert_eq!(page.matches("<script").count(), 2, "one element with data, one with code");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img"));
    let begin = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let data = &page[begin..begin + page[begin..].find("</script>").unwrap()];
    serde_json::from_str::<serde_json::Value>(data).expect("the data element is JSON");
}

#[test]
fn hostile_names_stay_text() {
    let names = Meta {
        topology: EVIL.into(),
        machine: EVIL.into(),
        workload: EVIL.into(),
        cpu_names: vec![EVIL.into()],
        pipes: vec![EVIL.into()],
        instances: vec![EVIL.into()],
        ..meta()
    };
    let (summary, gantt) = run(names);
    let extras = HtmlExtras {
        graph_svg: Some(format!("<svg>{EVIL}</svg>")),
        gantt: Some(gantt),
        ..HtmlExtras::default()
    };
    let page = html(&summary, &extras);
    let data = page.find("id=\"data\">").unwrap();
    assert!(page[..data].contains("&lt;script&gt;alert(1)"), "the title shows the name as it is");
    check(&page);
    assert!(!page.contains(EVIL));
    let compared = html_compare(
        &[summary.clone(), summary],
        &CompareExtras {
            reports: vec!["a/report.html".into(), EVIL.into()],
            timelines: vec![vec![[500, 20, 10]; 4]],
        },
    );
    check(&compared);
    assert!(!compared.contains(EVIL));
}

#[test]
fn nothing_comes_from_the_network() {
    let (summary, gantt) = run(meta());
    let page = html(&summary, &HtmlExtras { graph_svg: None, gantt: Some(gantt), ..HtmlExtras::default() });
    let begin = page.find("id=\"data\">").unwrap();
    let end = begin + page[begin..].find("</script>").unwrap();
    let page = format!("{}{}", &page[..begin], &page[end..]).replace("http://www.w3.org/2000/svg", "");
    for network in ["http:", "https:", "src=", "@import", "url(", "fetch("] {
        assert!(!page.contains(network), "the page must not refer to {network}");
    }
}

#[test]
fn equal_runs_give_equal_pages() {
    let make = || {
        let (summary, gantt) = run(meta());
        html(&summary, &HtmlExtras { graph_svg: None, gantt: Some(gantt), ..HtmlExtras::default() })
    };
    assert!(make() == make());
}

#[test]
fn a_run_without_anything_has_a_page() {
    check(&html(&Summary::default(), &HtmlExtras::default()));
    check(&html_compare(&[], &CompareExtras::default()));
    check(&html_compare(&[Summary::default()], &CompareExtras::default()));
}

#[test]
fn headline_is_there_without_a_script() {
    let (mut summary, _) = run(meta());
    summary.interrupted = true;
    let page = html(&summary, &HtmlExtras::default());
    let body = &page[page.find("<body>").unwrap()..page.find("id=\"data\">").unwrap()];
    for want in
        ["<h1>toy <span>on</span> smp-3</h1>", "jobs done", "CPUs busy", "Interrupted", "runweir 0.0.0"]
    {
        assert!(body.contains(want), "{want} is missing in {body}");
    }
}
