//! How many elements each list in a text has, known before the first of them is decoded.

use super::text;

/// Nothing is counted that is deeper than this: it is not decoded either.
const MOST_NESTED: usize = 128;

/// So many lists are counted at a time, so that counting takes little memory whatever the text is.
const MOST_AT_ONCE: usize = 1 << 14;

/// The lists of a text, counted where somebody asks.
///
/// Serde asks how long a list is before it makes room for it, and JSON does not say. So the elements are counted ahead:
/// those of a list, and those of all lists in it at the same time, so that no byte is looked at twice. A count is a
/// hint: it is too low where there are [very many](MOST_AT_ONCE) lists in one, and whatever is wrong with the text is the
/// decoder's to find.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// What has been counted last: a list and all that are in it, in the order in which they begin.
    counted: Vec<List>,
    /// The first of those that has not been asked for.
    next: usize,
    /// Behind the last byte that was looked at.
    end: usize,
    /// While counting, what is open: for each bracket the list that it begins, or none for a brace.
    open: Vec<Option<usize>>,
}

#[derive(Clone, Copy, Debug)]
struct List {
    /// Where it begins.
    at: usize,
    /// Its elements.
    len: usize,
}

impl Lists {
    /// The number of elements of the list that begins here. Lists are asked for in the order in which they begin.
    pub(super) fn len_at(&mut self, text: &[u8], at: usize) -> usize {
        if at >= self.end {
            self.count(text, at);
        }
        // Those between have been passed over.
        while let Some(list) = self.counted.get(self.next) {
            if list.at >= at {
                return if list.at == at { list.len } else { 0 };
            }
            self.next += 1;
        }
        0
    }

    /// Counts the list that begins here, and all in it.
    fn count(&mut self, text: &[u8], begin: usize) {
        self.counted.clear();
        self.open.clear();
        self.next = 0;
        let mut at = begin;
        while let Some(byte) = text.get(at)
            && self.open.len() <= MOST_NESTED
            && self.counted.len() <= MOST_AT_ONCE
        {
            at += 1;
            match byte {
                b'"' => at += text.get(at..).and_then(text::end).map_or(text.len(), |end| end + 1),
                b'[' => {
                    self.open.push(Some(self.counted.len()));
                    self.counted.push(List { at: at - 1, len: usize::from(!is_empty(&text[at..])) });
                }
                b'{' => self.open.push(None),
                b',' => {
                    if let Some(Some(list)) = self.open.last() {
                        self.counted[*list].len += 1;
                    }
                }
                b']' | b'}' => {
                    self.open.pop();
                    if self.open.is_empty() {
                        break;
                    }
                }
                _ => {}
            }
        }
        self.end = at;
    }
}

/// A list has no elements.
fn is_empty(behind_bracket: &[u8]) -> bool {
    behind_bracket.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b']')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the lists behind these keys.
    fn lens(text: &str, keys: &[&str]) -> Vec<usize> {
        let mut lists = Lists::default();
        let at = |key: &&str| {
            let key = text.find(&format!("\"{key}\"")).unwrap();
            key + text[key..].find('[').unwrap()
        };
        keys.iter().map(|key| lists.len_at(text.as_bytes(), at(key))).collect()
    }

    #[test]
    fn lists_are_counted_however_they_lie_in_one_another() {
        let text = r#"{"none": [ ] ,"one":[{"two":["],\"[",[]],"x":{"three" : [1,2,3]}}],"word":"[1,2","last":[null]}"#;
        assert_eq!(lens(text, &["none", "one", "two", "three", "last"]), [0, 1, 2, 3, 1]);
    }

    #[test]
    fn a_list_that_nobody_asked_for_is_passed_over() {
        let text = r#"{"a":[{"b":[1,2]},{"c":[[],[]]},{"d":[1,2,3]}],"e":[[1,2],3],"f":[1,2]}"#;
        assert_eq!(lens(text, &["a", "d", "f"]), [3, 3, 2]);
    }

    #[test]
    fn counting_takes_little_memory_whatever_the_text_is() {
        for many in ["[".repeat(1 << 20), format!("[{}1]", "[],".repeat(1 << 18))] {
            let mut lists = Lists::default();
            for (at, _) in many.match_indices('[') {
                lists.len_at(many.as_bytes(), at);
            }
            assert!(lists.counted.capacity() <= 2 * MOST_AT_ONCE && lists.open.capacity() <= 2 * MOST_NESTED);
            assert!(lists.end > many.rfind('[').unwrap(), "all of it was looked at");
        }
    }

    #[test]
    fn lists_behind_very_many_others_are_counted_too() {
        let text = format!("[{}[1,2,3]]", "[7],".repeat(3 * MOST_AT_ONCE));
        let mut lists = Lists::default();
        let lens: Vec<usize> =
            text.match_indices('[').map(|(at, _)| lists.len_at(text.as_bytes(), at)).collect();
        assert!(lens[0] >= MOST_AT_ONCE, "as far as it was counted: {}", lens[0]);
        assert!(lens[1..=3 * MOST_AT_ONCE].iter().all(|len| *len == 1));
        assert_eq!(lens.last(), Some(&3));
    }

    #[test]
    fn text_that_breaks_off_is_counted_as_far_as_it_goes() {
        for text in [r#"{"a":[1,2"#, r#"{"a":[1,"\"#, r#"{"a":[1,["#, r#"{"a":[1,"x"#] {
            assert_eq!(lens(text, &["a"]), [2], "{text}");
        }
        assert_eq!(Lists::default().len_at(b"[1]", 7), 0);
    }
}
