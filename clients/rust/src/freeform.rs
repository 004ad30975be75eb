//! A freeform call as it streams in: start, pieces, completion.
//!
//! For a harness that gets a patch piece by piece and the whole once more at the end. The two must be equal; a stream
//! that lost or changed a piece says nothing reliable about the patch, so then the candidate is neither read nor
//! applied, and the model gets one fixed answer. A failure of the transport is no fault of the model's and stays what
//! it is.

use serde::{Deserialize, Serialize};

use crate::envelope::{HINT, unwrap_patch};

/// What comes in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The call begins.
    Start(Identity),
    /// A piece of its input.
    Delta {
        /// Of the call.
        #[serde(default)]
        id: Option<String>,
        /// The piece; may be empty.
        text: String,
    },
    /// The call is complete.
    Done {
        /// As at the start.
        #[serde(flatten)]
        call: Identity,
        /// All of its input.
        input: String,
    },
    /// The call ends without being complete.
    Abort,
    /// The connection failed; says how.
    TransportFailed {
        /// In its own words.
        reason: String,
    },
}

/// Which call it is; the same from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Of the call. A call without one cannot be answered.
    #[serde(default)]
    pub id: Option<String>,
    /// Of the tool.
    #[serde(default)]
    pub name: Option<String>,
    /// Of the call, as the harness names it.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
}

/// What comes of a call: exactly one of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Patch text, without an envelope.
    Patch {
        /// Of the call.
        id: String,
        /// To be sent to the daemon as it is.
        patch: String,
    },
    /// The model is to try again.
    Rejected {
        /// What to tell it.
        message: String,
    },
    /// The harness is to do what it does then.
    TransportFailed {
        /// As it came in.
        reason: String,
    },
}

/// What a model is told of a call that came in damaged, whatever the damage is.
pub const DAMAGED: &str = "The call came in incomplete or changed while it was streamed, and nothing was applied. Send raw patch \
                           text again, from '*** Begin Patch' to '*** End Patch'.";

/// One call.
#[derive(Debug)]
pub struct Call {
    state: State,
}

#[derive(Debug)]
enum State {
    Waiting,
    Streaming { call: Identity, input: String },
    Over,
}

impl Default for Call {
    fn default() -> Self {
        Self { state: State::Waiting }
    }
}

impl Call {
    /// Takes the next event. Once there was an outcome, everything that follows is passed over.
    pub fn event(&mut self, event: Event) -> Option<Outcome> {
        let outcome = match (std::mem::replace(&mut self.state, State::Over), event) {
            (State::Over, _) => return None,
            (_, Event::TransportFailed { reason }) => Outcome::TransportFailed { reason },
            (State::Waiting, Event::Start(call)) if call.id.as_deref().is_some_and(|id| !id.is_empty()) => {
                self.state = State::Streaming { call, input: String::new() };
                return None;
            }
            (State::Streaming { call, mut input }, Event::Delta { id, text }) if id == call.id => {
                input.push_str(&text);
                self.state = State::Streaming { call, input };
                return None;
            }
            (State::Streaming { call, input }, Event::Done { call: done, input: whole }) if call == done && input == whole => {
                complete(call.id.unwrap_or_default(), &whole)
            }
            _ => damaged(),
        };
        Some(outcome)
    }

    /// The stream has ended. A call without an outcome is incomplete.
    pub fn end(&mut self) -> Option<Outcome> {
        self.event(Event::Abort)
    }
}

fn complete(id: String, input: &str) -> Outcome {
    match unwrap_patch(input) {
        Ok(patch) => Outcome::Patch { id, patch: patch.into_owned() },
        Err(error) => Outcome::Rejected { message: error.to_string() },
    }
}

