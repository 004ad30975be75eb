; A tag is a call of its component.

(jsx_opening_element name: (_) @callee) @new
(jsx_self_closing_element name: (_) @callee) @new
