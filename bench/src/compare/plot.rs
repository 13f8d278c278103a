//! Plots as SVG, for a page that is read on a light and on a dark screen: a plot brings its own light ground.

const WIDTH: f64 = 720.0;
/// A plot with many bars or labels gets higher, one with few bars lower.
const HEIGHT: f64 = 420.0;
const MARGIN: f64 = 16.0;
/// From one line of text to the next.
const LEADING: f64 = 15.0;
/// What is below a plot: labels and title of its axis.
const FOOT: f64 = 52.0;
const GRID: [&str; 2] = [r##"stroke="#eff2f5""##, r##"stroke="#d8dee4""##];
const INK: &str = r##"fill="#24292f""##;
const PALE: &str = r##"fill="#57606a""##;

/// Whose figures a series shows; fixes colour, dash and marker, so that a reader finds the same contender in all plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Style {
    Ours,
    OursDecoded,
    ClientGo,
    KubeRs,
    /// The client that discards what it reads. A single point is drawn as a line across the plot.
    Limit,
}

/// A line and its label. Points are joined in the order of x.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) style: Style,
    pub(super) label: String,
    pub(super) points: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    Log,
}

/// Chooses how ticks and values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Count,
    Seconds,
    Bytes,
}

pub(super) struct Axis {
    pub(super) title: String,
    pub(super) scale: Scale,
    pub(super) unit: Unit,
}

/// Lines with a label at the right end of each.
pub(super) struct Lines {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
}

/// Groups of horizontal bars: one group a category, one bar a series, which has its values in the order of the categories.
pub(super) struct Bars {
    pub(super) title: String,
    pub(super) value: Axis,
    pub(super) categories: Vec<String>,
    pub(super) series: Vec<(Style, String, Vec<Option<f64>>)>,
}

impl Style {
    /// Returns the colour (of Okabe and Ito), how wide a line is, its dashes; what fills a marker, and its outline.
    fn look(self) -> [&'static str; 5] {
        match self {
            Style::Ours => ["#0072b2", "3", "none", "#0072b2", "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0"],
            Style::OursDecoded => ["#56b4e9", "2", "8 3", "#fff", "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"],
            Style::ClientGo => ["#d55e00", "2", "none", "#d55e00", "m-3-3h6v6h-6z"],
            Style::KubeRs => ["#009e73", "2", "10 3 2 3", "#009e73", "m0-4l3.5 6.5h-7z"],
            Style::Limit => ["#6e7781", "1.5", "4 4", "none", ""],
        }
    }

