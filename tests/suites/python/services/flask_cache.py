# SPDX-License-Identifier: Apache-2.0
"""Flask: a service that caches pages which a template makes, for ever."""
import flask

USES = ["flask", "jinja2", "werkzeug", "markupsafe"]

app = flask.Flask(__name__)
cache = {}


def page(name):
    return flask.render_template_string("<ul>{% for i in numbers %}<li>{{ name }} {{ i }}</li>{% endfor %}</ul>", name=name,
                                        numbers=range(1000))


@app.route("/<name>")
def show(name):
    if name not in cache:
        cache[name] = page(name)
    return cache[name]


client = app.test_client()
for number in range(600):
    client.get(f"/page{number}")
print({"page": None, "show": None})
