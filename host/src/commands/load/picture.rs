//! The report as a picture: an SVG for light and dark pages.

use super::report::{Level, Report};
use super::statistics::Measure;
use super::table::time;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::error::Error;
use std::ops::Range;

const WIDTH: u32 = 760;
const PANEL: u32 = 300;
const HEAD: u32 = 36;

/// The colours of the levels: the palette of Okabe and Ito without its black and yellow, which colour-blind readers can
/// distinguish, on black as on white.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// A style sheet that replaces the colours on a dark page.
const DARK: &str = "<style>svg{background:#fff}@media(prefers-color-scheme:dark){svg{background:#16181d}\
                    [fill=\"#FFFFFF\"]{fill:#16181d}[fill=\"#000000\"]{fill:#e6e6e6}\
                    [stroke=\"#000000\"]{stroke:#9aa0a6}[stroke=\"#DDDDDD\"]{stroke:#3a3f47}}</style>";

const GRID: RGBColor = RGBColor(0xDD, 0xDD, 0xDD);

type Drawn<T> = Result<T, Box<dyn Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws latencies by percentile and level, and the turns and events a second of each level.
pub(super) fn draw(report: &Report, target: &str) -> Drawn<String> {
    let measures = [Measure::Delivery, Measure::FirstEvent, Measure::Turn];
    let shown: Vec<Measure> = measures
        .into_iter()
        .filter(|measure| {
            report
                .levels
                .iter()
                .any(|level| level.latencies.contains_key(measure))
        })
        .collect();
    let panels = shown.len() + 2;
    let height = HEAD + PANEL * panels as u32;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let root = root.titled(target, ("sans-serif", 16).into_font().color(&BLACK))?;
        let areas = root.split_evenly((panels, 1));
        for (measure, area) in shown.iter().zip(&areas) {
            latencies(area, &report.levels, *measure)?;
        }
        let rates = &areas[shown.len()..];
        rate(&rates[0], "turns a second", &report.levels, |level| {
            level.turns_per_s
        })?;
        rate(&rates[1], "events a second", &report.levels, |level| {
            level.events_per_s
        })?;
        root.present()?;
    }
    // Presentation attributes give way to any style sheet.
    let head = svg.find('>').map_or(0, |end| end + 1);
    svg.insert_str(head, DARK);
    Ok(svg)
}

/// The percentiles of a level with their names, and how many runs there were at once.
type Line = (usize, Vec<(&'static str, f64)>);

fn lines(levels: &[Level], measure: Measure) -> Vec<Line> {
    let lines = levels.iter().filter_map(|level| {
        let times = level.latencies.get(&measure)?;
        // Zero has no logarithm.
        let points = times.percentiles().map(|(name, ms)| (name, ms.max(0.001)));
        Some((level.runs_at_once, points.to_vec()))
    });
    lines.collect()
}

/// Returns whole powers of ten around all points, so that the ends of the axis have labels.
fn decades(lines: &[Line]) -> Range<f64> {
    let all = || {
        lines
            .iter()
            .flat_map(|(_, points)| points.iter().map(|(_, ms)| *ms))
    };
    let low = 10_f64.powf(all().fold(f64::MAX, f64::min).log10().floor());
    let high = 10_f64.powf(all().fold(0.001, f64::max).log10().ceil());
    low..high.max(low * 10.0)
}

/// Draws a line for each level, over the percentiles.
fn latencies(area: &Area<'_>, levels: &[Level], measure: Measure) -> Drawn<()> {
    let lines = lines(levels, measure);
    let names: Vec<&str> = lines[0].1.iter().map(|(name, _)| *name).collect();
    let mut chart = ChartBuilder::on(area)
        .caption(
            format!("{}: latency by percentile", measure.words()),
            ("sans-serif", 15),
        )
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(76)
        // On the right is room for the names of the lines.
        .build_cartesian_2d(-0.2..5.4, decades(&lines).log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .x_labels(6)
        .y_labels(4)
        .x_label_formatter(&|at: &f64| {
            let is_whole = (at - at.round()).abs() < 1e-6;
            let name = names
                .get(at.round() as usize)
                .filter(|_| is_whole && *at >= 0.0);
            name.copied().unwrap_or_default().to_owned()
        })
        .y_label_formatter(&|ms| time(*ms))
        .x_desc("of all that were measured")
        .y_desc("at most, logarithmic")
        .draw()?;
    for (number, (at_once, points)) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let places = points
            .iter()
            .zip(0..)
            .map(|((_, ms), at)| (f64::from(at), *ms));
        chart
            .draw_series(LineSeries::new(places, colour.stroke_width(2)).point_size(3))?
            .label(format!("{at_once} at once"))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .border_style(GRID)
        .draw()?;
    Ok(())
}

/// Draws a bar for each level.
fn rate(area: &Area<'_>, name: &str, levels: &[Level], of: impl Fn(&Level) -> f64) -> Drawn<()> {
    let high = levels.iter().map(&of).fold(0.001, f64::max);
    let last = levels.len() as f64 - 0.4;
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{name}, by runs at once"), ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(76)
        .build_cartesian_2d(-0.6..last, 0.0..high * 1.15)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .y_desc(name)
        .draw()?;
    let style = ("sans-serif", 12).into_font().color(&BLACK);
    let bars = levels.iter().enumerate().map(|(number, level)| {
        let (at, colour) = (number as f64, COLOURS[number % COLOURS.len()]);
        Rectangle::new([(at - 0.3, 0.0), (at + 0.3, of(level))], colour.filled())
    });
    chart.draw_series(bars)?;
    let values = levels.iter().enumerate().map(|(number, level)| {
        let text = format!("{} at once: {:.1}", level.runs_at_once, of(level));
        Text::new(
            text,
            (number as f64 - 0.3, of(level) + high * 0.08),
            style.clone(),
        )
    });
    chart.draw_series(values)?;
    Ok(())
}