    fn stroke(self) -> String {
        let [colour, width, dashes, ..] = self.look();
        format!(r#"fill="none" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dashes}""#)
    }
}

impl Lines {
    pub(super) fn svg(&self) -> String {
        let mut series = self.series.clone();
        for one in &mut series {
            one.points.retain(|&(x, y)| self.x.shows(x) && self.y.shows(y));
            one.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        series.retain(|one| !one.points.is_empty());
        // Ours last, so that it lies above the others.
        series.sort_by_key(|one| std::cmp::Reverse(one.style));
        let mut sheet = Sheet::new(&self.title);
        let points = || series.iter().flat_map(|one| &one.points);
        let x = Ruler::new(&self.x, points().map(|point| point.0), false);
        let y = Ruler::new(&self.y, points().map(|point| point.1), self.y.scale == Scale::Linear);
        let (Some(mut x), Some(mut y)) = (x, y) else { return sheet.without_data(&self.title) };
        let labels: Vec<Vec<String>> = series.iter().map(|one| wrap(&one.label, 165.0)).collect();
        let heights: Vec<f64> = labels.iter().map(|lines| lines.len() as f64 * LEADING + 4.0).collect();
        sheet.text((MARGIN, sheet.top + 7.0), PALE, std::slice::from_ref(&self.y.title));
        let top = sheet.top + 27.0;
        let bottom = (HEIGHT - FOOT).max(top + heights.iter().sum::<f64>());
        (y.start, y.end) = (bottom, top);
        x.start = MARGIN + widest(y.ticks.iter().flat_map(|tick| &tick.1)) + 8.0;
        x.end = WIDTH - MARGIN - widest(labels.iter().flatten()) - 44.0;
        for (value, label) in &y.ticks {
            let at = y.at(*value);
            sheet.path(&[(x.start, at), (x.end, at)], "", GRID[usize::from(label.is_some())]);
            sheet.text((x.start - 8.0, at), &format!(r#"{PALE} text-anchor="end""#), label.as_slice());
        }
        x.draw_below(&mut sheet, top, bottom);
        let last = points().map(|point| x.at(point.0)).fold(0.0, f64::max);
        let wanted: Vec<_> = series.iter().flat_map(|one| one.points.last()).map(|end| y.at(end.1)).collect();
        let middles = spread(&wanted, &heights, top, bottom);
        for (index, Series { style, points, .. }) in series.iter().enumerate() {
            let mut path: Vec<_> = points.iter().map(|point| (x.at(point.0), y.at(point.1))).collect();
            if *style == Style::Limit && path.len() == 1 {
                path = [x.start, x.end].map(|end| (end, wanted[index])).to_vec();
            }
            let swatch = [10.0, 22.0, 34.0].map(|after| (x.end + after, middles[index]));
            let [colour, _, _, fill, outline] = style.look();
            // From the end of the line to its label, but not through the plot: there it would look like figures.
            if let Some(&end) = path.last().filter(|end| end.0 > last - 1.0) {
                sheet.path(&[end, swatch[0]], "", &format!(r#"stroke="{colour}" stroke-opacity="0.5""#));
            }
            sheet.path(&path, "", &style.stroke());
            sheet.path(&swatch, "", &style.stroke());
            let attributes = format!(r#"fill="{fill}" stroke="{colour}" stroke-width="2""#);
            for &at in path.iter().chain([&swatch[1]]).filter(|_| !outline.is_empty()) {
                sheet.path(&[at], outline, &attributes);
            }
            sheet.text((x.end + 40.0, middles[index]), INK, &labels[index]);
        }
        sheet.finish(&self.title, bottom + FOOT)
    }
}

impl Bars {
    pub(super) fn svg(&self) -> String {
        let shown = |value: &f64| *value >= 0.0 && self.value.shows(*value);
        let mut groups = Vec::new();
        for (index, category) in self.categories.iter().enumerate() {
            let value = |values: &[Option<f64>]| values.get(index).copied().flatten().filter(shown);
            let bars = self.series.iter().filter_map(|one| Some((one.0, value(&one.2)?)));
            groups.push((wrap(category, 170.0), bars.collect::<Vec<_>>()));
        }
        groups.retain(|group| !group.1.is_empty());
        let mut sheet = Sheet::new(&self.title);
        let bars = || groups.iter().flat_map(|group| &group.1);
        let x = Ruler::new(&self.value, bars().map(|bar| bar.1), true);
        let Some(mut x) = x else { return sheet.without_data(&self.title) };
        let mut at = MARGIN;
        for (style, label, _) in self.series.iter().filter(|one| one.2.iter().flatten().any(shown)) {
            if at > MARGIN && at + 18.0 + width(label) > WIDTH - MARGIN {
                (at, sheet.top) = (MARGIN, sheet.top + 18.0);
            }
            sheet.bar(*style, (at, sheet.top + 1.0), (12.0, 12.0));
            sheet.text((at + 18.0, sheet.top + 7.0), INK, std::slice::from_ref(label));
            at += width(label) + 36.0;
        }
        let top = sheet.top + 26.0;
        let written = |value: f64| number(self.value.unit, value, value, false);
        let room = bars().map(|bar| width(&written(bar.1))).fold(0.0, f64::max);
        let names = widest(groups.iter().flat_map(|group| &group.0));
        (x.start, x.end) = (MARGIN + names + 10.0, WIDTH - MARGIN - room - 6.0);
        let (gap, mut y) = (12.0, top);
        let spare = HEIGHT - FOOT - top - gap * groups.len() as f64;
        let pitch = (spare / bars().count() as f64).clamp(LEADING, 34.0);
        let high = |group: &(Vec<_>, Vec<_>)| gap + group.0.len().max(group.1.len()) as f64 * pitch;
        let bottom = top + groups.iter().map(high).sum::<f64>();
        x.draw_below(&mut sheet, top, bottom);
        for group in &groups {
            let middle = y + high(group) / 2.0;
            sheet.text((x.start - 10.0, middle), &format!(r#"{INK} text-anchor="end""#), &group.0);
            for (nth, &(style, value)) in group.1.iter().enumerate() {
                let bar = middle + (nth as f64 - group.1.len() as f64 / 2.0) * pitch;
                sheet.bar(style, (x.start, bar + 1.0), (x.at(value) - x.start, pitch - 2.0));
                sheet.text((x.at(value) + 5.0, bar + pitch / 2.0), INK, &[written(value)]);
            }
            y += high(group);
        }
        sheet.finish(&self.title, bottom + FOOT)
    }
}

impl Axis {
    fn shows(&self, value: f64) -> bool {
        value.abs() < 1e30 && (self.scale == Scale::Linear || value > 1e-30)
    }
}

/// An axis that knows the range of its values, and where on the sheet that lies.
struct Ruler<'a> {
    axis: &'a Axis,
    start: f64,
    end: f64,
    /// Where grid lines go, from the first to the last value of the range; the minor ones have no label.
    ticks: Vec<(f64, Option<String>)>,
}

impl<'a> Ruler<'a> {
    /// `based`: the values are lengths; a linear range has zero in it, a log range begins below all of them.
    fn new(axis: &'a Axis, values: impl Iterator<Item = f64>, based: bool) -> Option<Self> {
        let both = values.map(|value| (value, value));
        let (low, high) = both.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))?;
        let ticks = match axis.scale {
            Scale::Linear if based => linear(low.min(0.0), high.max(0.0), axis.unit),
            Scale::Linear => linear(low, high, axis.unit),
            Scale::Log => log(if based { low / 1.5 } else { low }, high, axis.unit),
        };
        Some(Self { axis, start: 0.0, end: 0.0, ticks })
    }

    fn at(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.axis.scale == Scale::Log { value.log10() } else { value };
        let [(low, _), .., (high, _)] = &*self.ticks else { return self.start };
        let part = (scaled(value) - scaled(*low)) / (scaled(*high) - scaled(*low));
        self.start + part * (self.end - self.start)
    }

    /// Draws grid lines from `top` to `bottom`, their labels and the title of a horizontal axis.
    fn draw_below(&self, sheet: &mut Sheet, top: f64, bottom: f64) {
        let ink = format!(r#"{PALE} text-anchor="middle""#);
        for (value, label) in &self.ticks {
            let at = self.at(*value);
            sheet.path(&[(at, top), (at, bottom)], "", GRID[usize::from(label.is_some())]);
            sheet.text((at, bottom + 14.0), &ink, label.as_slice());
        }
        let middle = (self.start.midpoint(self.end), bottom + 33.0);
        sheet.text(middle, &ink, std::slice::from_ref(&self.axis.title));
    }
}

/// Chooses steps of 1, 2 or 5.
fn linear(low: f64, high: f64, unit: Unit) -> Vec<(f64, Option<String>)> {
    let high = if low == 0.0 && high == 0.0 { 1.0 } else { high };
    let largest = high.abs().max(low.abs());
    let pad = if high - low <= largest * 1e-9 { largest / 2.0 } else { 0.0 };
    let (low, high) = (low - pad, high + pad);
    let rough = (high - low) / 6.001;
    let decade = 10f64.powf(rough.log10().floor());
    let step = decade * [1.0, 2.0, 5.0].into_iter().find(|one| one * decade >= rough).unwrap_or(10.0);
    let (first, last) = ((low / step + 1e-9).floor() as i64, (high / step - 1e-9).ceil() as i64);
    let values = (first..=last).map(|index| index as f64 * step);
    values.map(|value| (value, Some(number(unit, value, largest, true)))).collect()
}

/// Labels decades, and 2 and 5 too if there are few decades.
fn log(low: f64, high: f64, unit: Unit) -> Vec<(f64, Option<String>)> {
    let decade = |value: f64| value.log10().floor() as i32;
    let steps = |power: i32| [1, 2, 5].map(|digit| (power, digit, f64::from(digit) * 10f64.powi(power)));
    let all: Vec<_> = (decade(low) - 1..=decade(high) + 1).flat_map(steps).collect();
    let first = all.partition_point(|one| one.2 <= low * 1.000_001) - 1;
    let last = all.partition_point(|one| one.2 < high * 0.999_999).max(first + 1);
    let decades = all[first..=last].iter().filter(|one| one.1 == 1).count();
    let tick = |&(power, digit, value): &(i32, i32, f64)| {
        let labelled = decades < 3 || (digit == 1 && power % (decades as i32 / 9 + 1) == 0);
        (value, labelled.then(|| number(unit, value, value, true)))
    };
    all[first..=last].iter().map(tick).collect()
}

/// Writes a value in the prefix that suits `like`. A tick is a round number and is written in full.
fn number(unit: Unit, value: f64, like: f64, tick: bool) -> String {
    let prefixes: &[(f64, &str)] = match unit {
        Unit::Count => &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")],
        Unit::Seconds => &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")],
        Unit::Bytes => &[(1e12, " TB"), (1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")],
    };
    // What would be rounded to 1000 of one prefix is 1 of the next.
    let fitting = prefixes.iter().find(|one| like.abs() >= one.0 * 0.9995).or(prefixes.last());
    let &(size, name) = fitting.unwrap_or(&(1.0, ""));
    let scaled = value / size;
    let digits = if tick { 9 } else { (1.0 - scaled.abs().log10().floor()).clamp(0.0, 9.0) as usize };
    let text = format!("{scaled:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "0" { text.to_owned() } else { format!("{text}{name}") }
}

fn escape(text: &str) -> String {
    // XML has no way to write control characters.
    let text = text.replace(|char: char| char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}'), " ");
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// Estimates for a wide font: what a reader's system has is not known here.
fn width(text: &str) -> f64 {
    let one = |char: char| match char {
        'i' | 'j' | 'l' | 'I' | ' ' | '.' | ',' | ':' | 'f' | 'r' | 't' | '(' | ')' | '/' | '-' => 4.8,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 11.6,
        'A'..='Z' | '\u{80}'.. => 8.7,
        _ => 7.6,
    };
    text.chars().map(one).sum()
}

fn widest<'a>(texts: impl Iterator<Item = &'a String>) -> f64 {
    texts.map(|text| width(text)).fold(0.0, f64::max)
}

/// Breaks between words; a word that is too long for a line has one for itself.
fn wrap(text: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + width(" ") + width(word) <= room => line.extend([" ", word]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Moves labels apart so that none lies on another; returns their middles.
fn spread(wanted: &[f64], heights: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut middles = wanted.to_vec();
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let (mut above, mut below) = (top, bottom);
    for &one in &order {
        middles[one] = middles[one].max(above + heights[one] / 2.0);
        above = middles[one] + heights[one] / 2.0;
    }
    for &one in order.iter().rev() {
        middles[one] = middles[one].min(below - heights[one] / 2.0);
        below = middles[one] - heights[one] / 2.0;
    }
    middles
}

/// What has been drawn so far.
struct Sheet {
    body: String,
    /// Where there is room below the title.
    top: f64,
}

impl Sheet {
    fn new(title: &str) -> Self {
        let mut sheet = Self { body: String::new(), top: 18.0 };
        let attributes = format!(r#"{INK} font-size="16" font-weight="600""#);
        // Widths are those of 12-pixel text: a title is wider.
        for line in wrap(title, (WIDTH - 2.0 * MARGIN) * 0.7) {
            sheet.text((MARGIN, sheet.top + 7.0), &attributes, &[line]);
            sheet.top += 21.0;
        }
        sheet
    }

    /// Writes lines of text around a middle.
    fn text(&mut self, (x, middle): (f64, f64), attributes: &str, lines: &[String]) {
        for (nth, line) in lines.iter().enumerate() {
            let y = middle + (nth as f64 - (lines.len() as f64 - 1.0) / 2.0) * LEADING + 4.0;
            let line = escape(line);
            self.body.push_str(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{line}</text>\n"));
        }
    }

    /// Joins points, and appends an outline at the last.
    fn path(&mut self, points: &[(f64, f64)], outline: &str, attributes: &str) {
        let all: Vec<_> = points.iter().map(|at| format!("{:.1} {:.1}", at.0, at.1)).collect();
        self.body.push_str(&format!("<path d=\"M{}{outline}\" {attributes}/>\n", all.join("L")));
    }

    fn bar(&mut self, style: Style, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let fill = format!(r#"fill="{}""#, style.look()[0]);
        let attributes = if style == Style::Limit { style.stroke() } else { fill };
        self.path(&[(x, y)], &format!("h{width:.1}v{height:.1}h-{width:.1}z"), &attributes);
    }

    fn without_data(mut self, title: &str) -> String {
        self.text((WIDTH / 2.0 - 24.0, HEIGHT / 2.0), PALE, &["no data".to_owned()]);
        self.finish(title, HEIGHT)
    }

    fn finish(self, title: &str, height: f64) -> String {
        let (title, body, height, inner) = (escape(title), self.body, height.ceil(), height.ceil() - 1.0);
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"
 role="img" aria-label="{title}" font-size="12"
 font-family="-apple-system,BlinkMacSystemFont,'Segoe UI',Helvetica,Arial,sans-serif">
<title>{title}</title>
<rect x="0.5" y="0.5" width="719" height="{inner}" rx="8" fill="#fff" stroke="#d0d7de"/>
{body}</svg>
"##
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale) -> Axis {
        Axis { title: "a < b & c".to_owned(), scale, unit: Unit::Seconds }
    }

    fn lines(points: &[(f64, f64)]) -> String {
        let one = Series { style: Style::ClientGo, label: "'one'".to_owned(), points: points.to_vec() };
        let (x, y) = (axis(Scale::Linear), axis(Scale::Log));
        Lines { title: "<x>".to_owned(), x, y, series: vec![one] }.svg()
    }

    #[test]
    fn texts_are_escaped() {
        let svg = lines(&[(1.0, 1.0)]);
        let texts = [">a &lt; b &amp; c<", ">&#39;one&#39;<", "aria-label=\"&lt;x&gt;\""];
        assert!(texts.iter().all(|text| svg.contains(text)), "{svg}");
    }

    #[test]
    fn ticks_are_round_and_values_short() {
        let texts = |ticks: Vec<(f64, Option<String>)>| ticks.into_iter().filter_map(|tick| tick.1);
        let labels = |ticks| texts(ticks).collect::<Vec<_>>().join(",");
        assert_eq!(labels(linear(0.0, 1.1e9, Unit::Bytes)), "0,0.2 GB,0.4 GB,0.6 GB,0.8 GB,1 GB,1.2 GB");
        assert_eq!(labels(linear(0.1, 0.12, Unit::Count)), "0.1,0.105,0.11,0.115,0.12");
        assert_eq!(labels(log(3e-6, 4e-2, Unit::Seconds)), "10 µs,100 µs,1 ms,10 ms");
        assert_eq!(labels(log(1e3, 1e3, Unit::Count)), "1k,2k");
        let written = [999.96e3, 1234.0, 0.0123, 0.0].map(|value| number(Unit::Count, value, value, false));
        assert_eq!(written, ["1M", "1.2k", "0.012", "0"]);
    }

    #[test]
    fn zero_on_a_log_scale_and_what_is_not_finite_is_left_out() {
        let svg = lines(&[(1.0, 0.0), (2.0, -1.0), (f64::NAN, 1.0), (4.0, f64::INFINITY), (5.0, 1.0)]);
        assert_eq!(svg.matches("h6v6h-6z").count(), 2, "a point and the swatch: {svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf") && lines(&[(1.0, 0.0)]).contains("no data"));
    }

    #[test]
    fn labels_do_not_overlap() {
        let middles = spread(&[90.0, 10.0, 91.0, 12.0], &[20.0, 20.0, 30.0, 20.0], 0.0, 100.0);
        assert_eq!(middles, [60.0, 10.0, 85.0, 30.0]);
    }

    #[test]
    fn bars_without_a_value_are_left_out() {
        let categories = ["first", "second"].map(str::to_owned).to_vec();
        let series = [(Style::Ours, "ours", 2.0), (Style::KubeRs, "theirs", 0.0)];
        let series = series.map(|one| (one.0, one.1.to_owned(), vec![None, Some(one.2)])).to_vec();
        let svg = Bars { title: String::new(), value: axis(Scale::Log), categories, series }.svg();
        assert!([">2 s<", ">second<", ">ours<"].iter().all(|text| svg.contains(text)), "{svg}");
        assert!(!svg.contains("first") && !svg.contains("theirs"), "{svg}");
    }
}
