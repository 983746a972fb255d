//! Line charts as inline SVG: told apart by dashes, markers and names, not by colour.

use std::fmt::Write;

use super::html::escaped;

/// A chart with one or more lines over a common axis.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// Name and unit of the horizontal axis.
    pub x: &'static str,
    /// Name and unit of the vertical axis, which begins at 0.
    pub y: &'static str,
    /// The lines.
    pub lines: Vec<Line>,
    /// How the horizontal axis is marked.
    pub across: X,
    /// How the vertical axis is marked.
    pub up: Y,
    /// Each line has a panel of its own, with the same axes: lines that nearly agree would hide each other.
    pub apart: bool,
}

/// What the first coordinate is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum X {
    /// A number.
    #[default]
    Number,
    /// Milliseconds since 1970, told in UTC.
    Time,
}

/// How the second coordinate is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Y {
    /// As it is.
    #[default]
    Even,
    /// By its magnitude: counts of which some are a thousand times others.
    Magnitude,
}

/// One line.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Lengths of dashes and gaps; empty: solid.
    pub dash: &'static str,
    /// Its points, ascending in the first coordinate.
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 280.0;
/// Height of one panel of several.
const PANEL: f64 = 180.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 44.0;

/// Where values lie on the paper.
struct Scale {
    x: (f64, f64),
    y_max: f64,
    up: Y,
    height: f64,
}

impl Chart {
    /// The chart as an `svg` element; nothing when there is no point.
    pub(super) fn svg(&self) -> String {
        let Some(scale) = self.scale() else { return String::new() };
        let title = escaped(&self.title);
        let height = scale.height * self.panels() as f64;
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n"
        );
        let lines: Vec<(usize, &Line)> = self.lines.iter().enumerate().collect();
        for (panel, lines) in lines.chunks(lines.len().div_ceil(self.panels())).enumerate() {
            put(&mut svg, &format!("<g transform=\"translate(0 {:.1})\">", scale.height * panel as f64));
            self.axes(&scale, &mut svg);
            lines
                .iter()
                .enumerate()
                .for_each(|(row, (number, line))| draw(line, (*number, row), &scale, &mut svg));
            put(&mut svg, "</g>");
        }
        svg + "</svg>\n"
    }

    fn panels(&self) -> usize {
        if self.apart { self.lines.len() } else { 1 }
    }

    fn scale(&self) -> Option<Scale> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let low = points().map(|(x, _)| *x).reduce(f64::min)?;
        let high = points().map(|(x, _)| *x).reduce(f64::max)?;
        let top = points().map(|(_, y)| *y).fold(0.0, f64::max);
        let x = if low < high { (low, high) } else { (low - 1.0, high + 1.0) };
        let (up, height) = (self.up, if self.panels() > 1 { PANEL } else { HEIGHT });
        Some(Scale { x, y_max: if top > 0.0 { top } else { 1.0 }, up, height })
    }

    fn axes(&self, scale: &Scale, svg: &mut String) {
        let (bottom, right) = (scale.height - BOTTOM, WIDTH - RIGHT);
        for y in scale.marks() {
            let at = scale.y(y);
            let label = short(y);
            put(
                svg,
                &format!("<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/>"),
            );
            put(
                svg,
                &format!("<text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{label}</text>", LEFT - 6.0, at + 4.0),
            );
        }
        for x in ticks(scale.x.0, scale.x.1) {
            let (at, label) = (scale.x(x), self.across.label(x));
            put(
                svg,
                &format!(
                    "<line class=\"axis\" x1=\"{at:.1}\" y1=\"{bottom}\" x2=\"{at:.1}\" y2=\"{:.1}\"/>",
                    bottom + 4.0
                ),
            );
            put(
                svg,
                &format!("<text x=\"{at:.1}\" y=\"{:.1}\" class=\"middle\">{label}</text>", bottom + 17.0),
            );
        }
        put(svg, &format!("<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>"));
        put(
            svg,
            &format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" class=\"middle\">{}</text>",
                (LEFT + right) / 2.0,
                scale.height - 8.0,
                escaped(self.x)
            ),
        );
        put(svg, &format!("<text x=\"{LEFT}\" y=\"{:.1}\">{}</text>", TOP - 5.0, escaped(self.y)));
    }
}

