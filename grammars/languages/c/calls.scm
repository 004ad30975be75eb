; Call sites that C and C++ write alike.

(call_expression function: (_) @callee) @call
