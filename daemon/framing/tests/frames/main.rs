//! Frames as peers send them: torn, in heaps, after banners, damaged, hostile.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]
#![allow(clippy::print_stdout, reason = "figures of a run, shown with --nocapture")]

use std::time::Instant;

use ccd_framing::{Decoder, Event, Limits, Pending, ProtocolError, encode};
use proptest::prelude::*;

/// Everything that comes of some chunks, in short: messages as they are, the rest in brackets.
fn read<'a>(limits: Limits, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut decoder = Decoder::new(limits);
    let mut found = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        loop {
            match decoder.next() {
                Ok(Some(Event::Message(message))) => found.push(message.get().to_owned()),
                Ok(Some(Event::Dropped { length, reason })) => found.push(format!("[dropped {length}: {reason}]")),
                Ok(Some(Event::Junk { bytes, sample })) => found.push(format!("[junk {bytes}: {sample}]")),
                Ok(None) => break,
                Err(error) => {
                    found.push(format!("[closed: {error}]"));
                    return found;
                }
            }
        }
    }
    found
}

/// The text as one piece, and byte by byte.
fn check(text: &str, expected: &[&str]) {
    let bytes = text.as_bytes();
    assert_eq!(read(Limits::default(), [bytes]), expected, "{text:?} in one piece");
    assert_eq!(read(Limits::default(), bytes.chunks(1)), expected, "{text:?} byte by byte");
}

#[test]
fn frames_come_in_heaps_and_with_any_headers() {
    check(
        "Content-Length: 7\r\n\r\n{\"a\":1}content-length:2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}",
        &["{\"a\":1}", "{}"],
    );
    check("Content-Type: x\r\nCONTENT-LENGTH: 3\r\n\r\n{}\n", &["{}"]);
}

#[test]
fn a_banner_is_skipped_in_any_form() {
    let frame = "Content-Length: 2\r\n\r\n{}";
    check(&format!("Starting up\n{frame}"), &["[junk 12: Starting up ]", "{}"]);
    check(&format!("Starting up\r\n{frame}"), &["[junk 13: Starting up  ]", "{}"]);
    check(&format!("ready.{frame}"), &["[junk 6: ready.]", "{}"]);
    check(&format!("Warning: {frame}"), &["[junk 9: Warning: ]", "{}"]);
    check(
        &format!("the content-length: header is\nContent-Length: 5, or so\r\n\r\n{frame}"),
        &["[junk 58: the content-length: header is Content-Length: 5, or so    ]", "{}"],
    );
    check(&format!("\nContent-Length: 12\r\n\r\nhello{frame}"), &["[junk 28:  Content-Length: 12    hello]", "{}"]);
    check(&format!("{frame}\nbye {frame}"), &["{}", "[junk 5:  bye ]", "{}"]);
    check(&format!("contentcontent-lengthcontent-length{frame}"), &["[junk 35: contentcontent-lengthcontent-length]", "{}"]);
    check(&format!("!Content-Length: 99999999999\r\n\r\n{{{frame}"), &["[junk 33: !Content-Length: 99999999999    {]", "{}"]);
}

#[test]
fn a_damaged_body_costs_its_own_frame() {
    check(
        "Content-Length: 6\r\n\r\n{nope}Content-Length: 2\r\n\r\n{}",
        &["[dropped 6: no JSON: key must be a string at line 1 column 2]", "{}"],
    );
    let mut bytes = b"Content-Length: 9\r\n\r\n{\"a\":\"\xff\"}".to_vec();
    bytes.extend_from_slice(&encode(b"{}"));
    let found = read(Limits::default(), [&bytes[..]]);
    assert_eq!(found, ["[dropped 9: no UTF-8: invalid utf-8 sequence of 1 bytes from index 6]", "{}"]);
    // The length is one too short, and one too long.
    check(
        "Content-Length: 1\r\n\r\n{}Content-Length: 2\r\n\r\n{}",
        &["[dropped 1: no JSON: EOF while parsing an object at line 1 column 1]", "[junk 1: }]", "{}"],
    );
    // An array is no message: its frame is passed over.
    check("Content-Length: 2\r\n\r\n[]Content-Length: 2\r\n\r\n{}", &["[junk 23: Content-Length: 2    []]", "{}"]);
}

