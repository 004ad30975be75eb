//! What is searched for, as a caller says it.

/// A pattern or a kind of node, and what narrows it.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// Code with metavariables.
    pub pattern: Option<String>,
    /// A kind of node of the grammar; stands in the place of a pattern.
    pub kind: Option<String>,
    /// The reading to search, by its name in the table of the language.
    pub reading: Option<String>,
    /// Code in which the pattern stands; with `selector`, in the place of `pattern`.
    pub context: Option<String>,
    /// The kind of the node of `context` that is the pattern.
    pub selector: Option<String>,
    /// Anonymous modifiers of the code may be more than those of the pattern. For search only.
    pub relaxed: bool,
    /// What narrows the matches.
    pub filters: Filters,
}

/// What a match must fulfil besides its shape.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// By the name of a metavariable, without `$`.
    pub captures: Vec<(String, Constraint)>,
    /// An ancestor is such.
    pub inside: Option<Box<Rule>>,
    /// A descendant is such.
    pub has: Option<Box<Rule>>,
    /// A sibling before is such.
    pub follows: Option<Box<Rule>>,
    /// A sibling after is such.
    pub precedes: Option<Box<Rule>>,
    /// The node itself is not such.
    pub not: Option<Box<Rule>>,
}

/// A node, described.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// Its shape.
    pub pattern: Option<String>,
    /// Its kind.
    pub kind: Option<String>,
    /// The field of its parent in which it stands; for `inside`: the field of the ancestor in which the match stands.
    pub field: Option<String>,
    /// How far is looked.
    pub stop: Stop,
    /// What it must fulfil besides.
    pub filters: Filters,
}

/// How far a rule looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// The parent, the children, the next sibling.
    #[default]
    Neighbour,
    /// To the root, through the whole subtree, to the last sibling.
    End,
    /// As `End`, but not beyond a node of this kind.
    Kind(String),
}

/// What a capture must be.
#[derive(Clone, Debug, Default)]
pub struct Constraint {
    /// Its text contains a match of this regular expression (crate regex).
    pub regex: Option<String>,
    /// Its kind, or that of a node of the same extent in it.
    pub kind: Option<String>,
    /// Its tokens are those of this text, or, as `$NAME`, of another capture.
    pub equals: Option<String>,
    /// It is not such.
    pub not: Option<Box<Constraint>>,
}
