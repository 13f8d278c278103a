//! Values from JSON, for types that serde can make.
//!
//! A decoder of our own, because two things are wanted that serde_json does not do: fields that nobody wants are passed
//! over before a type sees them, and every list says how long it is before it is made, so that it takes no more memory than
//! it needs. What is rare is left to serde_json: strings with escapes, and numbers that are no integers of few digits. No type is:
//! serde_json's errors would have the value in them.

mod access;
mod decoder;
mod lists;
mod pass;
mod read;
mod text;

use serde::de::DeserializeOwned;

use crate::object::DecodeOptions;
use crate::value::Error;
pub(crate) use access::{Elements, Members};
pub(crate) use decoder::Decoder;

/// Decodes one object from all of a text.
pub(crate) fn from_text<K: DeserializeOwned + 'static>(
    text: &str,
    options: DecodeOptions,
) -> Result<K, Error> {
    all_of(text, |json| json.object(options))
}

/// Decodes all of a text. An error says where in it something is wrong.
pub(crate) fn all_of<'de, T>(
    text: &'de str,
    decode: impl FnOnce(&mut Decoder<'de>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut json = Decoder::new(text);
    let decoded = decode(&mut json).and_then(|value| json.end().map(|()| value));
    decoded.map_err(|error| error.at(text, json.at()))
}

/// Where in an object the decoder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the object.
    Object,
    /// At its metadata.
    Metadata,
    /// Elsewhere, where nothing is hidden.
    Inside,
}

impl Place {
    fn of(options: DecodeOptions) -> Self {
        if options.keep_managed_fields { Self::Inside } else { Self::Object }
    }

    /// A field that is passed over here.
    #[inline]
    fn hides(self, field: &str) -> bool {
        self == Self::Metadata && field == "managedFields"
    }

    /// The place below a field.
    #[inline]
    fn below(self, field: &str) -> Self {
        if self == Self::Object && field == "metadata" { Self::Metadata } else { Self::Inside }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;

    fn ours<K: DeserializeOwned + 'static>(text: &str) -> Result<K, String> {
        from_text(text, DecodeOptions::default()).map_err(|error| error.to_string())
    }

    /// Everything that a type can ask for.
    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct All {
        truth: bool,
        small: i8,
        whole: u64,
        below: i64,
        huge: u128,
        part: f64,
        letter: char,
        text: String,
        #[serde(deserialize_with = "bytes")]
        bytes: Vec<u8>,
        unit: (),
        nothing: Option<u8>,
        pair: (u8, String),
        list: Vec<Vec<u8>>,
        by_number: BTreeMap<i16, bool>,
        by_truth: BTreeMap<bool, u8>,
        choices: Vec<Choice>,
        inner: Option<Box<All>>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    enum Choice {
        Nothing,
        One(u8),
        Two(u8, u8),
        Named { a: u8 },
    }

    fn bytes<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl serde::de::Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }

    /// What serde_json says is wrong, without the place, and without what it quotes.
    fn without_value(why: &str) -> String {
        let why = why.split(" at line ").next().unwrap();
        let Some((found, expected)) = why.split_once(", expected ").filter(|_| !why.starts_with("expected"))
        else {
            return why.to_owned();
        };
        let kind: Vec<&str> = found.split(' ').take_while(|word| !word.starts_with(['`', '"'])).collect();
        format!("{}, expected {expected}", kind.join(" "))
    }