#[test]
fn what_cannot_be_believed_closes_the_connection() {
    for (text, expected) in [
        ("Content-Length: 10000000000\r\n\r\n{", "10000000000 bytes, and a frame may have 67108864"),
        ("Content-Length: -1\r\n\r\n{", "a length of `-1`"),
        ("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "two lengths, 2 and 3"),
        ("Content-Length: 18446744073709551617\r\n\r\n{", "a frame may have"),
    ] {
        let found = read(Limits::default(), [text.as_bytes()]);
        assert!(matches!(&found[..], [one] if one.contains(expected)), "{text:?}: {found:?}");
    }
    let endless = format!("Content-Length: 2\r\nX: {}", "a".repeat(100 << 10));
    assert_eq!(
        read(Limits::default(), endless.as_bytes().chunks(1000)),
        ["[closed: the header has not ended after 8192 bytes; the connection is closed]"]
    );
    let noise = vec![b'x'; 2 << 20];
    let found = read(Limits::default(), noise.chunks(4096));
    assert!(matches!(&found[..], [one] if one.contains("bytes came without a frame among them")), "{found:?}");
}

#[test]
fn the_error_stays() {
    let mut decoder = Decoder::new(Limits::default());
    decoder.push(b"Content-Length: x\r\n\r\n");
    assert_eq!(decoder.next(), Err(ProtocolError::Length("x".to_owned())));
    decoder.push(&encode(b"{}"));
    assert_eq!(decoder.next(), Err(ProtocolError::Length("x".to_owned())));
}

#[test]
fn what_is_pending_is_told() {
    let mut decoder = Decoder::new(Limits::default());
    let mut after = |bytes: &[u8]| {
        decoder.push(bytes);
        while decoder.next().unwrap().is_some() {}
        decoder.pending()
    };
    assert_eq!(after(b""), Pending::Nothing);
    assert_eq!(after(b"Content-Length: 2\r\n"), Pending::Header { held: 19 });
    assert_eq!(after(b"\r\n{"), Pending::Body { held: 1, length: 2 });
    assert_eq!(after(b"}"), Pending::Nothing);
}

#[test]
fn an_announced_length_takes_no_memory() {
    let mut decoder = Decoder::new(Limits::default());
    decoder.push(format!("Content-Length: {}\r\n\r\n{{", 64 << 20).as_bytes());
    assert_eq!(decoder.next(), Ok(None));
    assert!(decoder.memory() < 4096, "{} bytes", decoder.memory());
}

#[test]
fn depth_is_the_matter_of_one_message() {
    let body = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let mut bytes = encode(body.as_bytes());
    bytes.extend_from_slice(&encode(b"{}"));
    let mut decoder = Decoder::new(Limits::default());
    decoder.push(&bytes);
    let Some(Event::Message(deep)) = decoder.next().unwrap() else { panic!("the deep message is a message") };
    assert!(deep.parse::<serde_json::Value>().is_err());
    assert!(matches!(decoder.next(), Ok(Some(Event::Message(_)))));
}

/// Junk that is all about headers is the worst for the search.
#[test]
fn searching_takes_time_in_what_is_searched() {
    let limits = Limits { junk: 64 << 20, ..Limits::default() };
    for text in [
        "content-length: 1\r\n",
        "content-length: 1",
        "content-length: 1\r",
        "content-length:",
        "c",
        "content-length: 1\r\n\r\n",
        "a: b\r\n",
    ] {
        let junk = format!("!{}", text.repeat((1 << 20) / text.len()));
        let mut bytes = junk.into_bytes();
        bytes.extend_from_slice(&encode(b"{\"end\":1}"));
        let begun = Instant::now();
        let found = read(limits, bytes.chunks(4096));
        println!("1 MiB of {text:?}: {:?}", begun.elapsed());
        assert_eq!(found.last().map(String::as_str), Some("{\"end\":1}"), "{text:?}");
        assert!(begun.elapsed().as_secs() < 5, "{text:?} took {:?}", begun.elapsed());
    }
}

/// Pieces of junk that are about headers, but are no complete block in their place with a bad length, and no frame.
fn junk() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"content-length: ".to_vec()),
        Just(b"Content-Length: 12\n".to_vec()),
        Just(b"Content-Length: 3\r\nX".to_vec()),
        Just(b" Content-Length: -5\r\n\r\nx".to_vec()),
        Just(b" CONTENT-LENGTH: 7\r\n\r\n[]".to_vec()),
        Just(b"content-lengt".to_vec()),
        Just(b"Content-Type: x\r\n".to_vec()),
        Just(b"[info] ready\r\n".to_vec()),
        Just("caf\u{e9} \u{1b}[31mred\n".as_bytes().to_vec()),
        Just(b"\r\n\r\n".to_vec()),
        proptest::collection::vec(any::<u8>().prop_filter("no body", |byte| *byte != b'{'), 0..20),
    ];
    // A byte that is in no name begins it, so that it is junk and not a header of the frame that follows.
    proptest::collection::vec(piece, 0..4).prop_map(|pieces| {
        let junk = pieces.concat();
        // It ends in no header line that would belong to the frame after it.
        if junk.is_empty() { junk } else { [&b"("[..], &junk, b"(\n"].concat() }
    })
}

fn body() -> impl Strategy<Value = String> {
    let value = prop_oneof![".{0,40}", Just("Content-Length: 5\r\n\r\n{".to_owned()), "[a-z]{0,400}"];
    value.prop_map(|text| serde_json::json!({ "text": text }).to_string())
}

/// Cuts bytes at the given places.
fn cut<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn chunks_and_junk_change_no_message(
        parts in proptest::collection::vec((junk(), body()), 1..8),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let mut bytes = Vec::new();
        for (junk, body) in &parts {
            bytes.extend_from_slice(junk);
            bytes.extend_from_slice(&encode(body.as_bytes()));
        }
        let found = read(Limits::default(), cut(&bytes, &cuts));
        let whole = read(Limits::default(), [&bytes[..]]);
        prop_assert_eq!(&found, &whole);
        let messages: Vec<&String> = found.iter().filter(|found| found.starts_with('{')).collect();
        let expected: Vec<&String> = parts.iter().map(|(_, body)| body).collect();
        prop_assert_eq!(messages, expected);
    }

    #[test]
    fn any_bytes_are_survived_within_the_caps(
        pieces in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..300),
                "(?i)content-length: ?-?[0-9]{0,12}(\r\n|\n){0,2}[{\\[]?".prop_map(String::into_bytes),
                Just(encode(b"{\"ok\":true}")),
            ],
            0..60,
        ),
        chunk in 1_usize..2000,
    ) {
        let limits = Limits { frame: 2000, header: 300, junk: 1000 };
        let bytes = pieces.concat();
        let mut decoder = Decoder::new(limits);
        for chunk in bytes.chunks(chunk) {
            decoder.push(chunk);
            while let Ok(Some(_)) = decoder.next() {}
            // One body, twice (a vector grows by doubling) a header and a chunk of at most 2000 bytes, and the sample.
            let cap = limits.frame + 2 * (limits.header + 2000) + 512;
            prop_assert!(decoder.memory() <= cap, "{} bytes are held", decoder.memory());
        }
    }
}
