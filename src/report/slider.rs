//! A threshold that the reader moves: what lies at or above it is counted again, and examples near it are shown.

use serde::Serialize;

use super::html::escaped;

/// See the module. Without a script nothing of it is shown: the section's table has the same figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Slider {
    /// What is moved.
    #[serde(skip)]
    pub label: String,
    /// Its unit.
    pub unit: &'static str,
    /// Where it stands at first.
    #[serde(skip)]
    pub start: i32,
    /// What is counted.
    pub series: Vec<String>,
    /// How many of each series have a score, for each score that occurs, ascending.
    pub bins: Vec<(i32, Vec<u64>)>,
    /// Names of the columns of the examples.
    pub heads: Vec<String>,
    /// Examples by score, ascending.
    pub examples: Vec<(i32, Vec<String>)>,
}

impl Slider {
    /// The element; nothing when nothing is counted. `number` tells several on a page apart.
    pub(super) fn html(&self, number: usize) -> String {
        let (Some((low, _)), Some((high, _))) = (self.bins.first(), self.bins.last()) else {
            return String::new();
        };
        // Nothing in it can end the element it stands in.
        let data =
            serde_json::to_string(self).expect("text and numbers can be written").replace('<', "\\u003c");
        let label = escaped(&self.label);
        let (start, high) = (self.start.clamp(*low, high.saturating_add(1)), high.saturating_add(1));
        let table = |caption: &str| {
            format!("<table><caption>{caption}</caption><thead></thead><tbody></tbody></table>")
        };
        format!(
            "<div class=\"slider\" hidden>\n<label for=\"slider-{number}\">{label}</label>\n\
             <input type=\"range\" id=\"slider-{number}\" min=\"{low}\" max=\"{high}\" step=\"1\" value=\"{start}\">\n\
             <output for=\"slider-{number}\" aria-live=\"polite\"></output>\n{}\n{}\n\
             <script type=\"application/json\">{data}</script>\n</div>\n",
            table("Counted"),
            table("A sample of accounts just above it"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_leave_its_element() {
        let slider = Slider {
            label: "l".into(),
            bins: vec![(1, vec![2])],
            series: vec!["</script><script>alert(1)".into()],
            ..Slider::default()
        };
        let html = slider.html(0);
        assert_eq!(html.matches("</script>").count(), 1, "{html}");
        assert_eq!(html.matches("<script").count(), 1, "{html}");
        assert_eq!(Slider::default().html(0), "");
    }
}
