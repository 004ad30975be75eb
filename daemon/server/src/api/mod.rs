//! What the methods do, one file a namespace.
//!
//! A handler reads typed parameters and gives a typed result or an outward error. Instant handlers touch memory only;
//! work handlers reach the disk and the graph through [`crate::rpc::call::Call::query`], on the bounded workers.

mod asking;
mod ast;
pub(crate) mod convert;
mod cursor;
mod daemon;
mod doctor;
mod edit;
mod events;
mod graph;
mod read;
mod refusal;
mod symbol;
mod workspace;

use ccd_protocol as wire;
use jsonrpsee::Methods;

use crate::rpc::table::Table;

/// The table of all methods.
pub(crate) fn table() -> Methods {
    Table::new()
        .instant::<wire::daemon::Hello>(daemon::hello)
        .instant::<wire::daemon::Status>(daemon::status)
        .work::<wire::daemon::Doctor, _, _>(doctor::doctor)
        .instant::<wire::daemon::Metrics>(daemon::metrics)
        .work::<wire::daemon::Reload, _, _>(daemon::reload)
        .instant::<wire::daemon::Retire>(daemon::retire)
        .instant::<wire::daemon::Methods>(daemon::methods)
        .work::<wire::workspace::Open, _, _>(workspace::open)
        .instant::<wire::workspace::Status>(workspace::status)
        .instant::<wire::workspace::List>(workspace::list)
        .work::<wire::workspace::Trust, _, _>(workspace::trust)
        .work::<wire::workspace::Close, _, _>(workspace::close)
        .work::<wire::workspace::Read, _, _>(read::read)
        .work::<wire::graph::Index, _, _>(graph::index)
        .work::<wire::graph::Search, _, _>(graph::search)
        .work::<wire::graph::Outline, _, _>(graph::outline)
        .work::<wire::graph::SymbolInfo, _, _>(graph::symbol)
        .work::<wire::graph::Callers, _, _>(graph::callers)
        .work::<wire::graph::Callees, _, _>(graph::callees)
        .work::<wire::graph::Imports, _, _>(graph::imports)
        .work::<wire::graph::Importers, _, _>(graph::importers)
        .work::<wire::graph::Impact, _, _>(graph::impact)
        .work::<wire::graph::Paths, _, _>(graph::paths)
        .work::<wire::graph::Digest, _, _>(graph::digest)
        .publish::<wire::edit::Write, _, _>(edit::write)
        .publish::<wire::edit::Edit, _, _>(edit::edit)
        .publish::<wire::edit::ApplyPatch, _, _>(edit::apply_patch)
        .publish::<wire::edit::Amend, _, _>(edit::amend)
        .publish::<wire::edit::Undo, _, _>(edit::undo)
        .instant::<wire::edit::Outcome>(edit::outcome)
        .instant::<wire::edit::Grammar>(edit::grammar)
        .work::<wire::ast::Grep, _, _>(ast::grep)
        .instant::<wire::ast::Explain>(ast::explain)
        .work::<wire::ast::Edit, _, _>(ast::edit)
        .publish::<wire::ast::Resolve, _, _>(ast::resolve)
        .instant::<wire::ast::Staged>(ast::staged)
        .instant::<wire::events::Subscribe>(events::subscribe)
        .instant::<wire::events::Unsubscribe>(events::unsubscribe)
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_of_the_protocol_has_a_handler_and_no_other() {
        let table = table();
        let mut built: Vec<&str> = table.method_names().collect();
        let mut named: Vec<&str> = wire::METHODS.iter().map(|method| method.name).collect();
        built.sort_unstable();
        named.sort_unstable();
        assert_eq!(built, named);
    }
}
