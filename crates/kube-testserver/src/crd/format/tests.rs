use super::*;

#[track_caller]
fn check(format: &str, good: &[&str], bad: &[&str]) {
    let format = Format::parse(format).expect(format);
    for text in good {
        assert!(format.accepts(text), "{format:?} should accept {text:?}");
    }
    for text in bad {
        assert!(!format.accepts(text), "{format:?} should not accept {text:?}");
    }
}

#[test]
fn dates_and_durations() {
    check("date", &["2024-02-29"], &["2023-02-29", "2024-2-1", ""]);
    check(
        "date-time",
        &["2024-01-02T03:04:05Z", "2024-01-02t03:04:05.123+01:00"],
        &["2024-01-02", "2024-01-02T24:00:00Z", "2024-01-02T03:04:05", "x"],
    );
    check("duration", &["1h30m", "-1.5s", "0", "22 seconds", "3d"], &["", "1", "abc", "5 parsecs"]);
}

#[test]
fn addresses() {
    check("ipv4", &["10.0.0.1", "010.0.0.1"], &["10.0.0", "10.0.0.256", "::1"]);
    check("ipv6", &["::1", "fe80::1"], &["10.0.0.1", "g::1"]);
    check("cidr", &["10.0.0.0/8", "fd00::/8"], &["10.0.0.0", "10.0.0.0/33"]);
    check("mac", &["01:23:45:67:89:ab", "0123.4567.89ab", "0123456789ab"], &["01:23:45"]);
    check("hostname", &["localhost", "my-host.example.com"], &["", "-a", "a_b", "a.b.c1", "a.-b.com"]);
    check("email", &["a@b.c", "Ann <a@b.c>"], &["a", "a@", "@b"]);
    check(
        "uri",
        &["http://a/b?c", "/path", "urn:x:y"],
        &["", "a b", "relative/path", "http://a b/", "http://a:b/", "http://a/%zz"],
    );
}

#[test]
fn identifiers() {
    check("uuid", &["6BA7B810-9DAD-11D1-80B4-00C04FD430C8"], &["6ba7b810", "x"]);
    check(
        "uuid4",
        &["6ba7b810-9dad-41d1-80b4-00c04fd430c8"],
        &["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-41d1-c0b4-00c04fd430c8"],
    );
    check("isbn", &["0321751043", "978-0321751041"], &["0321751044"]);
    check("creditcard", &["4111 1111 1111 1111"], &["4111111111111112", "1"]);
    check("ssn", &["111-22-3333"], &["111223333"]);
    check("k8s-short-name", &["a-b"], &["A", "a.b"]);
    check("k8s-long-name", &["a.b"], &["a..b"]);
    check("byte", &["YWJj"], &["", "a", "YWJj YWJj", "====", "YW=j"]);
    check("hexcolor", &["#fff", "00ff00"], &["#ff"]);
}

#[test]
fn unknown_formats_have_no_check() {
    assert_eq!(Format::parse("quantity"), None);
}
