//! Durations as kubectl prints them: short, with two figures at most.

use jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// How long ago something happened; `<unknown>` if it is not known when.
pub(super) fn age(now: Timestamp, then: Option<Timestamp>) -> String {
    match then {
        Some(then) => duration(seconds_between(then, now)),
        None => "<unknown>".to_owned(),
    }
}

/// The seconds from one time to another, with the fraction cut off.
pub(super) fn seconds_between(from: Timestamp, to: Timestamp) -> i64 {
    to.duration_since(from).as_secs()
}

/// A duration in seconds. Clocks may differ by a second; beyond that, the future is `<invalid>`.
pub(super) fn duration(seconds: i64) -> String {
    let (minutes, hours, days, years) = (seconds / MINUTE, seconds / HOUR, seconds / DAY, seconds / YEAR);
    let with_rest = |number: i64, unit: char, rest: i64, rest_unit: char| match rest {
        0 => format!("{number}{unit}"),
        rest => format!("{number}{unit}{rest}{rest_unit}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if minutes < 10 => with_rest(minutes, 'm', seconds % MINUTE, 's'),
        _ if hours < 3 => format!("{minutes}m"),
        _ if hours < 8 => with_rest(hours, 'h', minutes % 60, 'm'),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => with_rest(days, 'd', hours % 24, 'h'),
        _ if days < 2 * 365 => format!("{days}d"),
        _ if years < 8 => with_rest(years, 'y', days % 365, 'd'),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_get_coarser_with_length() {
        for (seconds, text) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (130, "2m10s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 5 * MINUTE, "3h5m"),
            (8 * HOUR + 5 * MINUTE, "8h"),
            (47 * HOUR, "47h"),
            (48 * HOUR, "2d"),
            (50 * HOUR, "2d2h"),
            (8 * DAY + HOUR, "8d"),
            (729 * DAY, "729d"),
            (730 * DAY, "2y"),
            (800 * DAY, "2y70d"),
            (8 * YEAR + DAY, "8y"),
        ] {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn an_unknown_time_has_no_age() {
        let now = Timestamp::constant(1_700_000_000, 0);
        assert_eq!(age(now, None), "<unknown>");
        assert_eq!(age(now, Some(Timestamp::constant(1_699_999_990, 0))), "10s");
    }
}