impl Scale {
    fn x(&self, value: f64) -> f64 {
        LEFT + (value - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        let part = match self.up {
            Y::Even => value / self.y_max,
            Y::Magnitude => libm::log10(1.0 + value) / libm::log10(1.0 + self.y_max),
        };
        TOP + (1.0 - part) * (self.height - BOTTOM - TOP)
    }

    /// Values that are marked on the vertical axis.
    fn marks(&self) -> Vec<f64> {
        match self.up {
            Y::Even => ticks(0.0, self.y_max),
            Y::Magnitude => {
                let powers = (0..16).map(|power| libm::pow(10.0, f64::from(power)));
                std::iter::once(0.0).chain(powers.take_while(|value| *value <= self.y_max)).collect()
            }
        }
    }
}

impl X {
    fn label(self, value: f64) -> String {
        let time = || jiff::Timestamp::from_millisecond(value as i64).ok();
        match (self, time()) {
            (X::Time, Some(time)) => time.strftime("%m-%d %H:%M").to_string(),
            _ => short(value),
        }
    }
}

/// A step line: a threshold between two scores does what the higher one does. `number` tells lines apart, `row` is where its
/// name stands.
fn draw(line: &Line, (number, row): (usize, usize), scale: &Scale, svg: &mut String) {
    let mut path = String::new();
    for (place, (x, y)) in line.points.iter().enumerate() {
        let (x, y) = (scale.x(*x), scale.y(*y));
        let step = if place == 0 { format!("M{x:.1} {y:.1}") } else { format!("V{y:.1}H{x:.1}") };
        path.push_str(&step);
    }
    put(svg, &format!("<path class=\"line\" stroke-dasharray=\"{}\" d=\"{path}\"/>", line.dash));
    let every = line.points.len().div_ceil(8).max(1);
    for (x, y) in line.points.iter().step_by(every) {
        put(svg, &marker(number, scale.x(*x), scale.y(*y)));
    }
    let (x, y) = (WIDTH - RIGHT + 12.0, TOP + 14.0 + 22.0 * row as f64);
    put(svg, &format!("<path class=\"line\" stroke-dasharray=\"{}\" d=\"M{x:.1} {y:.1}h26\"/>", line.dash));
    put(svg, &marker(number, x + 13.0, y));
    let (name, shown) = (escaped(&line.name), escaped(&fitting(&line.name)));
    put(
        svg,
        &format!("<text x=\"{:.1}\" y=\"{:.1}\"><title>{name}</title>{shown}</text>", x + 32.0, y + 4.0),
    );
}

/// As much of a name as fits beside the chart: of a path its end.
fn fitting(name: &str) -> String {
    const MOST: usize = 16;
    let count = name.chars().count();
    if count <= MOST {
        return name.to_owned();
    }
    let end: String = name.chars().skip(count + 1 - MOST).collect();
    format!("\u{2026}{end}")
}

/// Circle, square, triangle, in turn.
fn marker(number: usize, x: f64, y: f64) -> String {
    match number % 3 {
        0 => format!("<circle class=\"mark\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"),
        1 => format!(
            "<rect class=\"mark\" x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\"/>",
            x - 3.0,
            y - 3.0
        ),
        _ => format!("<path class=\"mark\" d=\"M{x:.1} {:.1}l4 7h-8z\"/>", y - 4.0),
    }
}

/// Round values from `low` to `high`, about five.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = libm::pow(10.0, libm::floor(libm::log10(rough)));
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let (first, last) = (libm::ceil(low / step - 1e-9) as i64, libm::floor(high / step + 1e-9) as i64);
    (first..=last).map(|number| number as f64 * step).collect()
}

/// A number with as many digits as a tick needs.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn put(svg: &mut String, element: &str) {
    writeln!(svg, "{element}").expect("memory takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(0.0, 100.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(-100.0, 25.0), [-100.0, -50.0, 0.0]);
        assert_eq!(
            ticks(0.0, 0.02).iter().map(|tick| short(*tick)).collect::<Vec<_>>(),
            ["0", "0.005", "0.01", "0.015", "0.02"]
        );
    }

    #[test]
    fn magnitudes_are_marked_by_powers_of_ten() {
        let scale = Scale { x: (0.0, 1.0), y_max: 2500.0, up: Y::Magnitude, height: HEIGHT };
        assert_eq!(scale.marks(), [0.0, 1.0, 10.0, 100.0, 1000.0]);
        assert!((scale.y(0.0) - (HEIGHT - BOTTOM)).abs() < 1e-9 && (scale.y(2500.0) - TOP).abs() < 1e-9);
        assert_eq!(X::Time.label(1_749_988_800_000.0), "06-15 12:00");
    }

    /// Two lines that agree: each is drawn in a panel of its own, at the same place within it.
    #[test]
    fn lines_apart_hide_nothing() {
        let line = |name: &str| Line { name: name.into(), dash: "", points: vec![(0.0, 1.0), (2.0, 4.0)] };
        let chart = Chart { lines: vec![line("now"), line("then")], apart: true, ..Chart::default() };
        let svg = chart.svg();
        assert!(svg.contains("viewBox=\"0 0 720 360\""), "{svg}");
        let panels: Vec<&str> = svg.split("<g transform=").skip(1).collect();
        assert!(
            panels[0].starts_with("\"translate(0 0.0)\"") && panels[1].starts_with("\"translate(0 180.0)\"")
        );
        let drawn = |panel: &str| {
            panel
                .split("<path class=\"line\"")
                .nth(1)
                .and_then(|path| path.split("/>").next().map(str::to_owned))
        };
        assert!(drawn(panels[0]).is_some_and(|path| path.contains("d=\"M56.0 ")));
        assert_eq!(drawn(panels[0]), drawn(panels[1]));
        let together = Chart { apart: false, ..chart }.svg();
        assert_eq!((together.matches("<g ").count(), together.contains("0 0 720 280")), (1, true));
    }

    #[test]
    fn of_a_long_name_the_end_is_shown() {
        assert_eq!(fitting("config/candidate"), "config/candidate");
        assert_eq!(fitting("/etc/weir/config/policy"), "\u{2026}r/config/policy");
    }

    #[test]
    fn nothing_gives_no_chart_and_one_point_does() {
        assert_eq!(Chart::default().svg(), "");
        let line = Line { name: "a<b".into(), dash: "", points: vec![(3.0, 0.0)] };
        let svg = Chart { title: "t".into(), x: "x", y: "y", lines: vec![line], ..Chart::default() }.svg();
        assert!(svg.contains("a&lt;b") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
