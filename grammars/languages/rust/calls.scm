; Call sites of Rust. A method call is a call of a field expression.

(call_expression function: (_) @callee) @call
(struct_expression name: (_) @callee) @new
(macro_invocation macro: (_) @callee (token_tree) @body) @macro

(trait_item bounds: (trait_bounds (_) @extends))
