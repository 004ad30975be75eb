; Call sites of TypeScript, and base types.

(call_expression function: (_) @callee) @call
(new_expression constructor: (_) @callee) @new
(decorator (_) @callee) @call

(extends_clause value: (_) @extends)
(extends_type_clause type: (_) @extends)
(implements_clause (_) @implements)
