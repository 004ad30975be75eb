"""Says of each text whether a Lark grammar accepts it: JSON in (grammar, texts), JSON out (one boolean a text)."""

import json
import sys

from lark import Lark
from lark.exceptions import LarkError


def main():
    job = json.load(sys.stdin)
    # Strict: a grammar with two readings of one line is an error here, not a matter of luck.
    parser = Lark(job["grammar"], parser="lalr", lexer="contextual")

    def accepts(text):
        try:
            parser.parse(text)
        except LarkError:
            return False
        return True

    json.dump([accepts(text) for text in job["texts"]], sys.stdout)


main()
