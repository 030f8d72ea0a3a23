//! The report as text, drawn by the compiler's own renderer.

use std::io::IsTerminal;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::{Access, Place, Report, Tier, between, cause, source, words};
use crate::trace::shown::{clean, visible};

/// How the text is to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// With terminal colours.
    pub colour: bool,
    /// With drawn lines instead of ASCII.
    pub unicode: bool,
    /// Line numbers as `LL`, for snapshots.
    pub anonymous_lines: bool,
    /// The terminal's width.
    pub width: usize,
    /// What was predicted fails the test: it is an error.
    pub denied: bool,
}

impl Style {
    /// No colour, ASCII only.
    pub const fn plain() -> Style {
        Style {
            colour: false,
            unicode: false,
            anonymous_lines: false,
            width: 140,
            denied: false,
        }
    }

    /// Colour on a terminal, unless `NO_COLOR` is set to anything, `CI` says that nobody is
    /// watching, or the terminal is a dumb one.
    pub fn detect(stream: &impl IsTerminal) -> Style {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let off = |name| matches!(std::env::var(name).as_deref(), Ok("0" | "false" | "off"));
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colour = stream.is_terminal() && !set("NO_COLOR") && (!set("CI") || off("CI")) && !dumb;
        Style {
            colour,
            ..Style::plain()
        }
    }

    #[allow(deprecated, reason = "the new name is not in versions for Rust 1.85")]
    fn renderer(&self) -> Renderer {
        let renderer = if self.colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        renderer
            .decor_style(if self.unicode {
                DecorStyle::Unicode
            } else {
                DecorStyle::Ascii
            })
            .term_width(self.width)
            .anonymized_line_numbers(self.anonymous_lines)
    }
}

/// The report as text, ending with a newline.
pub fn render(report: &Report, style: &Style) -> String {
    let others = Vec::new();
    render_group(&cause::Group { report, others }, style)
}

/// Reports with one cause as text, ending with a newline: the first, and where the others were.
pub fn render_group(group: &cause::Group<'_>, style: &Style) -> String {
    let report = group.report;
    let level = match report.tier {
        _ if style.denied => Level::ERROR,
        Tier::Observed => Level::ERROR,
        Tier::Predicted => Level::WARNING,
        Tier::Potential => Level::NOTE,
    };
    let mut groups = vec![headline(group, level)];
    groups.extend(report.accesses.iter().map(|access| told(report, access)));
    for access in report
        .accesses
        .iter()
        .filter(|access| !access.backtrace.is_empty())
    {
        groups.push(stack(access));
    }
    if !report.schedule.is_empty() {
        let title = Level::NOTE.secondary_title("a schedule that shows it");
        let lines = clean_each(&report.schedule);
        groups.push(Group::with_title(title).element(Level::NOTE.no_name().message(lines)));
    }
    for (i, help) in report.help.iter().enumerate() {
        // The first is the advice; the rest are other ways.
        let level = if i == 0 {
            Level::HELP
        } else {
            Level::HELP.with_name(Some("also"))
        };
        groups.push(Group::with_title(level.secondary_title(clean(help))));
    }
    let mut text = style.renderer().render(&groups);
    text.push('\n');
    text
}

fn clean_each(lines: &[String]) -> String {
    let lines: Vec<_> = lines.iter().map(|line| clean(line)).collect();
    lines.join("\n")
}

fn headline<'a>(same: &cause::Group<'a>, level: Level<'a>) -> Group<'a> {
    let report = same.report;
    let mut group = Group::with_title(level.primary_title(clean(&report.message)));
    if let Some(blamed) = report.blamed() {
        let block = blamed.block.as_ref().and_then(|block| block.place.as_ref());
        let place = block.or(blamed.place.as_ref());
        group = located(
            group,
            report,
            place,
            blamed.begin,
            Some("this block is meant to happen in one piece".into()),
        );
    }
    group = group.element(Level::NOTE.message(clean(&report.explanation)));
    if !report.chain.is_empty() {
        let lines = clean_each(&report.chain);
        group = group.element(Level::NOTE.message(format!("the cycle:\n{lines}")));
    }
    for transaction in report
        .transactions
        .iter()
        .filter(|transaction| transaction.panicked)
    {
        let block = transaction
            .block
            .as_ref()
            .map_or("", |block| block.name.as_str());
        group = group.element(Level::NOTE.message(clean(&format!(
            "a panic left transaction `{block}` on thread `{}`: what it had written by then stays",
            transaction.strand
        ))));
    }
    if let Some(missing) = report.window.as_ref().and_then(|window| window.missing) {
        group = group.element(Level::NOTE.message(format!(
            "events {} to {} are not on the page of this report: the window had room for {} bytes only (`AERODROME_WINDOW`)",
            missing.from, missing.to, missing.bytes
        )));
    }
    if let Some(test) = &report.test {
        group = group.element(Level::NOTE.message(clean(&format!("in test `{test}`"))));
    }
    if report.repeats > 0 {
        let times = if report.repeats == 1 {
            "once more".to_string()
        } else {
            format!("{} more times", report.repeats)
        };
        let what = match report.tier {
            Tier::Observed => "happened",
            Tier::Predicted | Tier::Potential => "was found",
        };
        group = group.element(Level::NOTE.message(format!("the same {what} {times}")));
    }
    if !same.others.is_empty() {
        group = group.element(Level::NOTE.message(clean_each(&others(&same.others))));
    }
    group
}

