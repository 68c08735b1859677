"""What the site repairs of Jupyter Book's pages."""

from types import SimpleNamespace

from lib.site import extension


def script(filename="", body=""):
    return SimpleNamespace(filename=filename, attributes={"body": body})


def test_repairs_leave_everything_else_as_it_is():
    thebe = "<script type=\"text/x-thebe-config\">\n{}\n</script>\n<script>kernelName = 'python3'</script>"
    context = {
        "script_files": [script("a.js"), script("sphinx-thebe.js"), script(body="const THEBE_JS_URL = 1"), script(body="let x")],
        "body": f'<p>one</p><table class="a">\n<tr></tr></table><div role="list" class="citation-list">two</div>{thebe}',
    }
    extension.mend(None, "book/one", "page.html", context, None)
    assert [(each.filename, each.attributes["body"]) for each in context["script_files"]] == [("a.js", ""), ("", "let x")]
    assert context["body"] == (
        '<p>one</p><div class="scrolling" tabindex="0"><table class="a">\n<tr></tr></table></div>'
        '<div class="citation-list">two</div>'
    )
