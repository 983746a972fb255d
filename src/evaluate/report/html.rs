//! A report as one HTML file: no script, no request, readable without colour, fit to print.

use super::section::Section;

/// What stands at the head of a page.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// What was evaluated.
    pub title: String,
    /// Name and value of what made it: policy, command, and so on.
    pub facts: Vec<(String, String)>,
}

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#111;background:#fff}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.87rem;font-variant-numeric:tabular-nums}\
th,td{padding:.25rem .6rem;border-bottom:1px solid #999;text-align:left;vertical-align:top}\
thead th{border-bottom:2px solid #111}p{max-width:48rem}\
.side{display:flex;flex-wrap:wrap;gap:1.5rem;align-items:flex-start}.charts{flex:1 1 30rem;min-width:20rem}\
svg{width:100%;height:auto;font:12px system-ui,sans-serif}figure{margin:0 0 1rem}figcaption{font-size:.87rem}\
.line{fill:none;stroke:#111;stroke-width:1.6}.mark{fill:#fff;stroke:#111;stroke-width:1.2}\
.axis{fill:none;stroke:#111}.grid{stroke:#ccc}.end{text-anchor:end}.middle{text-anchor:middle}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dd{margin:0;overflow-wrap:anywhere}\
@media print{body{margin:0;max-width:none;font-size:11px}table,figure{break-inside:avoid}.wide{overflow:visible}}";

/// The page.
pub fn page(head: &Head, sections: &[Section]) -> String {
    let title = escaped(&head.title);
    let facts: String = head
        .facts
        .iter()
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value)))
        .collect();
    let body: String = sections.iter().map(section).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n\
         <dl>\n{facts}</dl>\n{body}</main>\n</body>\n</html>\n"
    )
}

fn section(section: &Section) -> String {
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
    let inner = match charts.as_str() {
        "" => table,
        charts => format!("<div class=\"side\">\n<div class=\"charts\">\n{charts}</div>\n{table}</div>\n"),
    };
    format!("<section>\n<h2>{title}</h2>\n{note}{inner}</section>\n")
}

fn table(section: &Section) -> String {
    if section.rows.is_empty() {
        return "<p>None.</p>\n".to_owned();
    }
    let title = escaped(&section.title);
    let head: String =
        section.heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", escaped(head))).collect();
    let head = if section.heads.iter().all(String::is_empty) {
        String::new()
    } else {
        format!("<thead><tr>{head}</tr></thead>\n")
    };
    let rows: String = section.rows.iter().map(|cells| row(cells)).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table>\n{head}<tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn row(cells: &[String]) -> String {
    let cell = |(place, text): (usize, &String)| match place {
        0 => format!("<th scope=\"row\">{}</th>", escaped(text)),
        _ => format!("<td>{}</td>", escaped(text)),
    };
    let cells: String = cells.iter().enumerate().map(cell).collect();
    format!("<tr>{cells}</tr>\n")
}

/// Text that cannot become markup.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
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
    fn the_page_asks_nobody_for_anything() {
        let page = page(&Head::default(), &[]);
        for word in ["http:", "https:", "src=", "href=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
