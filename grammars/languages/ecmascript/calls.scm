; Call sites that JavaScript and TypeScript write alike.

(call_expression function: (_) @callee) @call
(new_expression constructor: (_) @callee) @new
(decorator (_) @callee) @call
