//! A report as one HTML file: no request, readable without colour and without a script, fit to print.

use super::csp::content_security;
use super::section::Section;

/// What stands at the head of a page.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// What was evaluated.
    pub title: String,
    /// Name and value of what made it: policy, command, and so on.
    pub facts: Vec<(String, String)>,
}

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page. It has a script only where a section has rows to sort or a threshold to move.
pub fn page(head: &Head, sections: &[Section]) -> String {
    let title = escaped(&head.title);
    let facts: String = head
        .facts
        .iter()
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value)))
        .collect();
    let body: String = sections.iter().enumerate().map(|(number, part)| section(number, part)).collect();
    let script = sections.iter().any(Section::moves).then_some(SCRIPT);
    let security = content_security(STYLE, script);
    let script = script.map(|script| format!("<script>{script}</script>\n")).unwrap_or_default();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{security}\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n\
         <dl>\n{facts}</dl>\n{body}</main>\n{script}</body>\n</html>\n"
    )
}

fn section(number: usize, section: &Section) -> String {
    let note = match section.note.as_str() {
        "" => String::new(),
        note => format!("<p>{}</p>\n", escaped(note)),
    };
    let title = escaped(&section.title);
    let table = table(section);
    let charts: String = section
        .charts
        .iter()
        .map(|chart| (chart, chart.svg()))
        .filter(|(_, svg)| !svg.is_empty())
        .map(|(chart, svg)| {
            format!("<figure>\n{svg}<figcaption>{}</figcaption>\n</figure>\n", escaped(&chart.title))
        })
        .collect();
    let slider = section.slider.as_ref().map(|slider| slider.html(number)).unwrap_or_default();
    let inner = match charts.as_str() {
        "" => table,
        charts => format!("<div class=\"side\">\n<div class=\"charts\">\n{charts}</div>\n{table}</div>\n"),
    };
    format!("<section>\n<h2>{title}</h2>\n{note}{slider}{inner}</section>\n")
}

fn table(section: &Section) -> String {
    if section.rows.is_empty() {
        return "<p>None.</p>\n".to_owned();
    }
    let title = escaped(&section.title);
    let head = |head: &String| {
        let class = if head.chars().count() > SHORT / 2 { " class=\"words\"" } else { "" };
        format!("<th scope=\"col\"{class}>{}</th>", escaped(head))
    };
    let head: String = section.heads.iter().map(head).collect();
    let head = if section.heads.iter().all(String::is_empty) {
        String::new()
    } else {
        format!("<thead><tr>{head}</tr></thead>\n")
    };
    let rows: String = section.rows.iter().map(|cells| row(cells)).collect();
    let class = if section.sortable { " class=\"sortable\"" } else { "" };
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table{class}>\n{head}<tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// Up to so many characters a cell is one line: a table that is wider than its page is scrolled, and would break them first.
const SHORT: usize = 32;

fn row(cells: &[String]) -> String {
    let cell = |(place, text): (usize, &String)| {
        let class = if text.chars().count() > SHORT { " class=\"long\"" } else { "" };
        match place {
            0 => format!("<th scope=\"row\"{class}>{}</th>", escaped(text)),
            _ => format!("<td{class}>{}</td>", escaped(text)),
        }
    };
    let cells: String = cells.iter().enumerate().map(cell).collect();
    format!("<tr>{cells}</tr>\n")
}

/// Text that cannot become markup.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() || turns(c) => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Marks that turn the direction of writing: what stands behind them would be read as something else.
fn turns(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_data_says_cannot_become_markup() {
        let head = Head { title: "<script>".into(), facts: vec![("a".into(), "\"&'".into())] };
        let part = Section::table("t<", &["h>"], vec![vec!["<img src=x>".into(), "b".into()]]).noted("n&");
        let page = page(&head, &[part]);
        for bad in ["<script", "<img", "\"&'", "t<<", "h></th>"] {
            assert!(!page.contains(bad), "{bad} in {page}");
        }
        assert!(page.contains("&lt;img src=x&gt;") && page.contains("<p>n&amp;</p>"));
    }

    #[test]
    fn what_is_short_stays_on_one_line() {
        let cells = ["speaker (140)".to_owned(), "x".repeat(33)];
        assert_eq!(
            row(&cells),
            format!("<tr><th scope=\"row\">speaker (140)</th><td class=\"long\">{}</td></tr>\n", cells[1])
        );
    }

    #[test]
    fn what_turns_writing_round_is_not_shown() {
        assert_eq!(escaped("a\u{202e}b\u{2066}"), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn a_page_has_a_script_where_something_moves() {
        let still = Section::table("t", &["h"], vec![vec!["1".into()]]);
        assert!(!page(&Head::default(), std::slice::from_ref(&still)).contains("<script"));
        let page = page(&Head::default(), &[still.sortable()]);
        assert!(page.contains("<table class=\"sortable\">") && page.contains("script-src 'sha256-"));
    }

    #[test]
    fn the_page_asks_nobody_for_anything() {
        let moving = Section::table("t", &["h"], vec![vec!["1".into()]]).sortable();
        let page = page(&Head::default(), &[moving]);
        for word in ["http:", "https:", "src=", "href=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
