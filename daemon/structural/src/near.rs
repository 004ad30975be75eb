//! What a caller may have meant.

/// The names that are most like one, the best first.
pub(crate) fn closest<'n>(name: &str, known: impl Iterator<Item = &'n str>, most: usize) -> Vec<String> {
    let mut scored: Vec<(f64, &str)> = known.map(|known| (strsim::jaro_winkler(name, known), known)).collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    scored.into_iter().take_while(|(score, _)| *score > 0.7).take(most).map(|(_, known)| known.to_owned()).collect()
}