    #[test]
    fn an_error_has_the_place_and_the_types_and_no_value() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code)]
        struct Strict {
            a: Option<String>,
            choice: Option<Choice>,
            by_number: Option<BTreeMap<u8, u8>>,
            #[serde(default, deserialize_with = "refusing")]
            refused: String,
            tagged: Option<Tagged>,
            list: Option<Vec<BTreeMap<String, u8>>>,
            either: Option<Either>,
        }
        #[derive(Debug, Deserialize)]
        #[serde(tag = "type")]
        #[expect(dead_code)]
        enum Tagged {
            One { a: u8 },
        }
        #[derive(Debug, Deserialize)]
        #[serde(untagged)]
        #[expect(dead_code)]
        enum Either {
            Number(u8),
            Pair(u8, u8),
        }
        fn refusing<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
            let text = String::deserialize(deserializer)?;
            Err(serde::de::Error::custom(format_args!("no such thing as {text}")))
        }
        for (text, why) in [
            (r#"{"a":424242}"#, "invalid type: integer, expected a string in a"),
            (r#"{"a":4242.42}"#, "invalid type: floating point, expected a string in a"),
            (
                r#"{"choice":"hunter2"}"#,
                "unknown variant, expected one of `Nothing`, `One`, `Two`, `Named` in choice",
            ),
            (
                r#"{"choice":"hunter\u0032"}"#,
                "unknown variant, expected one of `Nothing`, `One`, `Two`, `Named` in choice",
            ),
            (
                r#"{"choice":{"hunter2":1}}"#,
                "unknown variant, expected one of `Nothing`, `One`, `Two`, `Named` in choice",
            ),
            (r#"{"choice":{"One":"hunter2"}}"#, "invalid type: string, expected u8 in choice"),
            (r#"{"choice":{"One":"hunter\u0032"}}"#, "invalid type: string, expected u8 in choice"),
            (r#"{"choice":{"One":4242}}"#, "invalid value: integer, expected u8 in choice"),
            (
                r#"{"choice":{"One":4242424242424242424242}}"#,
                "invalid type: floating point, expected u8 in choice",
            ),
            (r#"{"by_number":{"4242":1}}"#, "invalid value: integer, expected u8 in by_number"),
            (r#"{"refused":"hunter2"}"#, "the type does not accept what is there in refused"),
            (r#"{"refused":"hunter\u0032"}"#, "the type does not accept what is there in refused"),
            (r#"{"tagged":{"type":"hunter2"}}"#, "unknown variant, expected `One` in tagged.type"),
            (r#"{"tagged":{"type":"One","a":"hunter2"}}"#, "invalid type: string, expected u8 in tagged"),
            (
                r#"{"list":[{},{"tls.key":"hunter2"}]}"#,
                r#"invalid type: string, expected u8 in list[1]["tls.key"]"#,
            ),
            (r#"{"either":"hunter2"}"#, "the type does not accept what is there in either"),
            (
                r#"{"other":"hunter2"}"#,
                r#"unknown field "other", expected one of `a`, `choice`, `by_number`, `refused`, `tagged`, `list`, `either`"#,
            ),
            (r#"{"tagged":{"type":"One"}}"#, "missing field `a` in tagged"),
        ] {
            let ours = ours::<Strict>(text).unwrap_err();
            assert!(!ours.contains("hunter") && !ours.contains("4242"), "{ours}");
            assert_eq!(ours.split(" at line ").next().unwrap(), why, "{text}");
        }
    }

    #[test]
    fn whatever_a_type_asks_for_is_what_serde_json_gives_it() {
        for text in [
            r#"{"truth":true,"small":-7,"whole":18446744073709551615,"below":-9223372036854775808,"part":-0.25}"#,
            r#" { "huge" : 340282366920938463463374607431768211455 , "part" : 3 , "letter" : "\u00fc" } "#,
            r#"{"text":"a\n\"b\"","bytes":"a\\b","unit":null,"nothing":null,"pair":[1,"x"],"list":[[],[1,2]]}"#,
            r#"{"text":"grüße","bytes":"plain","nothing":4,"inner":{"text":"x","inner":null}}"#,
            r#"{"by_number":{"-3":true,"4":false},"by_truth":{"true":1}}"#,
            r#"{"choices":["Nothing",{"One":1},{"Two":[1,2]},{"Named":{"a":1}},{"Nothing":null}]}"#,
            r#"{"unknown":[{"a":"\u0000"},-1.5e3,[],true],"also":{},"small":0}"#,
            r#"{"part":1e400}"#,
            r#"{"part":-0}"#,
            // Nothing of this fits.
            r#"{"truth":1}"#,
            r#"{"small":300}"#,
            r#"{"small":1.0}"#,
            r#"{"small":01}"#,
            r#"{"small":-}"#,
            r#"{"small":"1"}"#,
            r#"{"whole":-1}"#,
            r#"{"text":null}"#,
            r#"{"text":5}"#,
            r#"{"text":"\x"}"#,
            r#"{"text":"\ud800"}"#,
            "{\"text\":\"a\nb\"}",
            r#"{"text":"a"#,
            r#"{"text":"a\"#,
            r#"{"unit":1}"#,
            r#"{"unit":nulL}"#,
            r#"{"letter":"ab"}"#,
            r#"{"pair":[1]}"#,
            r#"{"pair":[1,"x",2]}"#,
            r#"{"pair":{}}"#,
            r#"{"list":[1,]}"#,
            r#"{"list":[[1]"#,
            r#"{"list":[[1] [2]]}"#,
            r#"{"list":,}"#,
            r#"{"list"}"#,
            r#"{"list":[[1],}"#,
            r#"{"choices":["Two"]}"#,
            r#"{"choices":["Other"]}"#,
            r#"{"choices":[{}]}"#,
            r#"{"choices":[{"One":1"#,
            r#"{"truth":true,}"#,
            r#"{"truth":true"#,
            r#"{"truth":true]"#,
            r#"{"truth":true,"truth":true}"#,
            r#"{truth:true}"#,
            r#"{"truth":true} x"#,
            r#"{"inner":{"truth":2}}"#,
            "",
            " ",
            "x",
            "3",
            "null",
        ] {
            let (ours, theirs) = (ours::<All>(text), serde_json::from_str::<All>(text));
            match theirs {
                Ok(theirs) => assert_eq!(ours, Ok(theirs), "{text}"),
                Err(theirs) => {
                    let ours = ours.unwrap_err();
                    let why = ours.split(" at line ").next().unwrap();
                    let why = why.rsplit_once(" in ").map_or(why, |(why, _)| why);
                    assert_eq!(why, without_value(&theirs.to_string()), "{text}");
                    assert!(ours.contains(" at line 1 column ") || text.contains('\n'), "{ours}");
                }
            }
        }
    }

    /// serde_json takes the elements for the fields in their order; no API server writes them so.
    #[test]
    fn a_struct_is_not_made_of_a_list() {
        for (text, why) in [
            ("[true,1,2,3,4]", "invalid type: sequence, expected struct All"),
            (
                r#"{"choices":[{"Named":[1]}]}"#,
                "invalid type: sequence, expected struct variant Choice::Named in choices[0]",
            ),
        ] {
            assert!(serde_json::from_str::<All>(text).is_ok(), "{text}");
            let ours = ours::<All>(text).unwrap_err();
            assert_eq!(ours.split(" at line ").next().unwrap(), why);
        }
    }

    #[test]
    fn what_is_no_choice_is_refused_in_plainer_words_than_serde_jsons() {
        for (text, why) in [
            (r#"{"choices":[{"One":1,"Two":[1,2]}]}"#, "trailing characters"),
            (r#"{"choices":[1]}"#, "invalid type: integer, expected enum Choice in choices[0]"),
        ] {
            let theirs = serde_json::from_str::<All>(text).unwrap_err();
            assert!(theirs.to_string().starts_with("expected value"), "{theirs}");
            let ours = ours::<All>(text).unwrap_err();
            assert!(ours.starts_with(why), "{ours}");
        }
    }

    #[test]
    fn a_key_that_is_no_number_is_refused_where_numbers_are_keys() {
        for key in ["x", " 1", "1 ", "", "[1]", "1,", "1.5", "99999", "null"] {
            let text = format!(r#"{{"by_number":{{"{key}":true}}}}"#);
            assert!(serde_json::from_str::<All>(&text).is_err(), "{text}");
            assert!(ours::<All>(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_of_no_type_and_text_that_is_kept_are_what_serde_json_gives() {
        for text in [
            r#"{"a":[1,-1,1.5,null,true,"x\ty",[[]],{"b":{}}],"e":18446744073709551616,"":-0}"#,
            r#"["managedFields",{"metadata":{"managedFields":[]}}]"#,
            "7",
            "[1,2",
            "[tru]",
        ] {
            assert_eq!(ours::<Value>(text).ok(), serde_json::from_str(text).ok(), "{text}");
        }
        #[derive(Debug, Deserialize)]
        struct Kept {
            raw: Box<RawValue>,
        }
        let kept: Kept = ours(r#"{"raw": {"a": [1, "\u0041"]} }"#).unwrap();
        assert_eq!(kept.raw.get(), r#"{"a": [1, "\u0041"]}"#);
        assert!(ours::<Kept>(r#"{"raw": {"a": [1, }"#).is_err());
    }

    #[test]
    fn an_error_says_in_which_line_it_is() {
        let error = ours::<All>("{\n  \"truth\": true,\n  \"small\": true\n}").unwrap_err();
        assert_eq!(error, "invalid type: boolean, expected i8 in small at line 3 column 15");
    }

    #[test]
    fn what_nests_too_deep_is_an_error() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(ours::<Value>(&nested(127)).is_ok());
        assert_eq!(serde_json::from_str::<Value>(&nested(127)).ok(), ours(&nested(127)).ok());
        for depth in [128, 100_000] {
            let error = ours::<Value>(&nested(depth)).unwrap_err();
            assert!(error.starts_with("recursion limit exceeded"), "{error}");
        }
    }
}
