from catalogue import read_catalogue


def cheapest(text):
    articles = read_catalogue(text)
    return min(articles, key=articles.get)
