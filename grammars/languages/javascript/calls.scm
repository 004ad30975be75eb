; Call sites of JavaScript alone, and its base classes; a tag is a call of its component.

(jsx_opening_element name: (_) @callee) @new
(jsx_self_closing_element name: (_) @callee) @new

(class_heritage (_) @extends)
