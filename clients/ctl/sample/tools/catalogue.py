"""The catalogue, one article a line."""


def read_catalogue(text):
    """Articles and their prices."""
    articles = {}
    for line in text.splitlines():
        name, _, cents = line.partition(" ")
        articles[name] = int(cents or 0)
    return articles
