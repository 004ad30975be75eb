//! The definition of a freeform tool that writes patches, as model APIs take it.

use ccd_protocol::edit::GrammarResult;
use serde_json::{Value, json};

/// What the tool is called.
pub const NAME: &str = "apply_patch";

/// Whose shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A tool of the Responses API.
    Responses,
    /// A tool of the Chat Completions API.
    Chat,
}

/// The entry of the list of tools: the model is held to the grammar, and writes raw patch text.
pub fn definition(shape: Shape, grammar: &GrammarResult) -> Value {
    let GrammarResult { syntax, definition, description } = grammar;
    match shape {
        Shape::Responses => json!({"type": "custom", "name": NAME, "description": description,
            "format": {"type": "grammar", "syntax": syntax, "definition": definition}}),
        Shape::Chat => json!({"type": "custom", "custom": {"name": NAME, "description": description,
            "format": {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_hold_the_grammar() {
        let grammar =
            GrammarResult { syntax: "lark".to_owned(), definition: "start: x".to_owned(), description: "Edits.".to_owned() };
        let responses = definition(Shape::Responses, &grammar);
        assert_eq!((&responses["name"], &responses["format"]["definition"]), (&json!(NAME), &json!("start: x")));
        let chat = definition(Shape::Chat, &grammar);
        assert_eq!((&chat["custom"]["name"], &chat["custom"]["format"]["grammar"]["syntax"]), (&json!(NAME), &json!("lark")));
    }
}
