"""Texts spoiled at random, as an editor, a merge or a stranger leaves them."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = (
    *(
        "torch==2.4.0",
        "torch",
        "==",
        ">=",
        "@",
        "--index-url",
        "-r requirements.txt",
        "\\",
        "\\\n",
        "#",
        '"',
        "'",
        "'''",
    ),
    *(
        "${",
        "}}",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "<<EOF\n",
        "FROM pytorch/pytorch:2.4.0\n",
        "- ",
        ": ",
        "|\n",
        ">\n",
        "&a ",
        "*a",
    ),
    *(
        "\t",
        "\r",
        "\r\n",
        "\n\n",
        "\x00",
        "\x0c",
        "\ufeff",
        "é",
        "\u2028",
        "/*",
        "*/",
        "//",
        "#include <torch/script.h>\n",
    ),
    *(
        "9" * 5000,
        "1.2.3.4.5",
        "!!python/object",
        "---\n",
        "$(",
        "`",
        ";",
        "&&",
        "|",
        "<",
        "torch::jit::load(",
        'R"(',
        "template<",
    ),
)
"""What is put into a text: what some format gives a meaning."""


@st.composite
def spoiled(draw: st.DrawFn, text: str) -> str:
    """Draw a text with one to three changes: lines removed, doubled, exchanged or indented, or a piece put in or cut off."""
    for _ in range(draw(st.integers(1, 3))):
        lines = text.splitlines(keepends=True) or [""]
        at = draw(st.integers(0, len(lines) - 1))
        place = draw(st.integers(0, len(text)))
        match draw(
            st.sampled_from(["remove", "double", "exchange", "indent", "put", "put", "put", "cut", "join"])
        ):
            case "remove":
                text = "".join(lines[:at] + lines[at + 1 :])
            case "double":
                text = "".join(lines[: at + 1] + lines[at:])
            case "exchange":
                other = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], lines[at]
                text = "".join(lines)
            case "indent":
                lines[at] = draw(st.sampled_from(["  ", "\t", " "])) + lines[at]
                text = "".join(lines)
            case "put":
                text = text[:place] + draw(st.sampled_from(PIECES)) + text[place:]
            case "cut":
                text = text[:place]
            case "join":
                lines[at] = lines[at].rstrip("\n")
                text = "".join(lines)
    return text