fn damaged() -> Outcome {
    debug_assert!(DAMAGED.contains("raw patch text") && HINT.contains("raw patch text"));
    Outcome::Rejected { message: DAMAGED.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: ä\n+é\n*** End Patch";

    fn identity() -> Identity {
        Identity { id: Some("c1".to_owned()), name: Some("apply_patch".to_owned()), kind: Some("custom_tool_call".to_owned()) }
    }

    fn delta(text: &str) -> Event {
        Event::Delta { id: identity().id, text: text.to_owned() }
    }

    fn done(input: &str) -> Event {
        Event::Done { call: identity(), input: input.to_owned() }
    }

    /// All outcomes of these events and of the end of the stream.
    fn outcomes(events: impl IntoIterator<Item = Event>) -> Vec<Outcome> {
        let mut call = Call::default();
        let mut outcomes: Vec<Outcome> = events.into_iter().filter_map(|event| call.event(event)).collect();
        outcomes.extend(call.end());
        outcomes
    }

    /// Every way to cut a text into pieces at up to three places, empty pieces among them.
    fn cuts(text: &str) -> Vec<Vec<Event>> {
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut all = Vec::new();
        for &a in &ends {
            for &b in ends.iter().filter(|&&b| b >= a) {
                for &c in ends.iter().filter(|&&c| c >= b) {
                    all.push([&text[..a], &text[a..b], &text[b..c], &text[c..]].into_iter().map(delta).collect());
                }
            }
        }
        all.push(text.chars().map(|c| delta(c.encode_utf8(&mut [0; 4]))).collect());
        all
    }

    #[test]
    fn every_cut_gives_the_patch() {
        let envelope = serde_json::json!({ "patch": PATCH }).to_string();
        for text in [PATCH, "*** Begin Patch\n", &envelope] {
            let patch = unwrap_patch(text).unwrap().into_owned();
            let expected = vec![Outcome::Patch { id: "c1".to_owned(), patch }];
            for cut in cuts(text) {
                let events = [Event::Start(identity())].into_iter().chain(cut).chain([done(text)]);
                assert_eq!(outcomes(events), expected);
            }
        }
    }

    #[test]
    fn every_damage_gives_the_one_rejection() {
        let rejected = vec![damaged()];
        for cut in cuts("*** Begin Patch\n+a") {
            let whole: Vec<Event> =
                [Event::Start(identity())].into_iter().chain(cut).chain([done("*** Begin Patch\n+a")]).collect();
            for at in 0..whole.len() {
                let mut lost = whole.clone();
                let missing = lost.remove(at);
                if missing != delta("") {
                    assert_eq!(outcomes(lost), rejected, "without {missing:?}");
                }
                let mut changed = whole.clone();
                match &mut changed[at] {
                    Event::Start(call) | Event::Done { call, .. } => call.name = Some("shell".to_owned()),
                    Event::Delta { id, .. } => *id = None,
                    Event::Abort | Event::TransportFailed { .. } => {}
                }
                assert_eq!(outcomes(changed), rejected);
                let mut aborted = whole.clone();
                aborted.insert(at, Event::Abort);
                assert_eq!(outcomes(aborted), rejected);
                let mut failed = whole.clone();
                failed.insert(at, Event::TransportFailed { reason: "reset".to_owned() });
                assert_eq!(outcomes(failed), [Outcome::TransportFailed { reason: "reset".to_owned() }]);
            }
        }
    }

    #[test]
    fn identity_must_be_there_and_stay() {
        let rejected = vec![damaged()];
        let changes: [fn(&mut Identity); 4] = [
            |call| call.id = None,
            |call| call.id = Some("c2".to_owned()),
            |call| call.kind = Some("function_call".to_owned()),
            |call| call.name = None,
        ];
        for change in changes {
            let mut call = identity();
            change(&mut call);
            let events = [Event::Start(identity()), delta(PATCH), Event::Done { call, input: PATCH.to_owned() }];
            assert_eq!(outcomes(events), rejected);
        }
        let nameless = Identity { id: None, ..identity() };
        assert_eq!(outcomes([Event::Start(nameless), delta(PATCH), done(PATCH)]), rejected);
        assert_eq!(outcomes([]), rejected);
    }

    #[test]
    fn a_whole_call_that_is_no_patch_is_told_its_shape() {
        let input = r#"{"command":"ls"}"#;
        let [Outcome::Rejected { message }] = &outcomes([Event::Start(identity()), delta(input), done(input)])[..] else {
            panic!("it is rejected")
        };
        assert_eq!(message, &format!("This is not a patch but an object with <unknown> (string). {HINT}"));
    }

    #[test]
    fn events_are_lines_of_json() {
        let line = r#"{"event":"done","id":"c1","name":"apply_patch","type":"custom_tool_call","input":"x"}"#;
        assert_eq!(serde_json::from_str::<Event>(line).unwrap(), done("x"));
        let line = r#"{"event":"start","id":"c1","name":"apply_patch","type":"custom_tool_call"}"#;
        assert_eq!(serde_json::from_str::<Event>(line).unwrap(), Event::Start(identity()));
        let line = r#"{"event":"delta","id":"c1","text":"x"}"#;
        assert_eq!(serde_json::from_str::<Event>(line).unwrap(), delta("x"));
    }
}