/// How many other reports with the same cause are named.
const NAMED: usize = 4;

/// Where the other reports with one cause were.
fn others(reports: &[&Report]) -> Vec<String> {
    let (named, rest) = reports.split_at(reports.len().min(NAMED));
    let mut lines = vec![match reports.len() {
        1 => "one more violation has the same blocks and objects:".to_owned(),
        count => format!("{count} more violations have the same blocks and objects:"),
    }];
    lines.extend(named.iter().map(|report| between(report)));
    if !rest.is_empty() {
        lines.push(format!("and {} more", rest.len()));
    }
    lines
}

fn told<'a>(report: &'a Report, access: &'a Access) -> Group<'a> {
    let title = format!("({}) {}", access.number, words::told(report, access));
    let mut group = Group::with_title(Level::NOTE.secondary_title(clean(&title)));
    group = located(
        group,
        report,
        access.place.as_ref(),
        Some(access.position),
        None,
    );
    // The first access of an object says where it comes from, unless its name says enough.
    let first = report
        .accesses
        .iter()
        .find(|other| other.object == access.object)
        .is_some_and(|first| first.number == access.number);
    if let Some(object) = report.object_of(access).filter(|_| first) {
        let type_name = object
            .type_name
            .as_deref()
            .filter(|_| object.name.is_some());
        let type_name = type_name.map(|name| format!("`{}`", words::short_type(name)));
        let made = object
            .created
            .as_ref()
            .map(|place| format!("created at {place}"));
        let what: Vec<String> = type_name.into_iter().chain(made).collect();
        if !what.is_empty() {
            let label = words::object_label(report, access);
            group =
                group.element(Level::NOTE.message(clean(&format!("{label}: {}", what.join(", ")))));
        }
    }
    group
}

fn located<'a>(
    group: Group<'a>,
    report: &'a Report,
    place: Option<&'a Place>,
    position: Option<u64>,
    label: Option<String>,
) -> Group<'a> {
    let (file, line, column) = match place {
        Some(Place::Source { file, line, column }) => (file, *line, *column),
        // Who has only a trace finds the event by its position.
        other => {
            let event = position.map(|position| format!("event {position}"));
            let label = other.map(|place| clean(&place.to_string()));
            let words: Vec<String> = event.into_iter().chain(label).collect();
            return if words.is_empty() {
                group
            } else {
                group.element(Origin::path(words.join(", ")))
            };
        }
    };
    match report.line(file, line) {
        Some(text) => {
            let text = visible(text);
            let span = source::span(&text, column);
            let mut annotation: Annotation<'a> = AnnotationKind::Primary.span(span);
            if let Some(label) = label {
                annotation = annotation.label(label);
            }
            group.element(
                Snippet::source(text)
                    .line_start(line as usize)
                    .path(clean(file))
                    .annotation(annotation),
            )
        }
        None => group.element(
            Origin::path(clean(file))
                .line(line as usize)
                .char_column(column as usize),
        ),
    }
}

fn stack(access: &Access) -> Group<'_> {
    let mut lines = Vec::new();
    for (i, frame) in access.backtrace.iter().enumerate() {
        let mut line = format!("{i}: {}", clean(&frame.function));
        if let Some(place) = &frame.place {
            line.push_str(&format!("\n     at {}", clean(&place.to_string())));
        }
        lines.push(line);
    }
    Group::with_title(Level::NOTE.secondary_title(format!("the stack of ({})", access.number)))
        .element(Level::NOTE.no_name().message(lines.join("\n")))
}
