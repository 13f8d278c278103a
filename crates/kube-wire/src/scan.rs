//! Finding where a JSON value ends, without understanding it.

/// What the scanner found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// The value ends before this place.
    End(usize),
    /// The bytes end before the value does.
    More,
    /// The value is nested too deep.
    TooDeep,
    /// This byte cannot be there.
    Bad(usize),
}

/// Finds the end of one value, over as many pieces as it takes.
///
/// It trusts that strings are closed and brackets are balanced, and leaves everything else to the decoder: a value
/// whose end it finds may still be wrong inside.
#[derive(Debug)]
pub(crate) struct Scanner {
    depth: usize,
    limit: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the value.
    Start,
    /// Inside arrays or objects, outside strings.
    Nested,
    /// Inside a string, at whatever depth.
    Text,
    /// Behind a backslash in a string.
    Escape,
    /// Inside a number or a word at depth 0, which only what follows can end.
    Bare,
}

impl Scanner {
    pub(crate) fn new(depth_limit: usize) -> Self {
        Self { depth: 0, limit: depth_limit, state: State::Start }
    }

    /// Looks at the bytes that follow those of the last call.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Scanned {
        let mut at = 0;
        while at < bytes.len() {
            match self.state {
                State::Text => {
                    // Most bytes of an object are inside strings: this is the fast way through them.
                    let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) else {
                        return Scanned::More;
                    };
                    at += found + 1;
                    if bytes[at - 1] == b'\\' {
                        self.state = State::Escape;
                    } else if self.depth == 0 {
                        return Scanned::End(at);
                    } else {
                        self.state = State::Nested;
                    }
                }
                State::Escape => {
                    at += 1;
                    self.state = State::Text;
                }
                State::Start => match bytes[at] {
                    b' ' | b'\t' | b'\n' | b'\r' => at += 1,
                    b'"' => {
                        at += 1;
                        self.state = State::Text;
                    }
                    b'{' | b'[' => self.state = State::Nested,
                    b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => self.state = State::Bare,
                    _ => return Scanned::Bad(at),
                },
                State::Nested => {
                    match bytes[at] {
                        b'"' => self.state = State::Text,
                        b'{' | b'[' => {
                            self.depth += 1;
                            if self.depth > self.limit {
                                return Scanned::TooDeep;
                            }
                        }
                        b'}' | b']' => {
                            self.depth -= 1;
                            if self.depth == 0 {
                                return Scanned::End(at + 1);
                            }
                        }
                        _ => {}
                    }
                    at += 1;
                }
                State::Bare => match bytes[at] {
                    b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r' => return Scanned::End(at),
                    _ => at += 1,
                },
            }
        }
        Scanned::More
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_value_is_found_wherever_the_bytes_are_cut() {
        for (text, end) in [
            (r#"{"a":[1,{"b":"}]"}],"c":"\"}"} ,"#, 30),
            (r#"  "te\\xt\"" ,"#, 12),
            ("[[],{}]]", 7),
            ("-12.5e3,", 7),
            (" true}", 5),
            ("null]", 4),
        ] {
            let bytes = text.as_bytes();
            for cut in 0..=bytes.len() {
                let mut scanner = Scanner::new(10);
                let found = match scanner.scan(&bytes[..cut]) {
                    Scanned::More => match scanner.scan(&bytes[cut..]) {
                        Scanned::End(at) => Scanned::End(cut + at),
                        other => other,
                    },
                    found => found,
                };
                assert_eq!(found, Scanned::End(end), "{text} cut at {cut}");
            }
        }
    }

    #[test]
    fn depth_is_limited_and_nonsense_is_refused() {
        assert_eq!(Scanner::new(3).scan(b"[[[["), Scanned::TooDeep);
        assert_eq!(Scanner::new(3).scan(b"[[[]]]"), Scanned::End(6));
        assert_eq!(Scanner::new(3).scan(b" }"), Scanned::Bad(1));
    }
}
