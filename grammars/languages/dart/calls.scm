; Call sites of Dart, and base types.

(call_expression function: (_) @callee) @call
(cascade_call_expression) @callee @call
(constructor_invocation) @callee @call
(new_expression type: (_) @callee) @call
(const_object_expression type: (_) @callee) @call

(superclass type: (_) @extends)
(mixins (type) @extends)
(mixin_application . (type) @extends)
(mixin_declaration (type) @extends)
(interfaces (type) @implements)
