; Call sites of JavaScript; a tag is a call of its component.

(call_expression function: (_) @callee) @call
(new_expression constructor: (_) @callee) @new
(jsx_opening_element name: (_) @callee) @new
(jsx_self_closing_element name: (_) @callee) @new
(decorator (_) @callee) @call

(class_heritage (_) @extends)
